"""This release refuses fp8_e5m2 KV with quantised weights."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="KV03",
    title=msg("this release refuses fp8_e5m2 KV with quantised weights"),
    why=msg("the guard takes every quantised checkpoint for an FP8 one"),
    fix=(msg("Upgrade, or use --kv-cache-dtype auto."),),
    effect="crash",
    speaks={
        "log:e5m2_with_fp8": 7,
    },
    against={
        "command:kv_dtype_auto": 3,
    },
)
