"""Function tracing is left on."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="STA01",
    title=msg("function tracing is left on"),
    why=msg("it makes the start unboundedly slow, and the start-up probe ends the pod"),
    fix=(msg("Unset VLLM_TRACE_FUNCTION and raise the probe's limit."),),
    effect="crash",
    speaks={
        "log:terminated": 2,
        "symptom:restarts": 1.8,
        "log:tracing_on": 4,
    },
    against={
        "command:no_tracing": 2,
    },
)
