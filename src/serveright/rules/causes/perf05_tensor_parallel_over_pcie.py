"""Tensor parallelism over PCIe."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PERF05",
    title=msg("tensor parallelism over PCIe"),
    why=msg("every layer waits for an all-reduce over a slow link; its peer-to-peer probe can hang"),
    fix=(msg("Use replicas or PP where the model fits; --disable-custom-all-reduce if the start hangs."),),
    effect="slow",
    speaks={
        "symptom:tp_slower": 3,
        "symptom:slow_decode": 0.5,
        "log:tp_pcie": 2,
        "symptom:slow": 0.3,
        "symptom:hang": 1,
    },
)
