"""A folder cannot be read or written."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX28",
    title=msg("a folder cannot be read or written"),
    why=msg("the cache or the model lies where the user of the container has no rights, or nothing is mounted there"),
    fix=(msg("Mount the folder, give the user rights on it, or point HF_HOME (--download-dir) to one that can be written."),),
    effect="crash",
    speaks={
        "log:no_permission": 5.5,
    },
)
