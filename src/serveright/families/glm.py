"""GLM-4 dense, GLM-4.5 to 4.7 and their vision models on grouped-query attention."""

from functools import partial
from typing import cast

from msgspec.structs import replace

from serveright.families import next_towers, towers
from serveright.families.attention import Defaults
from serveright.families.blocks import norm
from serveright.families.decoder import Style, Towers, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, text_of
from serveright.families.predictors import Predictor, predict
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_DENSE = {"Glm4ForCausalLM", "GlmForCausalLM"}
_OCR = "GlmOcrForConditionalGeneration"
_VISION = {"Glm4vMoeForConditionalGeneration", "Glm4vForConditionalGeneration", _OCR}
ARCHITECTURES = frozenset(_DENSE | _VISION | {"Glm4MoeForCausalLM", "SolarOpenForCausalLM"})
_NORMS = ("input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm")
_MOE = Style(
    dialect="glm",
    defaults=Defaults(source="transformers 5.24 Glm4MoeConfig"),
    names=FfnNames(router_bias="gate.e_score_correction_bias"),
)
_FUSED = Style(
    dialect="glm", defaults=Defaults(source="transformers 5.24 Glm4Config", kv_heads=2, head_dim=128), norms=_NORMS, names=FfnNames(dense_fused="gate_up_proj")
)


def _style(text: Fields, name: str) -> Style:
    base = _FUSED if name in _DENSE or name in ("Glm4vForConditionalGeneration", _OCR) else _MOE
    if name == _OCR:
        base = replace(base, defaults=Defaults(source="transformers 5.24 GlmOcrTextConfig"))
    if name == "Glm4vForConditionalGeneration":
        base = replace(base, defaults=Defaults(source="transformers 5.24 Glm4vTextConfig", kv_heads=2))
    if name == "GlmForCausalLM":
        base = replace(base, norms=_NORMS[:2])
    bias = text.flag("attention_bias", default=name == "Glm4vForConditionalGeneration")
    if name == "SolarOpenForCausalLM":
        base = replace(base, defaults=Defaults(source="transformers 5.24 SolarOpenConfig", head_dim=128), names=FfnNames())
    return replace(base, qkv_bias=bias, qk_norm="head" if text.flag("use_qk_norm") else "none")


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    text = text_of(fields)
    style = _style(text, name)
    return build(fields, files, style, towers=partial(_eyes, fields, files) if name in _VISION else None, mtp=partial(_mtp, files, style))


def _mtp(files: ModelFiles, style: Style, frame: Frame, layers: list[Block]) -> list[Block]:
    """Most of these checkpoints store table and head once more beside the prediction layer (GLM-4.5, 4.7), some do not (4.6); only the index of the files tells."""
    listed = files.safetensors_index.get("weight_map")
    names = cast("dict[str, object]", listed) if isinstance(listed, dict) else {}
    copies = not names or f"{frame.root}layers.{len(layers)}.embed_tokens.weight" in names
    made = predict(frame, style, layers, Predictor(copies=copies))
    if made and not names:
        size = 2 * frame.vocab * frame.hidden
        frame.text.unknown(
            "num_nextn_predict_layers", msg("table and head are taken as stored once more ({count} elements); model.safetensors.index.json tells", count=size)
        )
    return made


def _eyes(fields: Fields, files: ModelFiles, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    ocr = files.config["architectures"][0] == _OCR
    eye, weights = (next_towers.glm5_next if ocr else vision)(config, files, "model.visual")
    return (eye,), weights, ("image", "video")


def vision(config: Fields, files: ModelFiles, path: str) -> towers.Read:
    """GLM-4V's encoder: RMS norms, gated MLPs as wide as the text model, a convolution that merges patches, a gated merger."""
    hidden, patch, merge = config.integer("hidden_size"), config.integer("patch_size"), config.integer("spatial_merge_size")
    out, inner = config.integer("out_hidden_size"), config.integer("intermediate_size")
    vit = towers.Vit(
        layers=config.integer("depth"),
        hidden=hidden,
        heads=config.integer("num_heads"),
        intermediate=out,
        mlp=("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
        norm_bias=False,
        qkv_bias=config.flag("attention_bias"),
        out_bias=False,
        mlp_bias=False,
    )
    config.ignore("in_channels", "in_chans")
    weights = [
        *towers.dense(f"{path}.patch_embed.proj", hidden, 3 * config.integer("temporal_patch_size") * patch * patch),
        towers.table(f"{path}.embeddings.position_embedding", (config.integer("image_size") // patch) ** 2, hidden),
        *norm(f"{path}.post_conv_layernorm", hidden, part="vision"),
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
