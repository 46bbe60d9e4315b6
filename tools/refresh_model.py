"""Writes or refreshes one file of the catalogue from the Hub: `python -m tools.refresh_model org/name [quality]`. Facts already in the file are kept; run tools.index_facts afterwards."""

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from serveright.catalog.files import FACTS, read_toml
from serveright.readers.hub import fetch
from serveright.readers.model import WANTED, assemble

FOLD_ABOVE = 400
"""Per-module maps with more entries are stored folded."""


def main() -> None:
    model_id, quality = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "copy"
    origin, contents = fetch(model_id, None, WANTED, lambda message: print(message, file=sys.stderr))
    files = assemble(model_id, origin, contents)
    path = FACTS / "models" / f"{model_id}.toml"
    facts: dict[str, Any] = (
        read_toml(path).get("facts", {}) if path.exists() else {"organisation": model_id.split("/")[0], "aliases": [model_id.split("/")[1].lower()]}
    )
    beside = files.hf_quant_config if "quantization_config" not in files.config else {}
    write(path, model_id, quality, f"config.json of the Hub repository {origin}", files.config, beside, facts)


def write(path: Path, model_id: str, quality: str, source: str, config: dict[str, Any], beside: dict[str, Any], facts: dict[str, Any]) -> None:
    """One catalogue file: the config as JSON in a literal string (TOML has no null), the facts as tables."""
    today = datetime.now(UTC).date().isoformat()
    lines = [
        f"id = {value(model_id)}",
        "",
        "[config]",
        f"quality = {value(quality)}",
        f"source = {value(source)}",
        f"as_of = {value(today)}",
        *literal("json", config),
    ]
    lines += literal("hf_quant_config", beside) if beside else []
    lines += ["", "[facts]", *(f"{key(name)} = {value(item)}" for name, item in facts.items() if not is_table(item))]
    for name, item in facts.items():
        if isinstance(item, dict):
            lines += ["", f"[facts.{key(name)}]", *(f"{key(inner)} = {value(deep)}" for inner, deep in cast("dict[str, Any]", item).items())]
        elif is_table(item):
            for entry in item:
                lines += ["", f"[[facts.{key(name)}]]", *(f"{key(inner)} = {value(deep)}" for inner, deep in entry.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def literal(name: str, content: dict[str, Any]) -> list[str]:
    """`name = '''{...}'''`, short lists on one line."""
    text = json.dumps(fold(content), indent=1, ensure_ascii=False)
    short = re.sub(r'\[\s+((?:[^\[\]{}"]|"(?:[^"\\]|\\.)*")*?)\s+\]', lambda match: "[" + re.sub(r",\s+", ", ", match[1]) + "]", text)
    return [f"{name} = '''\n{short}\n'''"]


def is_table(item: object) -> bool:
    return isinstance(item, dict) or (isinstance(item, list) and any(isinstance(entry, dict) for entry in cast("list[object]", item)))


def key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def value(item: Any) -> str:
    """A TOML value."""
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, int):
        return f"{item:_}" if abs(item) >= 10_000 else str(item)
    if isinstance(item, list):
        return "[" + ", ".join(value(entry) for entry in cast("list[Any]", item)) + "]"
    if isinstance(item, dict):
        return "{ " + ", ".join(f"{key(name)} = {value(deep)}" for name, deep in cast("dict[str, Any]", item).items()) + " }"
    return repr(item) if isinstance(item, float) else json.dumps(item, ensure_ascii=False)


def fold(content: Any) -> Any:
    """Large per-module maps as `folded:NAME` lists of paths with number ranges; `catalog.models.unfold` is the inverse."""
    if isinstance(content, list):
        return [fold(item) for item in cast("list[Any]", content)]
    if not isinstance(content, dict):
        return content
    found: dict[str, Any] = {}
    for name, item in cast("dict[str, Any]", content).items():
        if isinstance(item, dict) and len(cast("dict[str, Any]", item)) > FOLD_ABOVE:
            found[f"folded:{name}"] = fold_map(cast("dict[str, Any]", item))
        else:
            found[name] = fold(item)
    return found


def fold_map(modules: dict[str, Any]) -> list[dict[str, Any]]:
    """Entries of equal value, their names joined by the ranges of the last number, then of the one before."""
    by_value: dict[str, list[str]] = {}
    for name, item in modules.items():
        by_value.setdefault(json.dumps(item, sort_keys=True), []).append(name)
    return [{"paths": sorted(joined(joined(names, last=True), last=False)), "value": json.loads(text)} for text, names in by_value.items()]


def joined(names: list[str], *, last: bool) -> list[str]:
    """Names that differ in one number (the last of each, or the first) as one name with ranges."""
    groups: dict[tuple[str, str], set[int]] = {}
    alone: list[str] = []
    for name in names:
        numbers = list(re.finditer(r"(?<=\.)\d+(?=\.|$)", name))
        if not numbers:
            alone.append(name)
            continue
        found = numbers[-1 if last else 0]
        groups.setdefault((name[: found.start()], name[found.end() :]), set()).add(int(found[0]))
    return alone + [f"{head}{spans(sorted(numbers))}{tail}" for (head, tail), numbers in groups.items()]


def spans(numbers: list[int]) -> str:
    """[0, 1, 2, 5] -> `[0-2,5]`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return "[" + ",".join(str(first) if first == end else f"{first}-{end}" for first, end in runs) + "]"


if __name__ == "__main__":
    main()
