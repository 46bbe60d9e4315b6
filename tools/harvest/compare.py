"""Sets the shipped tables against another harvest of the same releases: flags, parsers, architectures, quantisation methods, choices."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from serveright.types.engine_table import EngineTable
from tools.harvest import store


def report(tables: Path, other: Path) -> int:
    """Prints every difference, grouped over versions that differ alike; `other` holds `vllm/` and `sglang/` with the other harvest's JSON files. 1 where any."""
    found: dict[str, list[str]] = {}
    compared = 0
    for engine in ("vllm", "sglang"):
        theirs = {p.stem: json.loads(p.read_text()) for p in (other / engine).glob("*.json")}
        for path in sorted((tables / engine).glob("*.json.gz"), key=lambda p: store.order(p.name.removesuffix(".json.gz"))):
            table = store.read(path)
            for line in _differences(table, theirs):
                found.setdefault(f"{engine} {line}", []).append(table.version)
            compared += 1
    for line, where in found.items():
        print(f"{line}  [{', '.join(where)}]")
    print(f"{compared} tables compared, {len(found)} differences")
    return int(bool(found))


def _differences(table: EngineTable, theirs: dict[str, Any]) -> Iterable[str]:
    flags = theirs["flags"]
    history = flags.get("flag_history") or flags.get("history")
    scanned = flags.get("versions_scanned") or flags["_meta"]["history_versions"]
    if table.version in scanned:
        yield from _sets("flags", [n for f in table.flags for n in (f.name, *f.aliases)], _alive(history, table.version))
    parsers = theirs["parsers"]["by_version"].get(table.version)
    if parsers:
        yield from _sets("tool parsers", table.tool_parsers, parsers.get("tool") or parsers.get("tool_call") or ())
        yield from _sets("reasoning parsers", table.reasoning_parsers, parsers.get("reasoning") or ())
    architectures = theirs["architectures"]["by_version"].get(table.version)
    if architectures:
        yield from _sets("architectures", [a.name for a in table.architectures], architectures)
    methods = theirs["quantization"].get("by_version", {}).get(table.version)
    if methods:
        yield from _sets("quantisation", [q.name for q in table.quantizations], methods["methods"])
        known = {q.name: q.min_capability for q in table.quantizations}
        said = {n: int(c) for n, c in methods["min_capability"].items() if isinstance(c, str)}
        yield from (f"minimum capability of {n}: {known.get(n)} here, {c} there" for n, c in said.items() if known.get(n) != c)
    literals = theirs.get("choices_literals", {}).get("literals_by_version", {}).get(table.version, {})
    for name, ours in (("CacheDType", table.kv_dtypes), ("SpeculativeMethod", table.speculative_methods), ("All2AllBackend", table.all2all_backends)):
        yield from _sets(name, ours, literals[name]) if name in literals else ()


def _alive(history: dict[str, dict[str, Any]], version: str) -> list[str]:
    at = store.order(version)
    return [n for n, h in history.items() if store.order(h["first_seen"]) <= at and not (h.get("removed_in") and store.order(h["removed_in"]) <= at)]


def _sets(what: str, ours: Iterable[str], theirs: Iterable[str]) -> Iterable[str]:
    here, there = set(ours), set(theirs)
    yield from (f"{what}: {n} only here" for n in sorted(here - there))
    yield from (f"{what}: {n} only there" for n in sorted(there - here))
