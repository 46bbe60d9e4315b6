"""Baidu's ERNIE 4.5: dense, MoE, and the vision model with experts of two widths."""

from functools import partial

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.attention import Defaults
from serveright.families.blocks import norm
from serveright.families.decoder import Style, Towers, biased, build
from serveright.families.ffn import FfnNames, experts
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, text_of
from serveright.families.predictors import Predictor, predict
from serveright.types.model import Ffn, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_VISION = {"Ernie4_5_VLMoeForConditionalGeneration", "Ernie4_5_VL_MoeForConditionalGeneration"}
ARCHITECTURES = frozenset(_VISION | {"Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM", "Ernie4_5_MoeForCausalLM"})
_STYLE = Style(
    dialect="ernie",
    defaults=Defaults(source="transformers 5.24 Ernie4_5_MoeConfig"),
    tied=True,
    nested_root="model.",
    names=FfnNames(router_bias="moe_statics.e_score_correction_bias"),
)
_MTP = Predictor(path="model", block="model.mtp_block.{i}", join="mtp_linear_proj.0", norms=("mtp_emb_norm.0", "mtp_hidden_norm.0"), ffn="dense")


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    text.ignore("moe_capacity", "moe_gate", "moe_multimodal_dispatch_use_allgather", "moe_use_aux_free", "moe_layer_end_index", "moe_layer_interval")
    style = biased(text, _STYLE)
    if files.config["architectures"][0] not in _VISION:
        _whole(text, "moe_layer_end_index")
        return build(fields, files, style, mtp=partial(_predict, style))
    second = _split(text)
    found = build(fields, files, style, towers=partial(_eyes, fields, files))
    return _twin(found, *second) if second else found


def _whole(text: Fields, key: str) -> None:
    """-1 stands for the last layer."""
    if text.raw.get(key) == -1:
        text.without(key)


def _predict(style: Style, frame: Frame, layers: list[Block]) -> list[Block]:
    return predict(frame, style, layers, _MTP)


_PAIRS = ("moe_intermediate_size", "moe_num_experts", "moe_layer_start_index", "moe_layer_end_index")


def _split(text: Fields) -> tuple[int, int] | None:
    """Text and vision tokens have experts of their own: the first entry of each pair is the text's. Returns (experts, width) of the vision's."""
    found = {key: text.ints(key) or () for key in _PAIRS if isinstance(text.raw.get(key), list)}
    pairs = {key: values for key, values in found.items() if len(values) == 2}
    if not pairs:
        return None
    text.note("moe_intermediate_size", msg("text and image tokens have experts of their own, of different widths"))
    widths, counts = pairs.get("moe_intermediate_size"), pairs.get("moe_num_experts")
    for key, value in pairs.items():
        text.substitute(key, value[0])
    text.without("moe_layer_end_index")
    if not widths:
        return None
    return (counts[1] if counts else text.integer("moe_num_experts")), widths[1]


def _twin(found: ModelShape, count: int, width: int) -> ModelShape:
    """The vision tokens' experts in every MoE layer, beside the text's; the shared experts serve both."""
    extra: list[Weight] = []
    for layer in found.layers:
        for ffn in layer.ffns:
            if ffn.kind == "moe":
                path = f"model.layers.{layer.index}.mlp"
                other = Ffn(kind="moe", intermediate=width, experts=count, experts_per_token=ffn.experts_per_token)
                extra.append(Weight(path=f"{path}.gate.weight_1", part="router", shape=(count, found.hidden), shard="replicated", layer=layer.index))
                extra.append(
                    Weight(
                        path=f"{path}.moe_statics.e_score_correction_bias_1", part="router", shape=(count,), shard="replicated", linear=False, layer=layer.index
                    )
                )
                extra += experts(f"{path}.experts", layer.index, found.hidden, other, FfnNames())
    return replace(found, weights=found.weights + tuple(extra))


def _eyes(fields: Fields, files: ModelFiles, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    hidden, patch, merge = config.integer("hidden_size", "embed_dim"), config.integer("patch_size"), config.integer("spatial_merge_size")
    inner = config.opt_int("intermediate_size", minimum=1) or hidden * config.int_or(4, "transformers 5.24 Ernie4_5_VLMoeVisionConfig", "mlp_ratio", minimum=1)
    vit = towers.Vit(layers=config.integer("depth"), hidden=hidden, heads=config.integer("num_heads"), intermediate=inner)
    config.ignore("embed_dim", "in_channels", "in_chans", "attn_sep", "spatial_patch_size")
    path, side, temporal = "vision_model", "model.resampler_model", fields.opt_int("temporal_conv_size", minimum=1) or 2
    fields.ignore("spatial_conv_size", "pixel_hidden_size", "temporal_conv_size")
    wide = hidden * merge * merge
    weights = [
        *towers.dense(f"{path}.patch_embed.proj", hidden, 3 * patch * patch, bias=False),
        *towers.blocks(f"{path}.blocks", vit),
        *norm(f"{path}.ln", hidden, bias=True, part="vision"),
        *_resampler(f"{side}.spatial_linear", wide, wide),
        *_resampler(f"{side}.temporal_linear", wide * temporal, wide),
        *towers.dense(f"{side}.mlp", frame.hidden, wide),
        *norm(f"{side}.after_norm", frame.hidden, part="vision"),
    ]
    return (towers.tower(vit, towers.pixels(files, patch, merge)),), weights, ("image", "video")


def _resampler(path: str, into: int, out: int) -> list[Weight]:
    return [*towers.dense(f"{path}.0", out, into), *towers.dense(f"{path}.2", out, out), *norm(f"{path}.3", out, bias=True, part="vision")]
