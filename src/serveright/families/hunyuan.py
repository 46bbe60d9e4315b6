"""Tencent's Hunyuan MoE (experts and one shared MLP in every layer) and Hy3 (a dense layer in front, a router bias, a prediction layer)."""

from functools import partial

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import Style, biased, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame
from serveright.families.predictors import Predictor, predict
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

ARCHITECTURES = frozenset({"HunYuanMoEV1ForCausalLM", "HunYuanDenseV1ForCausalLM", "HYV3ForCausalLM"})
_V1 = Style(
    dialect="hunyuan",
    defaults=Defaults(source="transformers 5.24 HunYuanMoEV1Config"),
    tied=True,
    qk_norm="head",
    qk_names=("query_layernorm", "key_layernorm"),
    names=FfnNames(router="gate.wg", shared="shared_mlp"),
)
_V3 = Style(
    dialect="hunyuan",
    defaults=Defaults(source="transformers 5.24 HYV3Config", head_dim=128),
    qk_norm="head",
    names=FfnNames(router="router.gate", shared="shared_mlp"),
)
_MTP = Predictor(norms=("enorm", "hnorm", "final_layernorm"))


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    if files.config["architectures"][0] != "HYV3ForCausalLM":
        style = biased(fields, _V1)
        fields.ignore("use_cla", "cla_share_factor", "use_mixed_mlp_moe", "num_media_embeds")
        return build(fields, files, style if fields.flag("use_qk_norm", default=True) else replace(style, qk_norm="none"))
    bias = fields.flag("moe_router_enable_expert_bias", default=True)
    fields.ignore("expert_hidden_dim")
    style = biased(
        fields,
        replace(_V3, names=replace(_V3.names, router_bias="expert_bias" if bias else None), qk_norm="head" if fields.flag("qk_norm", default=True) else "none"),
    )
    return build(fields, files, style, mtp=partial(_predict, style))


def _predict(style: Style, frame: Frame, layers: list[Block]) -> list[Block]:
    return predict(frame, style, layers, _MTP)
