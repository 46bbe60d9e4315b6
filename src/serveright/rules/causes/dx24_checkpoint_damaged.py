"""A file of the checkpoint is missing, cut off or only a pointer."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX24",
    title=msg("a file of the checkpoint is missing, cut off or only a pointer"),
    why=msg("a broken download, or a clone without Git LFS"),
    fix=(msg("Download it again (hf download MODEL) and compare sizes; files of a few hundred bytes are Git LFS pointers."),),
    effect="crash",
    speaks={
        "log:checkpoint_damaged": 6,
    },
)
