"""The port is already taken."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX07",
    title=msg("the port is already taken"),
    why=msg("another server, often the former one, listens there"),
    fix=(msg("End it, or choose another --port."),),
    effect="crash",
    speaks={
        "symptom:port_in_use": 3,
        "log:port_taken": 6,
    },
)
