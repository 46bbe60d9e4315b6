"""A disaggregated decode worker runs out for one request."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM15",
    title=msg("a disaggregated decode worker runs out for one request"),
    why=msg("it reserves a fixed number of new tokens per incoming request"),
    fix=(msg("Lower the context length or the requests in flight; upgrade."),),
    effect="crash",
    speaks={
        "log:decode_one_request": 6,
        "log:decode_oom": 4.5,
        "symptom:pd": 1.5,
        "symptom:long_prompt_crash": 0.6,
    },
    needs=(
        "log:decode_one_request",
        "symptom:pd",
    ),
    engine="sglang",
)
