"""Encoders and small side paths of the Gemma models: SigLIP, Gemma 4's own vision and audio encoders, the encoder-free embedders, AltUp and Laurel of Gemma 3n.

The four scalar bounds beside each clipped linear are left out: they hold one number each and count in no published total.
"""

from serveright.families import towers, wrapped_towers
from serveright.families.blocks import linear, norm
from serveright.families.decoder import Towers
from serveright.families.fields import Fields
from serveright.families.frame import Frame
from serveright.types.model import ImageGeometry, Tower, Weight
from serveright.types.text import msg

_SOURCE = "transformers 5.24 Gemma4VisionConfig"


def gemma3(fields: Fields, frame: Frame) -> Towers:
    """SigLIP at a fixed size, pooled to `mm_tokens_per_image` tokens."""
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    tokens = fields.int_or(256, "transformers 5.24 Gemma3Config", "mm_tokens_per_image")
    fields.note("mm_tokens_per_image", msg("every image becomes {tokens} tokens", tokens=tokens), tokens)
    size = config.opt_int("image_size", minimum=1)
    eye, weights = towers.siglip(
        config, "vision_tower.vision_model", ImageGeometry(patch_pixels=config.integer("patch_size"), tokens_per_image=tokens, tile_pixels=size)
    )
    weights += [
        towers.table("multi_modal_projector.mm_input_projection_weight", eye.hidden, frame.hidden),
        *norm("multi_modal_projector.mm_soft_emb_norm", eye.hidden, part="vision"),
    ]
    return (eye,), weights, ("image",)


def gemma4(fields: Fields, frame: Frame) -> Towers:
    """Vision and audio as the config has them; `gemma4_unified` projects patches without an encoder."""
    eyes: list[Tower] = []
    weights: list[Weight] = []
    modalities: list[str] = []
    vision, audio = fields.child("vision_config"), fields.child("audio_config")
    if vision is not None:
        eye, more = _unified(vision, frame.hidden) if vision.has("mm_embed_dim") else _vision(fields, vision, frame.hidden)
        eyes.append(eye)
        weights += more
        modalities += ["image", "video"]
        fields.note("vision_config", msg("a vision part stands in front: images and video in"), "…")
    if audio is not None:
        ear, more = _audio(audio, frame.hidden)
        eyes.append(ear)
        weights += more
        modalities.append("audio")
        fields.note("audio_config", msg("an audio encoder stands in front: speech and sound in"), "…")
    return tuple(eyes), weights, tuple(modalities)


def _vision(fields: Fields, config: Fields, text_hidden: int) -> towers.Read:
    hidden, patch = config.integer("hidden_size"), config.integer("patch_size")
    pool = config.int_or(3, _SOURCE, "pooling_kernel_size", minimum=1)
    tokens = fields.opt_int("vision_soft_tokens_per_image", minimum=1) or config.opt_int("default_output_length", minimum=1)
    vit = towers.Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=config.integer("num_attention_heads"),
        kv_heads=config.opt_int("num_key_value_heads", minimum=1),
        head_dim=config.opt_int("head_dim", minimum=1),
        intermediate=config.integer("intermediate_size"),
        qkv=("self_attn.q_proj.linear", "self_attn.k_proj.linear", "self_attn.v_proj.linear"),
        out="self_attn.o_proj.linear",
        mlp=("mlp.gate_proj.linear", "mlp.up_proj.linear", "mlp.down_proj.linear"),
        norms=("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"),
        head_norms=("self_attn.q_norm", "self_attn.k_norm"),
        norm_bias=False,
        qkv_bias=False,
        out_bias=False,
        mlp_bias=False,
    )
    config.ignore("global_head_dim", "use_clipped_linears", "chunk_size_feed_forward", "default_output_length")
    path = "model.vision_tower"
    weights = [
        *towers.dense(f"{path}.patch_embedder.input_proj", hidden, 3 * patch * patch, bias=False),
        towers.table(f"{path}.patch_embedder.position_embedding_table", 2, config.int_or(10240, _SOURCE, "position_embedding_size"), hidden),
        *towers.blocks(f"{path}.encoder.layers", vit),
        *towers.dense("model.embed_vision.embedding_projection", text_hidden, hidden, bias=False),
    ]
    if config.flag("standardize"):
        weights += [towers.table(f"{path}.std_bias", hidden), towers.table(f"{path}.std_scale", hidden)]
    return towers.tower(vit, ImageGeometry(patch_pixels=patch, merge=pool, max_tokens=tokens, tokens_per_image=tokens)), weights


