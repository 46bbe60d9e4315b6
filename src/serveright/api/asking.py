"""What fronts that hear strangers (the page, agents) may turn into a question: names of the catalogue and pasted texts, never a path of this machine."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from serveright import units
from serveright.catalog.gpus import gpu_keys
from serveright.catalog.models import base_of, find, list_models
from serveright.catalog.traffic import load_traffic, presets
from serveright.errors import InputError, UnknownName, UsageError
from serveright.readers.json_object import parse_object
from serveright.readers.model import CONFIG, JSON_BESIDE, TEXT_BESIDE, WANTED, assemble
from serveright.types.source import ModelFiles
from serveright.types.text import msg
from serveright.types.traffic import Traffic

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_GPU = re.compile(r"[\w][\w .:*×()+-]{0,60}")
UNNAMED = "your-org/your-model"


def named_model(name: str, *, allow_hub: bool = False) -> ModelFiles:
    """A model of the catalogue, or, where allowed, of the Hub. Never reads a path. Raises UnknownName and NetworkError."""
    if (known := find(name)) is not None:
        return known
    if allow_hub and HUB_ID.fullmatch(name):
        from serveright.readers.hub import fetch

        return assemble(name, *fetch(name, None, WANTED))
    if (base := base_of(name)) is not None:
        raise UnknownName(msg("model of the catalogue (a checkpoint of {base}, whose own config is not at hand)", base=base), name[:120], [base])
    raise UnknownName(
        msg("model of the catalogue"), name[:120], [known for model in list_models() for known in (model.id, *model.aliases)], "serveright facts model"
    )


def pasted_model(texts: Mapping[str, bytes], name: str = "") -> ModelFiles:
    """A model from pasted or dropped files by name; a single text of any name is the config. Raises InputError."""
    known = {file: text for file, text in texts.items() if file in (CONFIG, *JSON_BESIDE, *TEXT_BESIDE)}
    if CONFIG not in known:
        others = [file for file in texts if file not in known]
        if len(others) != 1:
            raise InputError(
                msg("no config.json among the given files"), msg("Give the config.json of the model; hf_quant_config.json and others may go beside it.")
            )
        known[CONFIG] = texts[others[0]]
    model_id = name if HUB_ID.fullmatch(name) else _own_name(known[CONFIG])
    return assemble(model_id, "pasted", known)


def _own_name(config: bytes) -> str:
    """What the config calls itself, where that is a Hub id."""
    name = parse_object(config, CONFIG).get("_name_or_path")
    return name if isinstance(name, str) and HUB_ID.fullmatch(name) else UNNAMED


def gpu_spec(text: str) -> str:
    """`8xh200` as it stands, refused where it could name a file. Raises UnknownName."""
    if not _GPU.fullmatch(text) or text.lower().endswith(".toml"):
        raise UnknownName(msg("GPU"), text[:60], gpu_keys(), "serveright facts gpu")
    return text


def traffic_of_texts(fields: Mapping[str, str]) -> Traffic:
    """Traffic from texts as people write them (`2048/8192`, `32k`); keys are those of `Traffic` and `preset`. Raises UsageError and UnknownName."""
    preset = fields.get("preset") or None
    if preset is not None and preset not in presets():
        raise UnknownName(msg("traffic preset"), preset[:60], presets())
    given = {key: _READ[key](key, text.strip()) for key, text in fields.items() if key in _READ and text.strip()}
    return traffic_of(preset, given)


def _count(key: str, text: str) -> int:
    try:
        value = units.parse_count(text)
    except ValueError:
        value = 0
    if not 0 < value <= 2**40:
        raise UsageError(msg("{key}: {value} is not a count such as 32768, 32k or 1M", key=key, value=text[:40]))
    return value


def _spread(key: str, text: str) -> tuple[int, int]:
    parts = [_count(key, part) for part in text.split("/")]
    if not 1 <= len(parts) <= 2 or parts[0] > parts[-1]:
        raise UsageError(msg("{key}: {value} is not a median/p95 pair such as 2048/8192", key=key, value=text[:40]))
    return parts[0], parts[-1]


def _number(key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise UsageError(msg("{key}: {value} is not a number above 0", key=key, value=text[:40]))
    return value


def _yes(_key: str, text: str) -> bool:
    return text.lower() in ("1", "true", "on", "yes")


_READ: dict[str, Any] = {
    "concurrency": _count,
    "rate_per_s": _number,
    "input_tokens": _spread,
    "output_tokens": _spread,
    "context_tokens": _count,
    "images_per_request": _number,
    "shared_prefix_tokens": _count,
    "reproducible": _yes,
    "ttft_target_s": _number,
    "tpot_target_s": _number,
}


def traffic_of(preset: str | None, given: dict[str, Any]) -> Traffic:
    """The preset (or `chat`'s concurrency) with what was given put over it. Raises UsageError where two say how much comes."""
    if "concurrency" in given and "rate_per_s" in given:
        raise UsageError(msg("--concurrency and --rate contradict each other"), msg("Give the one you know; the other follows."))
    base = load_traffic(preset) if preset else Traffic()
    if "rate_per_s" in given:
        given = {**given, "concurrency": None}
    elif "concurrency" in given:
        given = {**given, "rate_per_s": None}
    traffic = msgspec.structs.replace(base, **given)
    if traffic.concurrency is None and traffic.rate_per_s is None:
        traffic = msgspec.structs.replace(traffic, concurrency=32)
    needed = traffic.input_tokens[0] + traffic.output_tokens[0]
    if traffic.context_tokens is not None and traffic.context_tokens < needed:
        raise UsageError(
            msg("--context {context:n} is shorter than a median request of {needed:n} tokens (input + output)", context=traffic.context_tokens, needed=needed),
            msg("Raise --context, or lower --input-tokens or --output-tokens."),
        )
    return traffic
