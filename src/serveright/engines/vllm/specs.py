"""One layer's cache as vLLM describes it: rows per page, bytes per page, and the pages one request may hold.

Knows pages and tokens only: no models, GPUs or versions. Follows `v1/kv_cache_interface.py` of the engine.
"""

from math import gcd
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

SpecKind = Literal["full", "latent", "window", "window_latent", "chunked", "state", "ring"]
GROWING: frozenset[SpecKind] = frozenset({"full", "latent"})


class Demand(Struct, frozen=True, kw_only=True):
    """What a request's size hangs on besides its own length (tokens)."""

    in_flight_tokens: int
    dcp: int = 1
    aligned_states: bool = False


class Spec(Struct, frozen=True, kw_only=True):
    """`content` bytes in each of `heads` slots of a stored row, a row per `tokens_per_row` tokens, `block` tokens per page.

    `identity` keeps apart what the engine keeps apart although the bytes agree (head sizes, dtype, cache role).
    `page_alignment` pads a page, `padded` fixes its size; `stride` is (rows of kernel block) or bytes between blocks of packed layouts.
    """

    kind: SpecKind
    role: str
    block: int
    heads: int
    content: int
    tokens_per_row: int = 1
    padded: int = 0
    page_alignment: int = 0
    stride_bytes: int = 0
    stride_tokens: int = 0
    window: int = 0
    extra_retained: int = 0
    chunk: int = 0
    sharded: bool = True
    """Decode context parallelism deals its tokens out to ranks."""
    replicated: bool = False
    """Every tensor-parallel rank holds the whole state."""
    spare_states: int = 0
    checkpoints: int = 0
    checkpoint_grid: int = 0
    identity: tuple[int | str | bool, ...] = ()

    @property
    def row_bytes(self) -> int:
        """One stored row over all its heads."""
        return self.heads * self.content

    @property
    def unpadded_page(self) -> int:
        """Bytes of one page without padding."""
        return self.row_bytes if self.kind == "state" else self.row_bytes * (self.block // self.tokens_per_row)

    @property
    def page(self) -> int:
        """Bytes of one page as allocated."""
        if self.padded:
            return self.padded
        return round_up(self.unpadded_page, self.page_alignment) if self.page_alignment else self.unpadded_page

    @property
    def bytes_per_token(self) -> float:
        """Unpadded growth per token; 0 for states and rings, which do not grow."""
        return 0 if self.kind in ("state", "ring") else self.unpadded_page / self.block

    @property
    def stride_alignment(self) -> int:
        """Bytes the distance of two blocks must be a multiple of."""
        if self.stride_bytes or not self.stride_tokens:
            return self.stride_bytes or 1
        kernel = gcd(self.stride_tokens, self.block)
        return 1 if kernel == self.block else replace(self, block=kernel).page or 1

    def grown(self, block: int) -> "Spec":
        """The same layer with another block."""
        return replace(self, block=block)

    def pages(self, tokens: int, demand: Demand) -> int:
        """Pages one request of `tokens` may hold at once, the engine's admission bound."""
        match self.kind:
            case "full" | "latent":
                share = -(-tokens // demand.dcp) if self.sharded else tokens
                return -(-share // self.block)
            case "window" | "window_latent":
                held = min(self.window - 1 + self.extra_retained + demand.in_flight_tokens, tokens)
                return -(-held // self.block) + 1
            case "chunked":
                return -(-min(self.chunk + demand.in_flight_tokens, tokens) // self.block)
            case "state":
                return (2 + self.spare_states + self.checkpoints) if demand.aligned_states else 1 + self.spare_states
            case "ring":
                return 1


class LayerSpec(Struct, frozen=True, kw_only=True):
    """A spec with the layer that owns it. `draft`: a speculative module's; `index` counts over the whole model, draft layers after the others."""

    index: int
    spec: Spec
    draft: bool = False


class Group(Struct, frozen=True, kw_only=True):
    """Layers behind one block table. `wrapped`: of one type but unequal pages (the engine's uniform-type group)."""

    layers: tuple[LayerSpec, ...]
    wrapped: bool = False

    @property
    def first(self) -> Spec:
        """The spec that stands for the group."""
        return self.layers[0].spec

    @property
    def block(self) -> int:
        """Tokens of one block."""
        return self.first.block

    @property
    def page_sum(self) -> int:
        """Bytes of one block over all its layers."""
        return sum(layer.spec.page for layer in self.layers)

    def pages(self, tokens: int, demand: Demand) -> int:
        """Blocks one request of `tokens` may hold in this group."""
        return max(layer.spec.pages(tokens, demand) for layer in self.layers)


def round_up(value: int, step: int) -> int:
    """The next multiple of `step`."""
    return -(-value // step) * step
