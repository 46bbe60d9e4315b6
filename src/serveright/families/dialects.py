"""Which module of this package reads an architecture.

A dialect is a module with `ARCHITECTURES: frozenset[str]` (class names as in `architectures`) and `shape(fields: Fields, files: ModelFiles) -> ModelShape`.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from serveright import families
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles

Reader = Callable[[Fields, ModelFiles], ModelShape]


@cache
def claims() -> dict[str, Reader]:
    """Architecture -> reader, from every module of the package. Two modules claiming one name is our bug (ValueError)."""
    found: dict[str, Reader] = {}
    for info in pkgutil.iter_modules(families.__path__):
        module = importlib.import_module(f"{families.__name__}.{info.name}")
        for name in vars(module).get("ARCHITECTURES", ()):
            if name in found:
                raise ValueError(f"{name} is claimed twice, the second time by {info.name}")
            found[name] = module.shape
    return found


@cache
def reader_of(name: str) -> Reader | None:
    """The reader that claims an architecture; imports only the modules that mention its name, which is what keeps start-up short."""
    for info in pkgutil.iter_modules(families.__path__):
        source = pkgutil.get_data(families.__name__, f"{info.name}.py")
        if source is not None and f'"{name}"'.encode() in source:
            module = importlib.import_module(f"{families.__name__}.{info.name}")
            if name in vars(module).get("ARCHITECTURES", ()):
                return module.shape
    return None
