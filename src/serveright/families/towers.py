"""Vision and audio encoders in front of a language model: their sizes, tensors, and how pixels become tokens.

Every reader takes the encoder's own config object and the module path it is stored under. What a preprocessor file says about pixels wins over the config.
"""

from typing import Any, cast

from msgspec import Struct

from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.types.model import ImageGeometry, Part, Shard, Tower, Weight
from serveright.types.source import ModelFiles

Read = tuple[Tower, list[Weight]]


class Vit(Struct, frozen=True, kw_only=True):
    """Transformer blocks of an encoder. `qkv` is one fused name or three; `mlp` is up and down, or gate, up and down; `scales` are learned vectors."""

    layers: int
    hidden: int
    heads: int
    intermediate: int
    part: Part = "vision"
    kv_heads: int | None = None
    head_dim: int | None = None
    qkv: tuple[str, ...] = ("attn.qkv",)
    out: str = "attn.proj"
    mlp: tuple[str, ...] = ("mlp.fc1", "mlp.fc2")
    norms: tuple[str, ...] = ("norm1", "norm2")
    head_norms: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    norm_bias: bool = True
    qkv_bias: bool = True
    out_bias: bool = True
    mlp_bias: bool = True


def blocks(path: str, vit: Vit) -> list[Weight]:
    """All blocks under `path` (e.g. `visual.blocks`)."""
    return [weight for index in range(vit.layers) for weight in _block(f"{path}.{index}", vit)]


def _block(path: str, vit: Vit) -> list[Weight]:
    dim = vit.head_dim or vit.hidden // vit.heads
    q, kv = vit.heads * dim, (vit.kv_heads or vit.heads) * dim
    weights = [w for name in vit.norms for w in norm(f"{path}.{name}", vit.hidden, bias=vit.norm_bias, part=vit.part)]
    if len(vit.qkv) == 1:
        weights += linear(f"{path}.{vit.qkv[0]}", vit.part, q + 2 * kv, vit.hidden, "q_heads", units=vit.heads, bias=vit.qkv_bias)
    else:
        for name, width in zip(vit.qkv, (q, kv, kv), strict=True):
            weights += linear(f"{path}.{name}", vit.part, width, vit.hidden, "q_heads", units=vit.heads, bias=vit.qkv_bias)
    weights += linear(f"{path}.{vit.out}", vit.part, vit.hidden, q, "row", bias=vit.out_bias)
    for name in vit.head_norms:
        weights += norm(f"{path}.{name}", dim, part=vit.part)
    *ups, down = vit.mlp
    for name in ups:
        weights += linear(f"{path}.{name}", vit.part, vit.intermediate, vit.hidden, "column", bias=vit.mlp_bias)
    weights += linear(f"{path}.{down}", vit.part, vit.hidden, vit.intermediate, "row", bias=vit.mlp_bias)
    return weights + [table(f"{path}.{name}", vit.hidden, part=vit.part) for name in vit.scales]


def table(path: str, *shape: int, part: Part = "vision") -> Weight:
    """A learned table or vector that is never quantised."""
    return Weight(path=path, part=part, shape=shape, shard="replicated", linear=False)


def dense(path: str, out: int, into: int, *, bias: bool = True, part: Part = "vision", shard: Shard = "replicated") -> list[Weight]:
    """A projection of the encoder, whole on every rank unless `shard` says otherwise."""
    return linear(path, part, out, into, shard, bias=bias)


def two_layers(first: str, second: str, wide: int, out: int, *, bias: bool = True) -> list[Weight]:
    """A merger of two matrices, `wide` x `wide` and `out` x `wide`, the first cut by columns, the second by rows (both engines)."""
    return [*dense(first, wide, wide, bias=bias, shard="column"), *dense(second, out, wide, bias=bias, shard="row")]


def tower(vit: Vit, image: ImageGeometry | None = None) -> Tower:
    """The summary of an encoder made of these blocks."""
    return Tower(
        kind="audio" if vit.part == "audio" else "vision", layers=vit.layers, hidden=vit.hidden, heads=vit.heads, intermediate=vit.intermediate, image=image
    )


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40 else None


def pixels(files: ModelFiles, patch: int, merge: int) -> ImageGeometry:
    """Patches merged `merge` x `merge`; pixel limits from the preprocessor's file where it was there."""
    said = files.preprocessor_config
    size: Any = said.get("size")
    limits = cast("dict[str, Any]", size) if isinstance(size, dict) else {}
    return ImageGeometry(
        patch_pixels=patch,
        merge=merge,
        min_pixels=_number(said.get("min_pixels")) or _number(limits.get("shortest_edge")),
        max_pixels=_number(said.get("max_pixels")) or _number(limits.get("longest_edge")),
    )


def _heads(config: Fields) -> int:
    return config.integer("num_heads", "num_attention_heads")


def qwen2_vl(config: Fields, files: ModelFiles, path: str) -> Read:
    """Qwen2.5-VL and EXAONE-4.5: RMS norms, gated MLP with biases, window attention, a two-layer merger. Grouped KV heads where the config has them."""
    hidden, patch, merge = config.integer("hidden_size"), config.integer("patch_size"), config.integer("spatial_merge_size")
    vit = Vit(
        layers=config.integer("depth"),
        hidden=hidden,
        heads=_heads(config),
        kv_heads=config.opt_int("num_key_value_heads", minimum=1),
        intermediate=config.integer("intermediate_size"),
        mlp=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        norm_bias=False,
    )
    config.ignore("fullatt_block_indexes", "window_size", "tokens_per_second", "spatial_patch_size", "in_chans", "in_channels")
    wide = hidden * merge * merge
    weights = [
        *dense(f"{path}.patch_embed.proj", hidden, 3 * config.integer("temporal_patch_size") * patch * patch, bias=False),
        *blocks(f"{path}.blocks", vit),
        *norm(f"{path}.merger.ln_q", hidden, part="vision"),
        *two_layers(f"{path}.merger.mlp.0", f"{path}.merger.mlp.2", wide, config.integer("out_hidden_size")),
    ]
    return tower(vit, pixels(files, patch, merge)), weights


