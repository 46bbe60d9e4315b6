"""Data-parallel attention is only half configured."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR14",
    title=msg("data-parallel attention is only half configured"),
    why=msg("one of the two flags is missing, so the ranks become copies or tensor shards"),
    fix=(msg("Give both --dp-size and --enable-dp-attention."),),
    effect="capacity",
    speaks={
        "symptom:kv_fills": 0.3,
        "symptom:half_the_users": 0.5,
    },
    engine="sglang",
)
