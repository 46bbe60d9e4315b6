"""The way in: files of a model -> ModelShape, by the one dialect that claims its architecture.

A dialect is a module of this package with `ARCHITECTURES: frozenset[str]` (class names as in `architectures`) and
`shape(fields: Fields, files: ModelFiles) -> ModelShape`. An architecture nobody claims is read by its fields (`unclaimed`) and reported as unknown by name.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import cast

import msgspec

from serveright import families
from serveright.errors import InputError
from serveright.families.fields import Fields
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

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


def architecture(files: ModelFiles) -> str:
    """The first entry of `architectures`; raises InputError when it is no list of texts."""
    names: object = files.config.get("architectures")
    if names is None:
        return ""
    listed = cast("list[object]", names) if isinstance(names, list) else [names]
    first = listed[0] if listed and isinstance(names, list) else None
    if not isinstance(first, str):
        raise InputError(msg("{origin}: architectures is {value}, not a list of class names", origin=files.origin, value=repr(listed)[:80]))
    return first


def read_model(files: ModelFiles) -> ModelShape:
    """`ModelShape` of a model's files. Raises InputError for missing or absurd fields, naming the JSON path."""
    fields = Fields(files.config)
    reader = claims().get(architecture(files))
    if reader is None:
        from serveright.families import unclaimed

        reader = unclaimed.shape
    shape = reader(fields, files)
    return msgspec.structs.replace(shape, evidence=tuple(fields.evidence), unknown=(*fields.unknowns, *fields.unread()))
