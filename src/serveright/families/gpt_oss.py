"""gpt-oss: alternating windows, attention sinks, biases everywhere, experts stored fused."""

from serveright.families.attention import Defaults
from serveright.families.decoder import Style, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

ARCHITECTURES = frozenset({"GptOssForCausalLM"})
STYLE = Style(
    dialect="gpt_oss",
    defaults=Defaults(source="transformers 5.24 GptOssConfig", window=128, kv_heads=8, head_dim=64),
    qkv_bias=True,
    out_bias=True,
    sinks=frozenset({"full", "sliding"}),
    names=FfnNames(router="router", router_linear_bias=True, fused=("gate_up_proj", "down_proj"), expert_bias=True),
    width_keys=("intermediate_size",),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    return build(fields, files, STYLE)
