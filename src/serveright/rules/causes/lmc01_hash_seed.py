"""PYTHONHASHSEED is not the same in every process."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="LMC01",
    title=msg("PYTHONHASHSEED is not the same in every process"),
    why=msg("keys of the shared cache are hashes, so every lookup misses"),
    fix=(msg("Set PYTHONHASHSEED=0 everywhere, the cache server too."),),
    effect="slow",
    speaks={
        "symptom:external_cache_misses": 3.4,
        "log:seed_unset": 6,
        "log:lmcache_no_hits": 4,
        "symptom:lmcache": 1,
        "symptom:prefix_not_hit": 0.4,
    },
    against={
        "command:no_connector": 2,
    },
)
