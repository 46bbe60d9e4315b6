"""--quantization forces a slow kernel on a quantised checkpoint."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="OVR01",
    title=msg("--quantization forces a slow kernel on a quantised checkpoint"),
    why=msg("left alone, the engine converts to its fast kernel"),
    fix=(msg("Remove --quantization."),),
    effect="slow",
    speaks={
        "log:awq_slow": 5,
        "symptom:slow": 0.4,
        "symptom:quantised": 0.3,
    },
    against={
        "command:no_quantization": 2.5,
    },
)
