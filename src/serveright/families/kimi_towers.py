"""Kimi's vision encoder (MoonViT) and its projector."""

from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.towers import Vit, blocks, dense, table, tower
from serveright.types.model import ImageGeometry, Tower, Weight
from serveright.types.text import msg


def read(fields: Fields, config: Fields | None, path: str, projector: str, out: int) -> tuple[tuple[Tower, ...], list[Weight], tuple[str, ...]]:
    """Tower, tensors and modalities of `config` (the `vision_config`; nothing where it is None). `out` is the text model's width."""
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    hidden, patch = config.integer("vt_hidden_size", "hidden_size"), config.integer("patch_size")
    heads = config.integer("vt_num_attention_heads", "num_attention_heads")
    wide = config.opt_int("qkv_hidden_size")
    layers, intermediate = config.integer("vt_num_hidden_layers", "num_hidden_layers"), config.integer("vt_intermediate_size", "intermediate_size")
    plain = config.text("norm_type") == "rmsnorm"
    bias = config.flag("linear_bias", default=True)
    vit = Vit(
        layers=layers,
        hidden=hidden,
        heads=heads,
        head_dim=(wide or hidden) // heads,
        intermediate=intermediate,
        qkv=("wqkv",),
        qkv_bias=config.flag("attn_bias", default=True),
        out="wo",
        out_bias=config.flag("attn_bias", default=True),
        mlp=("mlp.fc0", "mlp.fc1"),
        mlp_bias=bias,
        norms=("norm0", "norm1"),
        norm_bias=not plain,
    )
    rows, columns = config.integer("init_pos_emb_height"), config.integer("init_pos_emb_width")
    merge = config.ints("merge_kernel_size") or (2, 2)
    config.ignore(*config.raw)
    merged = hidden * merge[0] * merge[-1]
    weights = [
        *linear(f"{path}.patch_embed.proj", "vision", hidden, 3 * patch * patch, "replicated", bias=config.flag("patch_embed_proj_bias", default=True)),
        table(f"{path}.patch_embed.pos_emb", rows, columns, hidden),
        *blocks(f"{path}.encoder.blocks", vit),
        *norm(f"{path}.encoder.final_layernorm", hidden, bias=not plain, part="vision"),
        *_projector(projector, config.text("mm_projector_type") == "patchmergerv2", hidden, merged, out),
    ]
    return (tower(vit, ImageGeometry(patch_pixels=patch, merge=merge[0])),), weights, ("image", "video")


def _projector(path: str, second: bool, hidden: int, merged: int, out: int) -> list[Weight]:
    """Two layers on merged patches; the second version has no biases and its norm behind them."""
    layers = [*dense(f"{path}.proj.0", merged, merged, bias=not second), *dense(f"{path}.proj.2", out, merged, bias=not second)]
    if second:
        return [*layers, *norm(f"{path}.post_norm", out, part="vision")]
    return [*norm(f"{path}.pre_norm", hidden, bias=True, part="vision"), *layers]
