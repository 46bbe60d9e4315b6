"""The health check gives up while long work is running."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX26",
    title=msg("the health check gives up while long work is running"),
    why=msg("while long prompts are computed nothing is sent for longer than the check waits; the server is busy, not dead"),
    fix=(msg("Wait longer (SGLang: SGLANG_HEALTH_CHECK_TIMEOUT; probes of Kubernetes: timeoutSeconds, failureThreshold), or use smaller prefill chunks."),),
    effect="crash",
    speaks={
        "log:health_check": 5.5,
        "log:live_probe": 3,
        "symptom:health_check": 2.5,
    },
)
