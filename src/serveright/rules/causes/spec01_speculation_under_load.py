"""Speculation costs more than it gains at this load."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="SPEC01",
    title=msg("speculation costs more than it gains at this load"),
    why=msg("with many running requests the GPU is busy anyway, and rejected drafts are wasted work"),
    fix=(msg("Turn it off, or draft fewer tokens; measure both."),),
    effect="slow",
    speaks={
        "symptom:slow_decode": 0.2,
        "symptom:speculation": 1,
        "symptom:slow": 0.6,
        "metrics:speculation_at_load": 3,
    },
    against={
        "command:no_speculation": 3,
    },
)
