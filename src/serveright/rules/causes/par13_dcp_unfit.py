"""Decode context parallelism does not fit here."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR13",
    title=msg("decode context parallelism does not fit here"),
    why=msg("it asks for certain backends, head counts and layer kinds"),
    fix=(msg("Drop it, or meet its conditions (TP a multiple, one of its backends)."),),
    effect="crash",
    speaks={
        "log:dcp_refused": 5,
        "symptom:context_parallel": 2,
    },
)
