"""The host or container ran out of main memory."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX05",
    title=msg("the host or container ran out of main memory"),
    why=msg("the kernel ended the process; nothing is wrong with the GPU"),
    fix=(msg("Raise the container's memory limit; swap space and host KV tiers count too."),),
    effect="crash",
    speaks={
        "log:killed": 6,
        "symptom:oom_killed": 3,
        "symptom:host_freezes": 2.2,
    },
)
