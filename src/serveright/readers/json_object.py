"""One JSON object from bytes a user gave: every way it can be wrong is one clear InputError with file, line and column. Infinity is allowed (Mamba configs have it), NaN is not."""

import json
from typing import Any, cast

from serveright.catalog.own import LIMIT_BYTES, own_text
from serveright.errors import InputError
from serveright.types.text import Msg, msg

LIMIT_DEPTH = 64
_MAGIC = {
    b"GGUF": msg("a GGUF file; vLLM and SGLang plan from the config.json of the original model"),
    b"PK\x03\x04": msg("a zip or PyTorch archive, not JSON"),
    b"\x80\x02": msg("a pickle, not JSON"),
    b"\x80\x04": msg("a pickle, not JSON"),
    b"\x89PNG": msg("an image, not JSON"),
    b"\x1f\x8b": msg("a gzip archive, not JSON"),
}


def parse_object(data: bytes, origin: str) -> dict[str, Any]:
    """The object in `data`; `origin` names the file in messages. Raises InputError."""
    if len(data) > LIMIT_BYTES:
        raise too_large(origin, len(data))
    text = _text(data, origin)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise _syntax(error, text, origin) from error
    except _Refused as error:
        raise InputError(msg("{file}: {why}", file=origin, why=error.why)) from error
    except RecursionError as error:
        raise _too_deep(origin) from error
    except ValueError as error:
        raise InputError(msg("{file}: a number too long to read", file=origin)) from error
    if not isinstance(value, dict):
        raise InputError(msg("{file}: holds {kind}, but a config is a JSON object", file=origin, kind=_KINDS[type(value)]))
    found = cast("dict[str, Any]", value)
    if _depth_exceeds(found, LIMIT_DEPTH):
        raise _too_deep(origin)
    if "\\ud" in text.lower():
        _refuse_half_characters(found, origin)
    return found


def too_large(origin: str, size: int) -> InputError:
    """The error for a file above the limit."""
    return InputError(msg("{file}: {size:gib} is no config file (limit {limit:gib})", file=origin, size=size, limit=LIMIT_BYTES))


_KINDS = {list: msg("a list"), str: msg("a text"), int: msg("a number"), float: msg("a number"), bool: msg("true or false"), type(None): msg("null")}


class _Refused(Exception):
    def __init__(self, why: Msg) -> None:
        super().__init__(why.template)
        self.why = why


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _Refused(msg('the key "{key}" stands twice in one object', key=name[:80]))
        seen.add(name)
    return found


def _constant(word: str) -> float:
    if word == "NaN":
        raise _Refused(msg("NaN is no number JSON knows"))
    return float(word)


def _text(data: bytes, origin: str) -> str:
    for magic, what in _MAGIC.items():
        if data.startswith(magic):
            raise InputError(msg("{file}: {what}", file=origin, what=what), msg("Give the folder or the config.json of the model."))
    if len(data) > 8 and data[8:9] == b"{" and int.from_bytes(data[:8], "little") < 2**40 and b"\x00" in data[:8]:
        raise InputError(msg("{file}: a safetensors file holds weights, no config", file=origin), msg("Give the config.json beside it."))
    text = own_text(data, origin)
    if "\x00" in text:
        raise InputError(msg("{file}: binary data, not JSON", file=origin))
    if not text.strip():
        raise InputError(msg("{file}: is empty", file=origin))
    return text


def _syntax(error: json.JSONDecodeError, text: str, origin: str) -> InputError:
    where = {"file": origin, "line": error.lineno, "column": error.colno}
    if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
        return InputError(msg("{file}:{line}:{column}: the JSON ends too early", **where), msg("The file is cut off: copy or download it again."))
    return InputError(msg("{file}:{line}:{column}: no JSON: {why}", **where, why=error.msg))


def _too_deep(origin: str) -> InputError:
    return InputError(msg("{file}: nested more than {limit} levels deep", file=origin, limit=LIMIT_DEPTH))


def _depth_exceeds(value: object, limit: int) -> bool:
    level: list[object] = [value]
    for _ in range(limit):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(item: object) -> list[object]:
    if isinstance(item, dict):
        return [child for child in cast("dict[str, object]", item).values() if isinstance(child, (dict, list))]
    return [child for child in cast("list[object]", item) if isinstance(child, (dict, list))]


def _refuse_half_characters(value: dict[str, Any], origin: str) -> None:
    # half of a surrogate pair parses but can never be printed
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(msg("{file}: half a character (a lone \\ud… escape)", file=origin)) from error
