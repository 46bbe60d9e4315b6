"""StepFun's Step 3.5 and 3.7: window layers with more query heads than full ones, a gate per head, experts beside one shared expert, prediction layers."""

from functools import partial

from msgspec.structs import replace

from serveright.families import next_towers
from serveright.families.attention import Defaults
from serveright.families.decoder import Style, Towers, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, text_of
from serveright.families.predictors import Predictor, predict
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"Step3p5ForCausalLM", "Step3p7FlashForCausalLM", "Step3p7ForConditionalGeneration"})
_STYLE = Style(
    dialect="step",
    defaults=Defaults(source="vLLM 0.33.0 Step3p5ForCausalLM"),
    nested_root="model.",
    qk_norm="head",
    gate="head",
    names=FfnNames(block="moe", dense_block="mlp", shared="share_expert", outer_shared=True, router_bias="router_bias"),
)
_MTP = Predictor(path="{root}layers.{n}", norms=("enorm", "hnorm", "shared_head.norm"), mixer="sliding", ffn="dense", head=True)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    style = replace(_STYLE, gate="head" if text.flag("use_head_wise_attn_gate", default=True) else "none", qkv_bias=text.flag("attention_bias"))
    if not text.flag("use_moe_router_bias", default=True):
        style = replace(style, names=replace(style.names, router_bias=None))
    if not text.has("attention_other_setting") and not text.has("num_sliding_attention_heads"):
        text.unknown(
            "attention_other_setting",
            msg("window layers of this class usually have head counts of their own; this config names one count, taken for all layers"),
        )
    return build(fields, files, style, towers=partial(_eyes, fields), mtp=partial(_predict, style))


def _eyes(fields: Fields, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images in"), "…")
    eye, weights = next_towers.step(config, "model.vision_model", "model.multi_modal_projector", frame.hidden, bias=fields.flag("projector_bias"))
    return (eye,), weights, ("image",)


def _predict(style: Style, frame: Frame, layers: list[Block]) -> list[Block]:
    return predict(frame, style, layers, _MTP)
