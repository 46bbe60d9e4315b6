"""The KV cache does not get from the prefill to the decode server."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PD01",
    title=msg("the KV cache does not get from the prefill to the decode server"),
    why=msg("transport, addresses or layout of the two sides do not fit"),
    fix=(
        msg(
            "Give both sides the same release, model, KV dtype and block size; name reachable RDMA devices (SGLang: --disaggregation-ib-device) or change the transport (--disaggregation-transfer-backend nixl)."
        ),
    ),
    effect="crash",
    speaks={
        "log:kv_transfer": 5.5,
        "log:refused_transfer": 4.5,
        "symptom:pd": 1.6,
    },
    next_check=msg("Look at the prefill server's log at the same second: the side that failed first names the transport's error."),
)
