"""Attention sinks need a backend that knows them."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="ARCH04",
    title=msg("attention sinks need a backend that knows them"),
    why=msg("a forced backend, or an old release on this GPU, has no sink support"),
    fix=(
        msg("Remove the override and let the engine choose."),
        msg("On an old release, upgrade."),
    ),
    effect="crash",
    speaks={
        "log:sinks_backend": 5,
        "log:sinks_mxfp4": 3,
        "log:no_kernel_image": 0.7,
    },
)
