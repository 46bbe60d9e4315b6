"""More sequences are allowed than recurrent states fit."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM01",
    title=msg("more sequences are allowed than recurrent states fit"),
    why=msg("every running sequence of a hybrid model needs a state block of its own; older releases fail in graph capture with a kernel-image error instead"),
    fix=(msg("Set --max-num-seqs to the number in the message or below."),),
    effect="crash",
    speaks={
        "log:state_blocks_exceeded": 7,
        "log:image_invalid": 3,
        "symptom:hybrid": 0.4,
    },
)