def qwen3_vl(config: Fields, files: ModelFiles, path: str) -> Read:
    """Qwen3-VL to Qwen3.8: LayerNorms, plain MLP, learned positions, one merger more for every layer that feeds the decoder directly (deepstack)."""
    hidden, patch, merge = config.integer("hidden_size"), config.integer("patch_size"), config.integer("spatial_merge_size")
    vit = Vit(
        layers=config.integer("depth"),
        hidden=hidden,
        heads=config.int_or(16, "transformers 5.12 Qwen3VLVisionConfig", "num_heads", "num_attention_heads", minimum=1),
        intermediate=config.integer("intermediate_size"),
        mlp=("mlp.linear_fc1", "mlp.linear_fc2"),
    )
    config.ignore("in_channels", "in_chans", "image_size", "spatial_patch_size")
    wide, out = hidden * merge * merge, config.integer("out_hidden_size")
    weights = [
        *dense(f"{path}.patch_embed.proj", hidden, 3 * config.integer("temporal_patch_size") * patch * patch),
        table(f"{path}.pos_embed", config.integer("num_position_embeddings"), hidden),
        *blocks(f"{path}.blocks", vit),
        *_merger(f"{path}.merger", hidden, wide, out),
    ]
    for index in range(len(config.items("deepstack_visual_indexes") or ())):
        weights += _merger(f"{path}.deepstack_merger_list.{index}", wide, wide, out)
    return tower(vit, pixels(files, patch, merge)), weights


def _merger(path: str, normed: int, wide: int, out: int) -> list[Weight]:
    return [*norm(f"{path}.norm", normed, bias=True, part="vision"), *two_layers(f"{path}.linear_fc1", f"{path}.linear_fc2", wide, out)]


def siglip(config: Fields, path: str, image: ImageGeometry) -> Read:
    """SigLIP without its pooling head: LayerNorms and biases throughout, one learned position a patch."""
    hidden, patch = config.integer("hidden_size"), config.integer("patch_size")
    vit = Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=_heads(config),
        intermediate=config.integer("intermediate_size"),
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.out_proj",
        norms=("layer_norm1", "layer_norm2"),
    )
    positions = (config.integer("image_size") // patch) ** 2
    config.ignore("vision_use_head", "num_channels")
    weights = [
        *dense(f"{path}.embeddings.patch_embedding", hidden, 3 * patch * patch),
        table(f"{path}.embeddings.position_embedding", positions, hidden),
        *blocks(f"{path}.encoder.layers", vit),
        *norm(f"{path}.post_layernorm", hidden, bias=True, part="vision"),
    ]
    return tower(vit, image), weights


def pixtral(config: Fields, path: str, merge: int) -> Read:
    """Pixtral: a Llama-like encoder without biases; images of any shape up to `image_size` a side."""
    hidden, patch = config.integer("hidden_size"), config.integer("patch_size")
    vit = Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=_heads(config),
        head_dim=config.opt_int("head_dim", minimum=1),
        intermediate=config.integer("intermediate_size"),
        qkv=("attention.q_proj", "attention.k_proj", "attention.v_proj"),
        out="attention.o_proj",
        mlp=("feed_forward.gate_proj", "feed_forward.up_proj", "feed_forward.down_proj"),
        norms=("attention_norm", "ffn_norm"),
        norm_bias=False,
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
    )
    size = config.opt_int("image_size", minimum=1)
    weights = [
        *dense(f"{path}.patch_conv", hidden, 3 * patch * patch, bias=False),
        *blocks(f"{path}.transformer.layers", vit),
        *norm(f"{path}.ln_pre", hidden, part="vision"),
    ]
    return tower(vit, ImageGeometry(patch_pixels=patch, merge=merge, max_pixels=size * size if size else None)), weights


def whisper(config: Fields, path: str) -> Read:
    """The Whisper-like audio encoder of Qwen's omni models: three strided convolutions, plain blocks, two projections."""
    hidden, mel = config.integer("d_model"), config.integer("num_mel_bins")
    vit = Vit(
        part="audio",
        layers=config.integer("encoder_layers"),
        hidden=hidden,
        heads=config.integer("encoder_attention_heads"),
        intermediate=config.integer("encoder_ffn_dim"),
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.out_proj",
        mlp=("fc1", "fc2"),
        norms=("self_attn_layer_norm", "final_layer_norm"),
    )
    side = config.opt_int("downsample_hidden_size", minimum=1) or 480
    rows = (mel + 7) // 8
    weights = [
        *dense(f"{path}.conv2d1", side, 9, part="audio"),
        *dense(f"{path}.conv2d2", side, 9 * side, part="audio"),
        *dense(f"{path}.conv2d3", side, 9 * side, part="audio"),
        *dense(f"{path}.conv_out", hidden, side * rows, bias=False, part="audio"),
        *blocks(f"{path}.layers", vit),
        *norm(f"{path}.ln_post", hidden, bias=True, part="audio"),
        *dense(f"{path}.proj1", hidden, hidden, part="audio"),
        *dense(f"{path}.proj2", config.integer("output_dim"), hidden, part="audio"),
    ]
    config.ignore("n_window", "n_window_infer", "conv_chunksize")
    return tower(vit), weights


def unread(fields: Fields, key: str) -> None:
    """Mark a whole nested object as looked at, so that none of its fields is reported."""
    child = fields.child(key)
    if child is not None:
        child.ignore(*child.raw)
