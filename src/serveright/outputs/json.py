"""Reports as JSON: field names as in the contract, prose in the asked language, None left out only where a struct says `omit_defaults`."""

import math
from typing import Any, cast

import msgspec

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


def schema(report: type) -> dict[str, Any]:
    """JSON Schema of a report type, with messages as strings."""
    made = msgspec.json.schema(report)
    definitions = made.get("$defs", {})
    if "Msg" in definitions:
        definitions["Msg"] = {"type": "string", "description": "Prose in the language of --lang."}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
