"""Ling and Ring 2.0 (BailingMoeV2): grouped-query attention with fused projections, a dense layer or more in front, one shared expert."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import Style, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

ARCHITECTURES = frozenset({"BailingMoeForCausalLM", "BailingMoeV2ForCausalLM"})
_STYLE = Style(
    dialect="ling2",
    defaults=Defaults(source="vLLM 0.33.0 BailingMoeV2ForCausalLM"),
    attn="attention",
    fused_qkv="query_key_value",
    out="dense",
    qk_names=("query_layernorm", "key_layernorm"),
    embed="word_embeddings",
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    both = fields.flag("use_bias")
    bias = both or fields.flag("use_qkv_bias")
    names = FfnNames(router_bias="gate.expert_bias" if fields.flag("moe_router_enable_expert_bias") else None, dense_bias=both)
    fields.ignore("norm_head", "use_rmsnorm", "router_dtype", "score_function", "norm_softmax", "max_window_layers", "moe_router_enable_shared_expert")
    style = replace(_STYLE, qkv_bias=bias, out_bias=both, names=names, qk_norm="head" if fields.flag("use_qk_norm") else "none")
    return build(fields, files, style)
