"""What was found beside a config.json: the raw material of step 1, read by `readers.model`, interpreted by `families` and `formats`."""

from typing import Any

from msgspec import Struct


class ModelFiles(Struct, frozen=True, kw_only=True):
    """`id` is what the user asked for; `origin` where it came from in words (path, catalogue, Hub revision).

    Every JSON file is the parsed object, {} where the file was absent.
    """

    id: str
    origin: str
    config: dict[str, Any]
    hf_quant_config: dict[str, Any] = {}
    generation_config: dict[str, Any] = {}
    preprocessor_config: dict[str, Any] = {}
    tokenizer_config: dict[str, Any] = {}
    chat_template: str | None = None
    safetensors_index: dict[str, Any] = {}
    card: str | None = None
    """Text of README.md."""
    facts: dict[str, Any] = {}
    """The catalogue's `[facts]` where the model is in it: published totals, parsers, checkpoints, minimum versions."""
