"""Since the upgrade CUDA-graph memory comes out of the same share."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM05",
    title=msg("since the upgrade CUDA-graph memory comes out of the same share"),
    why=msg("the same --gpu-memory-utilization leaves less KV cache"),
    fix=(msg("Raise --gpu-memory-utilization to the value the log prints."),),
    effect="capacity",
    speaks={
        "log:graph_share_hint": 2.5,
        "symptom:kv_shrank_after_upgrade": 3,
        "symptom:kv_fills": 0.3,
        "symptom:after_upgrade": 0.5,
    },
)
