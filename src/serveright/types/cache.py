"""The logical cache of one sequence: what a model must remember, before any engine pages, pads, shards or replicates it."""

from typing import Literal

from msgspec import Struct

from serveright.types.derivation import Derivation

CacheKind = Literal["kv", "latent", "index_key", "compressed", "window", "state"]


class StateDefaults(Struct, frozen=True, kw_only=True):
    """Which number type an engine gives a recurrent state when the config is silent. Kinds not listed use the model's own.

    `source` names the engine, version and class, and stands in the derivation.
    """

    source: str
    by_kind: dict[str, str] = {}
    by_architecture: dict[str, str] = {}
    """Architectures (class names) the engine treats apart, before kinds."""


class CachePart(Struct, frozen=True, kw_only=True):
    """All layers that keep the same kind of rows of the same width.

    `bytes` at the asked length, `bytes_per_token` what one more token adds in the long run (0 for windows and states, fractional where rows are pooled),
    `fixed_bytes` what does not grow once windows are full.
    """

    kind: CacheKind
    mixer: str
    """The mixer's kind as in `attention[].kind`."""
    layers: int
    dtype: str
    bytes: int
    bytes_per_token: float
    fixed_bytes: int


class LogicalCache(Struct, frozen=True, kw_only=True):
    """One sequence of `context_tokens`, whole model: attention rows and index keys at `kv_dtype`, windows filled, states at their own types.

    Prediction layers, compressor state and tokens in flight are not in it.
    """

    context_tokens: int
    kv_dtype: str
    parts: tuple[CachePart, ...]
    bytes: int
    bytes_per_token: float
    fixed_bytes: int
    state_bytes: int
    """The recurrent part of `fixed_bytes`."""
    unknown_layers: int = 0
    """Layers whose mixer nobody knows: their share is missing."""
    derivation: tuple[Derivation, ...] = ()
