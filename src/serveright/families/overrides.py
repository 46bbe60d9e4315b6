"""`per_layer_config`: dimensions of single layers that differ from the model's own, keyed by the layer's number (transformers from 5.2x on)."""

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from serveright.families.fields import Fields
from serveright.families.layer_ids import require_layer
from serveright.types.model import Attention, Latent, Mixer
from serveright.types.text import msg

_ATTENTION = {
    "num_attention_heads": "query_heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head_dim",
    "v_head_dim": "v_head_dim",
    "sliding_window": "window_tokens",
}
_LATENT = {
    "num_attention_heads": "query_heads",
    "kv_lora_rank": "kv_lora_rank",
    "qk_rope_head_dim": "rope_dim",
    "qk_nope_head_dim": "nope_dim",
    "v_head_dim": "v_head_dim",
    "q_lora_rank": "q_lora_rank",
    "sliding_window": "window_tokens",
}


def apply(text: Fields, layers: Sequence[tuple[Mixer, ...]]) -> list[tuple[Mixer, ...]]:
    """The layers with their own dimensions. Raises InputError for numbers that are none."""
    own = text.child("per_layer_config")
    if own is None:
        return list(layers)
    entries: dict[int, Fields] = {}
    for key, value in own.raw.items():
        if key.isdecimal() and len(key) < 6 and isinstance(value, dict):
            require_layer(text, "per_layer_config", int(key), len(layers))
            entries[int(key)] = Fields(cast("dict[str, Any]", value), own.at(key))
        else:
            own.unknown(key, msg("no layer's number, or no object of dimensions: it is not read"))
    own.ignore(*own.raw)
    text.note("per_layer_config", msg("{count} layers have dimensions of their own", count=len(entries)), "…")
    return [tuple(_own(mixer, entries.get(index)) for mixer in layer) for index, layer in enumerate(layers)]


def _own(mixer: Mixer, entry: Fields | None) -> Mixer:
    if entry is None or not isinstance(mixer, (Attention, Latent)):
        return mixer
    names = _ATTENTION if isinstance(mixer, Attention) else _LATENT
    found = {field: value for key, field in names.items() if (value := entry.opt_int(key, minimum=1)) is not None}
    if not mixer.window_tokens and "window_tokens" in found:
        found.pop("window_tokens")
    if isinstance(mixer, Attention) and "head_dim" in found and "v_head_dim" not in found and mixer.v_head_dim == mixer.head_dim:
        found["v_head_dim"] = found["head_dim"]
    return replace(mixer, **found)
