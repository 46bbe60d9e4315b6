"""--mem-fraction-static points the wrong way."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM06",
    title=msg("--mem-fraction-static points the wrong way"),
    why=msg("failing at start means the share is too small for weights and cache; failing while serving means it is too large"),
    fix=(msg("Fails at start: raise it. Fails while serving: lower it, or shrink --chunked-prefill-size."),),
    effect="crash",
    speaks={
        "log:init_no_memory": 6,
        "log:prefill_oom": 3.5,
        "log:decode_oom": 3.5,
        "symptom:init_memory_advice": 1.5,
        "symptom:oom": 0.4,
    },
    engine="sglang",
)
