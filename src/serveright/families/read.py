"""The way in: files of a model -> ModelShape, by the one dialect that claims its architecture.

An architecture nobody claims is read by its fields (`unclaimed`) and reported as unknown by name.
"""

from typing import cast

import msgspec

from serveright.errors import InputError
from serveright.families.dialects import reader_of
from serveright.families.fields import Fields
from serveright.families.possible import check
from serveright.types.model import ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg


def architecture(files: ModelFiles) -> str:
    """The first entry of `architectures`; raises InputError when it is no list of texts."""
    names: object = files.config.get("architectures")
    if names is None:
        return ""
    first = cast("list[object]", names)[0] if isinstance(names, list) and names else None
    if not isinstance(first, str):
        raise InputError(msg("{origin}: architectures is {value}, not a list of class names", origin=files.origin, value=repr(cast("object", names))[:80]))
    return first


def read_model(files: ModelFiles) -> ModelShape:
    """`ModelShape` of a model's files. Raises InputError for missing or absurd fields, naming the JSON path."""
    fields = Fields(files.config, file=files.origin)
    name = architecture(files)
    reader = reader_of(name) if name else None
    if reader is None:
        from serveright.families import unclaimed  # with all its helpers: not needed by most models

        reader = unclaimed.shape
    shape = reader(fields, files)
    check(shape, fields)
    shape = _stored(shape, files)
    return msgspec.structs.replace(shape, evidence=tuple(fields.evidence), unknown=(*fields.unknowns, *fields.unread()))


def _stored(shape: ModelShape, files: ModelFiles) -> ModelShape:
    """Without the output head where the files' own index holds none (embedding models saved without it)."""
    listed = files.safetensors_index.get("weight_map")
    names = cast("dict[str, object]", listed) if isinstance(listed, dict) else {}
    head = next((weight for weight in shape.weights if weight.part == "head" and weight.linear), None)
    if not names or head is None or any(name.rsplit(".", 1)[0] == head.path or "lm_head" in name for name in names):
        return shape
    return msgspec.structs.replace(shape, weights=tuple(weight for weight in shape.weights if weight.part != "head"))
