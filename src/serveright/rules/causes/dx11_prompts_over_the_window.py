"""Requests are longer than the window."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX11",
    title=msg("requests are longer than the window"),
    why=msg("prompt plus answer exceeds max_model_len: refused, or cut in mid-call so that parsing fails"),
    fix=(msg("Let the client compact earlier (leave 8 to 16 thousand tokens), or raise --max-model-len."),),
    effect="wrong_output",
    speaks={
        "symptom:over_window": 2.8,
        "log:prompt_too_long": 4,
        "log:input_too_long": 4,
        "symptom:fails_near_limit": 3,
        "probe:near_limit_refused": 1,
    },
    against={
        "derived:pool_below_window": 4,
    },
)
