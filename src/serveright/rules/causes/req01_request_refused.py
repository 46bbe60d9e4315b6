"""A request asks for something the server refuses."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="REQ01",
    title=msg("a request asks for something the server refuses"),
    why=msg("a parameter of the request is out of range or not enabled; the server itself is well"),
    fix=(msg("Change the request as the message says."),),
    effect="wrong_output",
    speaks={
        "log:refused_request": 3,
    },
    against={
        "derived:started": 1.2,
    },
)
