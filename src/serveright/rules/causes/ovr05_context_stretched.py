"""The context is stretched in the wrong place, or only by force."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="OVR05",
    title=msg("the context is stretched in the wrong place, or only by force"),
    why=msg("a rope override at the top level is dropped where the text model has a nest of its own"),
    fix=(msg("Put rope_parameters under text_config in --hf-overrides."),),
    effect="wrong_output",
    speaks={
        "log:length_above_config": 4.5,
        "symptom:yarn": 2.5,
    },
)
