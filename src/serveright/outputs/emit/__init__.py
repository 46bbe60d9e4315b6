"""Deployments as files: one module a format, found by its name. Every module has TITLE, and `emit(deployment, say)` -> files.

Formats read `types.deployment` only; a format that cannot carry a design raises UsageError with the formats that can.
"""

import importlib
import pkgutil
from functools import cache

from serveright.errors import UnknownName
from serveright.outputs.language import render
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import Msg, msg


@cache
def formats() -> tuple[str, ...]:
    """Names of all formats, sorted: `shell`, `kubernetes`, `leaderworkerset-ray`, ..."""
    return tuple(sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__) if not info.ispkg))


def emit(format: str, deployment: Deployment, lang: str = "en") -> tuple[Emitted, ...]:
    """The files of one format, the main one first. Raises UnknownName, and UsageError where the format cannot carry this design."""
    if format not in formats():
        raise UnknownName(msg("emit format"), format, formats())
    module = importlib.import_module(f"{__name__}.{format.replace('-', '_')}")

    def say(prose: Msg) -> str:
        return render(prose, lang)

    return tuple(module.emit(deployment, say))


def text(files: tuple[Emitted, ...]) -> str:
    """All files as one text, for stdout: each further file behind a line that names it."""
    first, *rest = files
    return first.text + "".join(f"\n# ---- {file.name} ----\n{file.text}" for file in rest)
