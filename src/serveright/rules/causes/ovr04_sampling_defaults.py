"""The checkpoint's generation_config sets the sampling."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="OVR04",
    title=msg("the checkpoint's generation_config sets the sampling"),
    why=msg("its defaults apply wherever the client leaves a field out"),
    fix=(msg("Start with --generation-config vllm, or send explicit values."),),
    effect="wrong_output",
    speaks={
        "log:sampling_overridden": 0.8,
        "symptom:temperature_ignored": 3.5,
        "symptom:sampling_defaults": 3,
    },
)
