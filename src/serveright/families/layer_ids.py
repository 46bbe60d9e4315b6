"""Lists of layer numbers (`gqa_layers`, `local_layer_ids`, …) that name layers the model has, or one InputError: a number beyond the last layer never changes a layer list silently."""

from collections.abc import Sequence

from serveright.errors import InputError
from serveright.families.fields import Fields
from serveright.types.text import msg


def layer_ids(f: Fields, key: str, count: int, *, first: int = 0) -> frozenset[int] | None:
    """The numbers under `key`, counted from 0 whatever the config counts from (`first`); None where absent. Raises InputError for a layer that is not there."""
    listed = f.ints(key)
    if listed is None:
        return None
    for number in listed:
        require_layer(f, key, number, count, first=first)
    return frozenset(number - first for number in listed)


def require_layer(f: Fields, key: str, number: int, count: int, *, first: int = 0) -> None:
    """Raises InputError where `number` is none of the model's `count` layers, the first of which is called `first`."""
    if first <= number < first + count:
        return
    raise InputError(
        msg(
            "{file}: {key} names layer {number}, but the layers run from {first} to {last}",
            file=f.file,
            key=f.at(key),
            number=number,
            first=first,
            last=first + count - 1,
        ),
        msg("The file may be trimmed or edited; take it from the model's own repository."),
    )


def own_or_earlier(f: Fields, key: str, listed: Sequence[int]) -> list[int | None]:
    """Whose rows each layer reads: an earlier layer's number, None for its own (-1 or the layer itself). Raises InputError for a later layer."""
    for i, source in enumerate(listed):
        if not -1 <= source <= i:
            raise InputError(
                msg(
                    "{file}: {key} lets layer {layer} read the rows of layer {source}, which are not there yet",
                    file=f.file,
                    key=f.at(key),
                    layer=i,
                    source=source,
                ),
                msg("The file may be trimmed or edited; take it from the model's own repository."),
            )
    return [source if 0 <= source < i else None for i, source in enumerate(listed)]
