"""Qwen2 and Qwen3, dense and MoE, and Mellum: QKV biases in the former, a norm per head on q and k in the latter."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import Style, build, headless
from serveright.families.ffn import EXPERTS, FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import text_of
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

_QWEN2 = {"Qwen2ForCausalLM", "Qwen2MoeForCausalLM"}
_QWEN3 = {"Qwen3ForCausalLM", "Qwen3MoeForCausalLM", "MellumForCausalLM"}
_BARE = {"Qwen2Model", "Qwen3Model"}
"""Embedding models: no head, no `model.` in front of the paths."""
ARCHITECTURES = frozenset(_QWEN2 | _QWEN3 | _BARE)
SHARED = FfnNames(shared="shared_expert", shared_gate="shared_expert_gate")
_DEFAULTS = Defaults(source="transformers 5.24 Qwen3Config", head_dim=128)
_MOE_DEFAULTS = Defaults(source="transformers 5.24 Qwen3MoeConfig")


def qwen3(text: Fields) -> Style:
    """Qwen3's layout; `attention_bias` is off in every published one."""
    bias = text.flag("attention_bias")
    defaults = _MOE_DEFAULTS if text.opt_int(*EXPERTS) else _DEFAULTS
    return Style(dialect="qwen", defaults=defaults, qk_norm="head", qkv_bias=bias, out_bias=bias)


def qwen2(text: Fields) -> Style:
    """Qwen2's layout: biases on q, k and v."""
    return Style(dialect="qwen", defaults=Defaults(source="transformers 5.24 Qwen2Config"), qkv_bias=text.flag("qkv_bias", default=True), names=SHARED)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    name = files.config["architectures"][0]
    layout = qwen2(text) if name in _QWEN2 or name == "Qwen2Model" else qwen3(text)
    if name in _BARE:
        return headless(build(fields, files, replace(layout, root="")))
    return build(fields, files, layout)
