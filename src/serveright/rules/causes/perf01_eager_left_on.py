"""Eager mode is on: every small kernel is launched by hand."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="PERF01",
    title=msg("eager mode is on: every small kernel is launched by hand"),
    why=msg("decode of small and MoE models is then bound by the CPU, three to ten times slower"),
    fix=(msg("Remove --enforce-eager (SGLang: --disable-cuda-graph)."),),
    effect="slow",
    speaks={
        "log:eager_on": 3,
        "symptom:slow_decode": 1.6,
        "symptom:slow": 0.9,
    },
    against={
        "command:graphs_on": 3.5,
    },
)
