"""Partial chunks of the external cache mix with the engine's own."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="LMC02",
    title=msg("partial chunks of the external cache mix with the engine's own"),
    why=msg("chunk and block boundaries differ, and a partial chunk overlaps cached tokens"),
    fix=(msg("Set save_unfull_chunk: false, and upgrade LMCache."),),
    effect="wrong_output",
    speaks={
        "symptom:wrong_on_warm_cache": 2.5,
        "symptom:lmcache": 0.8,
        "symptom:garbage": 0.4,
    },
    against={
        "command:no_connector": 2.5,
    },
)
