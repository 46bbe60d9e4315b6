"""Traffic presets and a user's own traffic file."""

from pathlib import Path
from typing import Any

import msgspec

from serveright.catalog.files import FACTS, read_toml
from serveright.catalog.own import read_own_toml
from serveright.errors import InputError, UnknownName
from serveright.types.text import msg
from serveright.types.traffic import Traffic

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
    fix = msg(
        "Fields: concurrency or rate_per_s, input_tokens = [median, p95], output_tokens, context_tokens, images_per_request, ttft_target_s, tpot_target_s."
    )
    try:
        return _convert(read_own_toml(path, fix), str(path))
    except msgspec.ValidationError as error:
        raise InputError(msg("{path}: not a traffic description ({why})", path=str(path), why=str(error)), fix) from error
