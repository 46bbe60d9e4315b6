"""The engine refuses a setting, or two that contradict each other."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="CFG01",
    title=msg("the engine refuses a setting, or two that contradict each other"),
    why=msg("its own check says so; the message names what it minds"),
    fix=(msg("Change or leave out the setting the message names; `audit` shows what this release accepts."),),
    effect="crash",
    speaks={
        "log:server_args_check": 3,
        "log:template_path": 5.5,
        "log:runner_task": 5,
        "log:refused_settings": 4.5,
    },
)
