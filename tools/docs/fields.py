"""The JSON fields of every verb as indented lines, read off the published schemas, so that the reference cannot fall behind the code.

`name: type`; `?` may be null, `[]` a list, `{}` an object with free keys, a capital name an object that stands under "shared objects".
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from serveright.outputs.json import reports, schema

PLAIN = {"Msg": "prose"}
SHARED_FROM = 2
"""An object that so many verbs use is told once, at the end of the page."""


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """Verb -> its schema's definitions."""
    return {verb: schema(*made)["$defs"] for verb, made in reports().items()}


@cache
def shared() -> frozenset[str]:
    """Objects told once."""
    used = Counter(name for definitions in schemas().values() for name in definitions)
    return frozenset(name for name, verbs in used.items() if verbs >= SHARED_FROM and name not in PLAIN)


def fields(verb: str) -> str:
    """All fields of a verb; of `shared` the objects told once."""
    if verb == "shared":
        merged = {name: item for definitions in schemas().values() for name, item in definitions.items()}
        return "".join(f"{name}\n" + "".join(_object(merged[name], merged, 1)) for name in sorted(shared()) if "properties" in merged[name])
    titles = [made.__name__ for made in reports()[verb]]
    parts = ["".join(_object(schemas()[verb][title], schemas()[verb], 0)) for title in titles]
    return "or\n".join(parts)


def _object(item: dict[str, Any], definitions: dict[str, Any], depth: int) -> Iterator[str]:
    for name, field in item.get("properties", {}).items():
        word, inner = _type(field, definitions)
        yield f"{'  ' * depth}{name}{f': {word}' if word else ''}\n"
        if inner is not None:
            yield from _object(inner, definitions, depth + 1)


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """A field's type in words, and the object to be told below it."""
    if "$ref" in field:
        name: str = field["$ref"].rpartition("/")[2]
        if name in PLAIN or name in shared():
            return PLAIN.get(name, name), None
        return ("", definitions[name]) if "properties" in definitions[name] else _type(definitions[name], definitions)
    if "anyOf" in field:
        told = [_type(option, definitions) for option in field["anyOf"] if option.get("type") != "null"]
        null = "?" if len(told) < len(field["anyOf"]) else ""
        words = " or ".join(word.rstrip("?") if null else word for word, _ in told if word)
        return words + null, next((inner for _, inner in told if inner is not None), None)
    if "enum" in field:
        return " | ".join(map(str, field["enum"])), None
    return _plain(field, definitions)


def _plain(field: dict[str, Any], definitions: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    kind = field.get("type", "any")
    items, values = field.get("items"), field.get("additionalProperties")
    if kind == "array" and isinstance(items, dict):
        word, inner = _type(cast("dict[str, Any]", items), definitions)
        return f"{word}[]", inner
    if kind == "array":
        return f"[{', '.join(_type(item, definitions)[0] for item in field.get('prefixItems', []))}]", None
    if kind == "object":
        word, inner = _type(cast("dict[str, Any]", values), definitions) if isinstance(values, dict) else ("", None)
        return f"{{{word}}}", inner
    if isinstance(kind, list):
        kinds = cast("list[str]", kind)
        return " or ".join(k for k in kinds if k != "null") + ("?" if "null" in kinds else ""), None
    return str(kind), None
