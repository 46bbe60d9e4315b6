"""Reports as JSON: field names as in the contract, prose in the asked language, None left out only where a struct says `omit_defaults`."""

import importlib
import math
import pkgutil
from typing import Any, cast

import msgspec

from serveright import types
from serveright.outputs.language import render
from serveright.types.text import Msg


def plain(value: object, lang: str) -> Any:
    """Builtins of a report; every `Msg` rendered, every infinite or undefined number None (JSON knows neither)."""
    if isinstance(value, Msg):
        return render(value, lang)
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        out: dict[str, Any] = {config.tag_field: config.tag} if config.tag_field else {}
        for field in msgspec.structs.fields(type(value)):
            item: object = value.__getattribute__(field.name)
            if not (config.omit_defaults and item == field.default):
                out[field.encode_name] = plain(item, lang)
        return out
    if isinstance(value, dict):
        return {str(k): plain(v, lang) for k, v in cast("dict[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, lang) for v in cast("list[object]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def encode(report: object, lang: str) -> str:
    """Indented JSON text, non-ASCII kept."""
    return msgspec.json.format(msgspec.json.encode(plain(report, lang)), indent=2).decode()


def schema(*reports: type) -> dict[str, Any]:
    """JSON Schema of a report type (of any one of several), with messages as strings and undefined numbers as null."""
    _, components = msgspec.json.schema_components(reports, ref_template="#/$defs/{name}")
    definitions = {name: _nullable(item) for name, item in components.items()}
    if "Msg" in definitions:
        definitions["Msg"] = {"type": "string", "description": "Prose in the language of --lang."}
    roots = [{"$ref": f"#/$defs/{report.__name__}"} for report in reports]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **(roots[0] if len(roots) == 1 else {"anyOf": roots}), "$defs": definitions}


def _nullable(value: Any) -> Any:
    """Numbers may be null: JSON knows no infinity."""
    if isinstance(value, list):
        return [_nullable(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    found = {key: _nullable(item) for key, item in cast("dict[str, Any]", value).items()}
    return {**found, "type": ["number", "null"]} if found.get("type") == "number" else found


def reports() -> dict[str, tuple[type, ...]]:
    """Verb -> report types, read off the `schema` field that every report carries."""
    found: dict[str, list[type]] = {}
    for info in pkgutil.iter_modules(types.__path__):
        module = importlib.import_module(f"{types.__name__}.{info.name}")
        for made in vars(module).values():
            if isinstance(made, type) and issubclass(made, msgspec.Struct) and made.__module__ == module.__name__:
                names = [f.default for f in msgspec.structs.fields(made) if f.name == "schema" and isinstance(f.default, str)]
                for name in names:
                    found.setdefault(name.removeprefix("serveright.").partition("/")[0], []).append(made)
    return {verb: tuple(made) for verb, made in sorted(found.items())}
