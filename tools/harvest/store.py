"""Where tables lie: one gzip-compressed JSON file a version, and an index of which version first and last knew a name."""

import gzip
import re
from pathlib import Path

import msgspec

from serveright.types.engine_table import EngineIndex, EngineTable, Span, Successor


def write(folder: Path, table: EngineTable) -> Path:
    """Writes a table; the same table gives the same bytes."""
    path = folder / table.engine / f"{table.version}.json.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(msgspec.json.encode(table), compresslevel=9, mtime=0))
    return path


def read(path: Path) -> EngineTable:
    """One table."""
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=EngineTable)


def order(version: str) -> tuple[int, ...]:
    """`0.5.5.post3` after `0.5.5`, `0.10.0` after `0.9.2`."""
    return tuple(int(p) for p in version.replace("post", "").split("."))


def index(folder: Path, engine: str) -> None:
    """Rewrites `index.json` of an engine from all its tables."""
    tables = [read(p) for p in (folder / engine).glob("*.json.gz")]
    tables.sort(key=lambda t: order(t.version))
    if not tables:
        return
    seen: dict[str, dict[str, Span]] = {}
    for position, table in enumerate(tables):
        for kind, names in named(table).items():
            spans = seen.setdefault(kind, {})
            for name in names:
                spans[name] = Span(first=spans[name].first if name in spans else position, last=position)
    versions, released = tuple(t.version for t in tables), tuple(t.released for t in tables)
    made = EngineIndex(engine=tables[0].engine, versions=versions, released=released, spans=seen, successors=successors(tables))
    (folder / engine / "index.json").write_bytes(msgspec.json.encode(made))


def named(table: EngineTable) -> dict[str, list[str]]:
    """The names of a table by kind."""
    return {
        "architecture": [a.name for a in table.architectures],
        "tool_parser": list(table.tool_parsers),
        "reasoning_parser": list(table.reasoning_parsers),
        "flag": [n for f in table.flags for n in (f.name, *f.aliases, *((f.negative,) if f.negative else ()), *f.negatives)],
        "quantization": [q.name for q in table.quantizations],
        "backend": [b.name for b in table.backends],
        "kv_dtype": list(table.kv_dtypes),
        "speculative_method": list(table.speculative_methods),
        "environment": list(table.environment),
        "all2all_backend": list(table.all2all_backends),
    }


def successors(tables: list[EngineTable]) -> dict[str, Successor]:
    """What deprecation texts send users to: the last text of each flag that names another flag."""
    found: dict[str, Successor] = {}
    for table in tables:
        known = {n for f in table.flags for n in (f.name, *f.aliases)}
        for flag in table.flags:
            for target in re.findall(r"--[a-zA-Z][\w-]*(?:\.[\w.]*\w)?", flag.deprecated or ""):
                to = target.replace("_", "-") if "." not in target else target
                if to.partition(".")[0] in known and to not in (flag.name, *flag.aliases):
                    found[flag.name] = Successor(to=to, text=flag.deprecated or "", version=table.version)
                    break
    return found
