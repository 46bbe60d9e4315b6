"""Float16 overflows on this model."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="OVR02",
    title=msg("float16 overflows on this model"),
    why=msg("its activations need the range of bfloat16: NaN, or rows of one character"),
    fix=(msg("Use --dtype bfloat16 or auto."),),
    effect="wrong_output",
    speaks={
        "log:float16_unfit": 5.5,
        "symptom:garbage": 1.5,
        "symptom:nan": 1.5,
        "metrics:corrupted": 3,
    },
    against={
        "command:dtype_auto": 2.5,
    },
)
