"""Python packages of the installation do not fit each other."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX12",
    title=msg("Python packages of the installation do not fit each other"),
    why=msg("a module or symbol is missing"),
    fix=(msg("Reinstall the engine in a fresh environment, or use its image."),),
    effect="crash",
    speaks={
        "log:ignored_import": 0.8,
        "log:package_old": 5,
        "log:import_error": 3.5,
        "log:inspection_failed": 3,
    },
)