def _unified(config: Fields, text_hidden: int) -> towers.Read:
    """No encoder: a patch of merged pixels is normed, projected and given a position."""
    side, width = config.integer("model_patch_size"), config.integer("mm_embed_dim")
    tokens = config.opt_int("num_soft_tokens", minimum=1)
    pixels = 3 * side * side
    path = "model.vision_embedder"
    weights = [
        *norm(f"{path}.patch_ln1", pixels, bias=True, part="vision"),
        *towers.dense(f"{path}.patch_dense", width, pixels),
        *norm(f"{path}.patch_ln2", width, bias=True, part="vision"),
        towers.table(f"{path}.pos_embedding", config.integer("mm_posemb_size"), 2, width),
        *norm(f"{path}.pos_norm", width, bias=True, part="vision"),
        *towers.dense("model.embed_vision.embedding_projection", text_hidden, config.opt_int("output_proj_dims", minimum=1) or width, bias=False),
    ]
    patch = config.opt_int("patch_size", minimum=1) or side
    config.ignore("pooling_kernel_size")
    return Tower(
        kind="vision", layers=0, hidden=width, image=ImageGeometry(patch_pixels=patch, merge=max(1, side // patch), tokens_per_image=tokens, max_tokens=tokens)
    ), weights


def _audio(config: Fields, text_hidden: int) -> towers.Read:
    hidden = config.integer("hidden_size")
    project = towers.dense(
        "model.embed_audio.embedding_projection", text_hidden, config.opt_int("output_proj_dims", minimum=1) or hidden, bias=False, part="audio"
    )
    if not config.has("num_hidden_layers"):
        config.ignore("audio_embed_dim", "audio_samples_per_token")
        return Tower(kind="audio", layers=0, hidden=hidden), project
    layers, heads = config.integer("num_hidden_layers"), config.integer("num_attention_heads")
    channels = config.ints("subsampling_conv_channels") or (128, 32)
    first, second = channels[0], channels[-1]
    kernel = config.int_or(5, "transformers 5.24 Gemma4AudioConfig", "conv_kernel_size", minimum=1)
    path = "model.audio_tower"
    weights = [
        towers.table(f"{path}.subsample_conv_projection.layer0.conv", first, 1, 3, 3, part="audio"),
        *norm(f"{path}.subsample_conv_projection.layer0.norm", first, part="audio"),
        towers.table(f"{path}.subsample_conv_projection.layer1.conv", second, first, 3, 3, part="audio"),
        *norm(f"{path}.subsample_conv_projection.layer1.norm", second, part="audio"),
        *towers.dense(f"{path}.subsample_conv_projection.input_proj_linear", hidden, first // 4 * second, bias=False, part="audio"),
    ]
    for index in range(layers):
        weights += _conformer(f"{path}.layers.{index}", hidden, heads, kernel)
    weights += towers.dense(f"{path}.output_proj", config.integer("output_proj_dims"), hidden, part="audio")
    config.ignore(
        "use_clipped_linears",
        "attention_chunk_size",
        "attention_context_left",
        "attention_context_right",
        "attention_invalid_logits_value",
        "attention_logit_cap",
        "chunk_size_feed_forward",
    )
    return Tower(kind="audio", layers=layers, hidden=hidden, heads=heads, intermediate=4 * hidden), weights + project


def _conformer(path: str, hidden: int, heads: int, kernel: int) -> list[Weight]:
    """Half feed-forward, attention, light convolution, half feed-forward."""
    linears: list[Weight] = []
    for name in ("feed_forward1", "feed_forward2"):
        linears += towers.dense(f"{path}.{name}.ffw_layer_1.linear", 4 * hidden, hidden, bias=False, part="audio")
        linears += towers.dense(f"{path}.{name}.ffw_layer_2.linear", hidden, 4 * hidden, bias=False, part="audio")
    for name in ("q_proj", "k_proj", "v_proj", "post"):
        linears += towers.dense(f"{path}.self_attn.{name}.linear", hidden, hidden, bias=False, part="audio")
    linears += towers.dense(f"{path}.lconv1d.linear_start.linear", 2 * hidden, hidden, bias=False, part="audio")
    linears += towers.dense(f"{path}.lconv1d.linear_end.linear", hidden, hidden, bias=False, part="audio")
    weights = linears + towers.dense(f"{path}.self_attn.relative_k_proj", hidden, hidden, bias=False, part="audio")
    weights += [
        towers.table(f"{path}.self_attn.per_dim_scale", hidden // heads, part="audio"),
        towers.table(f"{path}.lconv1d.depthwise_conv1d", hidden, 1, kernel, part="audio"),
    ]
    names = ("feed_forward1.pre_layer_norm", "feed_forward1.post_layer_norm", "feed_forward2.pre_layer_norm", "feed_forward2.post_layer_norm")
    for name in (*names, "lconv1d.pre_layer_norm", "lconv1d.conv_norm", "norm_pre_attn", "norm_post_attn", "norm_out"):
        weights += norm(f"{path}.{name}", hidden, part="audio")
    return weights


def gemma3n(fields: Fields, frame: Frame) -> Towers:
    """Encoders of Gemma 3n are not counted: MobileNet's layout stands in no config."""
    eyes = wrapped_towers.named(fields, "vision_config", "vision")
    ears = wrapped_towers.named(fields, "audio_config", "audio")
    return (*eyes, *ears), [], (*(("image", "video") if eyes else ()), *(("audio",) if ears else ()))


def altup(text: Fields, path: str, index: int, hidden: int) -> list[Weight]:
    """AltUp's mixing and Laurel's low-rank side path of one layer."""
    copies, rank = (
        text.int_or(4, "transformers 5.24 Gemma3nTextConfig", "altup_num_inputs"),
        text.int_or(64, "transformers 5.24 Gemma3nTextConfig", "laurel_rank"),
    )
    text.ignore("altup_active_idx", "altup_coef_clip", "altup_correct_scale", "activation_sparsity_pattern")
    return [
        *linear(f"{path}.altup.correction_coefs", "other", copies, copies, "replicated", layer=index),
        *linear(f"{path}.altup.prediction_coefs", "other", copies * copies, copies, "replicated", layer=index),
        *linear(f"{path}.altup.modality_router", "other", copies, hidden, "replicated", layer=index),
        *norm(f"{path}.altup.router_norm", hidden, layer=index),
        *norm(f"{path}.altup.correct_output_scale", hidden, layer=index),
        *linear(f"{path}.laurel.linear_left", "other", rank, hidden, "replicated", layer=index),
        *linear(f"{path}.laurel.linear_right", "other", hidden, rank, "replicated", layer=index),
        *norm(f"{path}.laurel.post_laurel_norm", hidden, layer=index),
    ]


def altup_projections(frame: Frame) -> list[Weight]:
    """The projections that spread the residual over its copies and gather it again."""
    copies = frame.text.opt_int("altup_num_inputs", minimum=1) or 4
    names = [f"{frame.root}{name}.{index}" for name in ("altup_projections", "altup_unembed_projections") for index in range(min(copies, 64) - 1)]
    return [weight for name in names for weight in linear(name, "other", frame.hidden, frame.hidden, "replicated")]
