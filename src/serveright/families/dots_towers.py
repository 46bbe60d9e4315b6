"""The encoders of Dots3-Note: a vision transformer whose last layers hold more and more experts, and a speech encoder behind three strided convolutions.

Every rank holds them whole. Source: transformers 5.24.0 models/dots3_note, vLLM 0.33.0 models/dots3_note/nvidia (vision.py, audio_encoder.py).
"""

from typing import Any, cast

from serveright.families.blocks import norm
from serveright.families.fields import Fields
from serveright.families.towers import Read, dense, table
from serveright.types.model import ImageGeometry, Tower, Weight
from serveright.types.text import msg

_KERNEL = 9
"""Values under one 3 x 3 kernel."""


def eye(config: Fields, path: str) -> Read:
    """The vision encoder and its merger. Raises InputError for missing fields."""
    hidden, layers, heads, patch = (config.integer(key) for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "patch_size"))
    wide, expert, bias = config.integer("intermediate_size"), config.opt_int("moe_intermediate_size") or 0, config.flag("mlp_bias")
    experts = _experts(config, layers)
    weights = [
        *dense(f"{path}.patch_embed.proj", hidden, config.integer("num_channels") * patch * patch),
        *norm(f"{path}.patch_embed.norm", hidden, part="vision"),
    ]
    for i, count in enumerate(experts):
        block = f"{path}.blocks.{i}"
        weights += _seen(block, hidden, hidden // heads, bias=config.flag("attention_bias"))
        weights += _gated(f"{block}.mlp.experts.*" if count else f"{block}.mlp", hidden, expert if count else wide, bias=bias, copies=max(1, count))
        if count:
            weights += [table(f"{block}.mlp.gate", count, hidden), table(f"{block}.mlp.gate.e_score_correction_bias", count)]
    merge = config.integer("adapter_merge_size", "spatial_merge_size")
    entry, out = config.integer("adapter_in_dim", "hidden_size"), config.integer("adapter_out_dim")
    joined = entry * merge * merge
    weights += [
        *norm(f"{path}.norm", hidden, part="vision"),
        *norm(f"{path}.merger.ln_q", entry, bias=True, part="vision"),
        *dense(f"{path}.merger.mlp.0", joined, joined),
        *dense(f"{path}.merger.mlp.2", out, joined),
    ]
    config.ignore(*config.raw)
    image = ImageGeometry(patch_pixels=patch, merge=merge)
    return Tower(kind="vision", layers=layers, hidden=hidden, heads=heads, intermediate=wide, image=image), weights


def ear(config: Fields, path: str) -> Read:
    """The speech encoder and its adapter. Raises InputError for missing fields."""
    hidden, layers, heads, wide = (config.integer(key) for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"))
    side, bias = config.integer("downsample_hidden_size"), config.flag("attention_bias")
    weights = [*dense(f"{path}.conv_stem.convs.0", side, _KERNEL, part="audio")]
    weights += [w for i in (1, 2) for w in dense(f"{path}.conv_stem.convs.{i}", side, _KERNEL * side, part="audio")]
    weights += dense(f"{path}.conv_stem.conv_out", hidden, config.integer("conv_output_size"), bias=False, part="audio")
    for i in range(layers):
        block = f"{path}.layers.{i}"
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            weights += dense(f"{block}.self_attn.{name}", hidden, hidden, bias=bias and name != "k_proj", part="audio")
        weights += [*dense(f"{block}.mlp.gate_up_proj", 2 * wide, hidden, part="audio"), *dense(f"{block}.mlp.down_proj", hidden, wide, part="audio")]
        weights += [w for name in ("input_layernorm", "post_attention_layernorm") for w in norm(f"{block}.{name}", hidden, part="audio")]
    entry, out = config.integer("adapter_input_size", "hidden_size"), config.integer("adapter_out_dim")
    weights += [
        *norm(f"{path}.layer_norm", hidden, part="audio"),
        *norm(f"{path}.adapter.norm", entry, bias=True, part="audio"),
        *dense(f"{path}.adapter.fc1", out, entry, part="audio"),
        *dense(f"{path}.adapter.fc2", out, out, part="audio"),
    ]
    config.ignore(*config.raw)
    return Tower(kind="audio", layers=layers, hidden=hidden, heads=heads, intermediate=wide), weights


def _experts(config: Fields, layers: int) -> list[int]:
    """Experts of every layer, 0 for plain ones; `per_layer_config` says where a layer's number is its own."""
    words = config.items("mlp_layer_types", length=layers) or ["dense"] * layers
    listed: object = config.raw.get("per_layer_config")
    given = cast("dict[str, Any]", listed) if isinstance(listed, dict) else {}
    usual = (config.opt_int("num_local_experts") or 0) if "sparse" in words else 0
    own = {
        int(key): cast("dict[str, int]", value).get("num_local_experts", usual) for key, value in given.items() if key.isdecimal() and isinstance(value, dict)
    }
    found = [own.get(i, usual) if word == "sparse" else 0 for i, word in enumerate(words)]
    if any(found):
        config.note("mlp_layer_types", msg("{count} layers of the encoder hold {experts} experts in all", count=sum(map(bool, found)), experts=sum(found)), "…")
    return found


def _seen(block: str, hidden: int, head: int, *, bias: bool) -> list[Weight]:
    return [
        *(w for name in ("norm1", "norm2") for w in norm(f"{block}.{name}", hidden, part="vision")),
        *dense(f"{block}.attn.qkv", 3 * hidden, hidden, bias=bias),
        *dense(f"{block}.attn.proj", hidden, hidden, bias=bias),
        *(w for name in ("q_norm", "k_norm") for w in norm(f"{block}.attn.{name}", head, part="vision")),
    ]


def _gated(path: str, hidden: int, wide: int, *, bias: bool, copies: int) -> list[Weight]:
    sides = {"gate_proj": (wide, hidden), "up_proj": (wide, hidden), "down_proj": (hidden, wide)}
    found = [Weight(path=f"{path}.{name}", part="vision", shape=shape, shard="replicated", copies=copies) for name, shape in sides.items()]
    if bias:
        found += [
            Weight(path=f"{path}.{name}.bias", part="vision", shape=shape[:1], shard="replicated", copies=copies, linear=False) for name, shape in sides.items()
        ]
    return found
