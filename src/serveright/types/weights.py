"""Bytes of weights by part, and how each part shards: step 2's engine-free half."""

from msgspec import Struct

from serveright.types.model import Part, Shard


class WeightGroup(Struct, frozen=True, kw_only=True):
    """Equal treatment under any layout: one part, one shard rule, one number format. Elements and stored bytes (scales included) of the whole model."""

    part: Part
    shard: Shard
    units: int | None
    format: str
    elements: int
    bytes: int
    mtp: bool = False


class WeightNeed(Struct, frozen=True, kw_only=True):
    """All weights. `active_elements` excludes what `active_excludes` names."""

    groups: tuple[WeightGroup, ...]
    total_elements: int
    active_elements: int
    active_excludes: tuple[str, ...]
    total_bytes: int
    from_index: bool = False
    """Total taken from the checkpoint's index instead of computed."""
