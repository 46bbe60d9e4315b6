"""Expert traffic takes the wrong road."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PAR08",
    title=msg("expert traffic takes the wrong road"),
    why=msg("the all-to-all backend or the network transport does not fit this topology"),
    fix=(msg("One node: allgather_reducescatter. Several: DeepEP over RDMA; check that NCCL does not fall back to sockets."),),
    effect="slow",
    speaks={
        "log:router_dispatch": 6,
        "log:socket_network": 5,
        "symptom:ep_slower": 1.6,
        "symptom:multi_node_slow": 1.2,
    },
    next_check=msg("NCCL_DEBUG=INFO prints the transport: `Using network ...`."),
)
