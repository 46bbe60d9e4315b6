"""The checkpoint runs code of its own."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX09",
    title=msg("the checkpoint runs code of its own"),
    why=msg("the engine asks for consent before it executes code from a repository"),
    fix=(msg("Read the code, pin a revision, then add --trust-remote-code; or use a release with the model built in."),),
    effect="crash",
    speaks={
        "log:remote_code": 5,
    },
)
