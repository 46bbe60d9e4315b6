"""Bytes of weights by part, and how each part shards: step 2's engine-free half."""

from typing import Literal

from msgspec import Struct

from serveright.types.model import Part, Shard
from serveright.types.text import Msg


class WeightGroup(Struct, frozen=True, kw_only=True):
    """Equal treatment under any layout: one part, one shard rule, one number format. Elements and stored bytes (scales included) of the whole model.

    `units`: whole things that cannot be cut, by shard rule: heads, experts, rows of the vocabulary.
    """

    part: Part
    shard: Shard
    units: int | None
    format: str
    elements: int
    bytes: int
    mtp: bool = False
    layer_bytes: tuple[int, ...] = ()
    """`bytes` by layer in order, for pipeline stages; () for what stands outside the layers."""


class WeightNeed(Struct, frozen=True, kw_only=True):
    """All weights. `active_elements` excludes what `active_excludes` names."""

    groups: tuple[WeightGroup, ...]
    total_elements: int
    active_elements: int
    active_excludes: tuple[str, ...]
    total_bytes: int
    from_index: bool = False
    """Total taken from the checkpoint's index instead of computed."""


class Indivisible(Struct, frozen=True, kw_only=True):
    """Something a layout would have to cut unevenly. `fatal`: engines refuse to start; otherwise they pad, replicate or fall back."""

    what: Literal["query_heads", "kv_heads", "state_heads", "state_groups", "channels", "intermediate", "experts", "block"]
    part: Part
    size: int
    ranks: int
    fatal: bool
    text: Msg
