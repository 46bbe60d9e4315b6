"""A checkpoint as it stands in memory where the command has the engine quantise it while loading."""

from functools import cache
from typing import Any

from msgspec.structs import replace

from serveright.api.loading import Model, load_model
from serveright.types.engine import Settings

_FP8: dict[str, Any] = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}
_ONLINE: dict[str, dict[str, Any]] = {
    "fp8": _FP8,
    "fp8_per_tensor": _FP8,
    "fp8_per_block": {**_FP8, "weight_block_size": [128, 128]},
    "mxfp8": {"quant_method": "mxfp8", **{key: value for key, value in _FP8.items() if key != "quant_method"}},
    "bitsandbytes": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
}
"""`--quantization` words both engines apply to full-precision weights, and the checkpoint configuration that says the same.

Read in vLLM 0.33.0 layers/quantization/online and SGLang 0.5.23 layers/quantization.
"""


def as_loaded(model: Model, settings: Settings) -> Model:
    """The model with the format `--quantization` makes of plain weights; itself where nothing is converted or the word is not known here."""
    word = settings.extra.get("quantization", "")
    if model.checkpoint.method != "none" or word not in _ONLINE:
        return model
    return _converted(_Held(model), word)


class _Held:
    """A model as a key: by identity, and held, so that no other takes its place in memory."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __hash__(self) -> int:
        return id(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.model is self.model


@cache
def _converted(held: _Held, word: str) -> Model:
    files = held.model.files
    return load_model(replace(files, config={**files.config, "quantization_config": _ONLINE[word]}))
