"""Encoders of single recent models: GLM-5.3-Flash, Hunyuan Hy4, DeepSeek V4 and V4.1."""

from serveright.families import towers
from serveright.families.blocks import norm
from serveright.families.fields import Fields
from serveright.types.model import ImageGeometry
from serveright.types.source import ModelFiles


def glm5_next(config: Fields, files: ModelFiles, path: str) -> towers.Read:
    """RMS norms, a norm per head on q and k, gated MLPs with biases, a convolution that merges patches, a gated merger of its own width (GLM-OCR: of all channels)."""
    hidden, patch, merge = config.integer("hidden_size"), config.integer("patch_size"), config.integer("spatial_merge_size")
    out = config.integer("out_hidden_size")
    inner = config.opt_int("projection_intermediate_size", minimum=1) or out * (config.opt_int("in_channels", minimum=1) or 3)
    bias = config.flag("attention_bias")
    vit = towers.Vit(
        layers=config.integer("depth"),
        hidden=hidden,
        heads=config.integer("num_heads"),
        intermediate=config.integer("intermediate_size"),
        mlp=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        head_norms=("attn.q_norm", "attn.k_norm"),
        norm_bias=False,
        qkv_bias=bias,
        out_bias=bias,
    )
    frames = config.integer("temporal_patch_size")
    config.ignore("in_channels", "image_size")
    weights = [
        *towers.dense(f"{path}.patch_embed.proj", hidden, 3 * frames * patch * patch),
        *towers.blocks(f"{path}.blocks", vit),
        *norm(f"{path}.post_layernorm", hidden, part="vision"),
        towers.table(f"{path}.downsample", out, hidden, merge, merge),
        towers.table(f"{path}.downsample.bias", out),
        *towers.dense(f"{path}.merger.proj", out, out, bias=False),
        *norm(f"{path}.merger.post_projection_norm", out, bias=True, part="vision"),
        *towers.dense(f"{path}.merger.gate_proj", inner, out, bias=False),
        *towers.dense(f"{path}.merger.up_proj", inner, out, bias=False),
        *towers.dense(f"{path}.merger.down_proj", out, inner, bias=False),
    ]
    return towers.tower(vit, towers.pixels(files, patch, merge)), weights


def hy4(config: Fields, files: ModelFiles, path: str) -> towers.Read:
    """LayerNorms and biases throughout, one learned position a patch and one for the class, a strided convolution before the decoder's width."""
    hidden, patch, merge = config.integer("hidden_size"), config.integer("patch_size"), config.integer("spatial_merge_size")
    out = config.integer("out_hidden_size")
    vit = towers.Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=config.integer("num_attention_heads"),
        kv_heads=config.opt_int("num_key_value_heads", minimum=1),
        intermediate=config.integer("intermediate_size"),
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.o_proj",
        norms=("layer_norm1", "layer_norm2"),
    )
    positions = (config.integer("max_image_size") // patch) ** 2 + 1
    wide = 4 * hidden
    config.ignore("num_channels", "interpolate_mode")
    weights = [
        *towers.dense(f"{path}.embeddings.patch_embedding", hidden, 3 * patch * patch),
        towers.table(f"{path}.embeddings.position_embedding", positions, hidden),
        *towers.blocks(f"{path}.layers", vit),
        *norm(f"{path}.patch_merger.before_rms", hidden, part="vision"),
        towers.table(f"{path}.patch_merger.image_newline", wide),
        *towers.dense(f"{path}.patch_merger.proj_conv", wide, hidden * merge * merge),
        *towers.dense(f"{path}.patch_merger.proj_out", out, wide),
    ]
    return towers.tower(vit, towers.pixels(files, patch, merge)), weights


def step(config: Fields, path: str, projector: str, out: int, *, bias: bool) -> towers.Read:
    """Step 3.7: LayerNorms and biases, learned scales and positions, two strided convolutions that double the width, one projection."""
    hidden, patch = config.integer("hidden_size", "width"), config.integer("patch_size")
    layers, heads = config.integer("num_hidden_layers", "layers"), config.integer("num_attention_heads", "heads")
    vit = towers.Vit(
        layers=layers,
        hidden=hidden,
        heads=heads,
        intermediate=config.opt_int("intermediate_size", minimum=1) or round(hidden * config.number("mlp_ratio")),
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.out_proj",
        norms=("layernorm_before", "layernorm_after"),
        scales=("lambda_1", "lambda_2"),
    )
    positions = (config.integer("image_size") // patch) ** 2
    config.ignore(*config.raw)
    weights = [
        *towers.dense(f"{path}.embeddings.patch_embedding", hidden, 3 * patch * patch, bias=False),
        towers.table(f"{path}.embeddings.position_embedding", positions, hidden),
        *norm(f"{path}.pre_layernorm", hidden, bias=True, part="vision"),
        *towers.blocks(f"{path}.layers", vit),
        *towers.dense(f"{path}.downsampler1", 2 * hidden, 9 * hidden),
        *towers.dense(f"{path}.downsampler2", 4 * hidden, 18 * hidden),
        *towers.dense(projector, out, 4 * hidden, bias=bias),
    ]
    return towers.tower(vit, ImageGeometry(patch_pixels=patch, merge=4)), weights


def deepseek_v4(config: Fields, out: int, *, flat: bool) -> towers.Read:
    """`flat`: the fields stand in the model's own config as `vision_...` (V4), otherwise in a nested one (V4.1). RMS norms, biases on attention alone, gated MLPs without; `ratio` x `ratio` patches are joined and projected to the decoder's width (vLLM 0.33.0 deepseek_v4/common/vision.py)."""
    keys = ("vision_n_layers", "vision_dim", "vision_n_heads", "vision_inter_dim", "vision_patch_size", "vision_downsample_ratio")
    nested = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size", "patch_size", "downsample_ratio")
    layers, hidden, heads, intermediate, patch, ratio = (config.integer(key) for key in (keys if flat else nested))
    vit = towers.Vit(
        layers=layers,
        hidden=hidden,
        heads=heads,
        intermediate=intermediate,
        qkv=("attn.wqkv",),
        out="attn.wo",
        mlp=("mlp.w1", "mlp.w3", "mlp.w2"),
        norm_bias=False,
        mlp_bias=False,
    )
    weights = [
        *towers.dense("vision.patch_embed.proj", hidden, 3 * patch * patch),
        *towers.blocks("vision.blocks", vit),
        *norm("vision.norm", hidden, part="vision"),
        *towers.dense("aligner.w1", out, hidden * ratio * ratio),
        *towers.dense("aligner.w2", out, out),
    ]
    return towers.tower(vit, ImageGeometry(patch_pixels=patch, merge=ratio)), weights
