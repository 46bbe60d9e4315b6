"""Laguna: query heads per layer (more in window layers), a gate per head or per channel, one shared expert."""

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import Style, biased, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"LagunaForCausalLM"})
_STYLE = Style(
    dialect="laguna",
    defaults=Defaults(source="transformers 5.24 LagunaConfig", window=512),
    qk_norm="head",
    names=FfnNames(shared="shared_expert", router_bias="experts.e_score_correction_bias"),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    word = fields.raw.get("gating", True)
    gate = "none" if word in (False, None, "none") else "full" if word == "per-channel" else "head"
    fields.note("gating", msg("attention outputs are gated: {kind}", kind=gate), word)
    return build(fields, files, replace(biased(fields, _STYLE), gate=gate))
