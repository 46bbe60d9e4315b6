"""The KV pool holds fewer requests than there are slots."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM13",
    title=msg("the KV pool holds fewer requests than there are slots"),
    why=msg("max_num_seqs is a ceiling, not a reservation: each request is charged by its length, and some layouts charge a fixed part too"),
    fix=(msg("Lower --max-model-len to the need, store KV in fp8, or give the model more GPUs."),),
    effect="capacity",
    speaks={
        "derived:pool_below_window": 3,
        "metrics:waiting_capacity": 3,
        "log:waiting_capacity": 5,
        "metrics:kv_full": 2,
        "log:kv_full": 1.5,
        "symptom:queueing": 0.7,
        "symptom:kv_fills": 1.2,
        "symptom:half_the_users": 0.8,
        "log:v4_block": 1.2,
        "derived:pool_small": 1.5,
    },
    against={
        "metrics:waiting_kv_low": 3,
        "audit:PAR05": 3.5,
        "audit:MEM14": 2.5,
        "audit:MEM09": 2,
    },
)
