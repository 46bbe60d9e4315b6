"""The limit of open files is too low."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX19",
    title=msg("the limit of open files is too low"),
    why=msg("every connection and shard holds a file; under load the limit of the shell or container is reached"),
    fix=(msg("Raise it: `ulimit -n 65535` before the start, or `--ulimit nofile=65535:65535` of the container."),),
    effect="crash",
    speaks={
        "log:fd_limit": 6,
    },
)
