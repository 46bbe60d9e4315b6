"""Traffic presets and a user's own traffic file."""

from pathlib import Path
from typing import Any, cast

import msgspec

from serveright.catalog.files import FACTS, read_toml
from serveright.catalog.own import read_own_toml
from serveright.errors import InputError, UnknownName
from serveright.types.text import msg
from serveright.types.traffic import Traffic

FIELDS = msg(
    "Fields: concurrency or rate_per_s, input_tokens = [median, p95], output_tokens, context_tokens, images_per_request, ttft_target_s, tpot_target_s."
)
MOST = 10**9
"""No count, length, rate or time of a service is larger."""
_ABOUT = {"source", "as_of", "meaning"}


def presets() -> dict[str, dict[str, Any]]:
    """Name -> fields of every preset, `meaning` among them."""
    return {name: fields for name, fields in read_toml(FACTS / "traffic.toml").items() if isinstance(fields, dict)}


def load_traffic(name: str) -> Traffic:
    """A preset by name, or a TOML file with the fields of `Traffic`. Raises UnknownName and InputError."""
    if name.endswith(".toml"):
        return _own(Path(name))
    known = presets()
    if name not in known:
        raise UnknownName(msg("traffic preset"), name, known)
    return _convert(known[name], name)


def _convert(fields: dict[str, Any], name: str) -> Traffic:
    return msgspec.convert({**{k: v for k, v in fields.items() if k not in _ABOUT}, "preset": name}, Traffic, strict=True)


def _own(path: Path) -> Traffic:
    fields = {key: value for key, value in read_own_toml(path, FIELDS).items() if key not in _ABOUT}
    return msgspec.structs.replace(own_traffic(fields, str(path)), preset=str(path))


def own_traffic(fields: dict[str, Any], source: str) -> Traffic:
    """`Traffic` from what a user wrote; `source` names the place. Raises InputError with the key that is unknown or out of range."""
    unknown = sorted(set(fields) - set(Traffic.__struct_fields__))
    if unknown:
        raise InputError(msg("{path}: unknown key {key}", path=source, key=unknown[0][:80]), FIELDS)
    try:
        traffic = msgspec.convert(fields, Traffic, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(msg("{path}: not a traffic description ({why})", path=source, why=str(error)), FIELDS) from error
    wrong = next((key for key in fields if not _possible(key, getattr(traffic, key))), None)
    if wrong is not None:
        raise InputError(msg("{path}: {key} = {value} is no traffic", path=source, key=wrong, value=str(fields[wrong])[:80]), FIELDS)
    return traffic


def _possible(key: str, value: Any) -> bool:
    """Whether a service can have this; what is not a number (NaN) is not possible either."""
    if isinstance(value, tuple):
        low, high = cast("tuple[int, int]", value)
        return 1 <= low <= MOST and 1 <= high <= MOST and (key == "image_pixels" or low <= high)
    if key in ("images_per_request", "shared_prefix_tokens"):
        return 0 <= value <= MOST
    return not isinstance(value, int | float) or isinstance(value, bool) or 0 < value <= MOST
