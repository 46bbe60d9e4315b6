"""Sliding-window layers are charged at full length."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM14",
    title=msg("sliding-window layers are charged at full length"),
    why=msg("without the hybrid KV manager every window layer keeps the whole context"),
    fix=(msg("Remove --disable-hybrid-kv-cache-manager and whatever forces it."),),
    effect="capacity",
    speaks={
        "log:groups_off": 4.5,
        "metrics:waiting_capacity": 1,
        "metrics:kv_full": 0.7,
        "symptom:swa": 2,
        "symptom:kv_fills": 0.8,
        "symptom:half_the_users": 0.4,
    },
    against={
        "log:groups_needed": 3,
        "log:groups_off_connector": 2,
        "command:no_windows": 4,
    },
    audited=True,
    engine="vllm",
)
