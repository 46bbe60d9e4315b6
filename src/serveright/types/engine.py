"""What an engine makes of a model on a GPU: its choices, its cache layout, its memory and what that holds. All per GPU unless said."""

from typing import Literal

from msgspec import Struct

from serveright.types.derivation import Derivation
from serveright.types.engine_table import EngineName
from serveright.types.text import Msg

Layout = Literal["kv", "latent", "index_key", "compressed", "compressor_state", "window", "state"]


class Parallel(Struct, frozen=True, kw_only=True):
    """CONTRACT.md: `tp` attention shards of one data-parallel rank, `dp` attention ranks of one deployment; GPUs of one deployment = tp x pp x dp.

    `ep` is the size of the expert-parallel group (1 = experts are split like other tensors; else tp x dp).
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    dcp: int = 1
    replicas: int = 1

    @property
    def gpus(self) -> int:
        """GPUs of one deployment."""
        return self.tp * self.pp * self.dp


class Settings(Struct, frozen=True, kw_only=True):
    """What a user can set on either engine, in engine-free words; None means left to the engine."""

    parallel: Parallel = Parallel()
    context_tokens: int | None = None
    kv_dtype: str | None = None
    mem_fraction: float | None = None
    max_num_seqs: int | None = None
    token_budget: int | None = None
    """vLLM max_num_batched_tokens, SGLang chunked_prefill_size."""
    block_tokens: int | None = None
    prefix_caching: bool | None = None
    attention_backend: str | None = None
    moe_backend: str | None = None
    all2all_backend: str | None = None
    speculative_method: str | None = None
    speculative_tokens: int = 0
    eager: bool = False
    max_graph_batch: int | None = None
    async_scheduling: bool | None = None
    language_only: bool = False
    state_dtype: str | None = None
    extra: dict[str, str] = {}
    """Engine-specific flags that change memory and have no common word (`swa-full-tokens-ratio`, `mamba-full-memory-ratio`, ...)."""


class Refusal(Struct, frozen=True, kw_only=True):
    """The engine will not start: `text` is the engine's own message (or its stable beginning), `source` where that stands."""

    code: str
    text: str
    why: Msg
    source: str = ""
    starts: bool = False
    """The engine starts all the same and turns the one request away."""


class Resolved(Struct, frozen=True, kw_only=True):
    """Automatic choices after the engine saw model, GPU, version and settings."""

    engine: EngineName
    version: str
    attention_prefill: str
    attention_decode: str
    indexer: str | None = None
    moe: str | None = None
    kv_dtype: str
    """The stored precision in plain words: bf16, fp16, fp8_e4m3, fp8_e5m2, fp8_ds_mla, nvfp4, ..."""
    kv_itemsize: float
    block_tokens: int
    mem_fraction: float
    token_budget: int
    max_num_seqs: int
    in_flight_tokens: int = 0
    max_graph_batch: int = 0
    prefix_caching: bool = True
    state_mode: str | None = None
    """vLLM mamba_cache_mode, SGLang radix strategy."""
    state_dtype: str | None = None
    refusals: tuple[Refusal, ...] = ()
    choices: tuple[Msg, ...] = ()
    """Every choice in a sentence, in the order the engine makes them."""
    extra: dict[str, str | int | float | bool] = {}


class CacheGroup(Struct, frozen=True, kw_only=True):
    """Layers that share a block table. `bytes_per_block` is one block of all its layers; `bytes_per_token` unpadded growth of all its layers (0 for states and windows)."""

    kind: Layout
    layers: int
    block_tokens: int
    bytes_per_block: int
    bytes_per_token: float = 0
    window_tokens: int | None = None
    state_bytes: int = 0
    """One unpadded copy of the state of all its layers."""


class EngineLayout(Struct, frozen=True, kw_only=True):
    """How the cache lies in memory."""

    name: Msg
    """`bf16 rows`, `656-byte fp8_ds_mla rows`, ...: three defensible figures exist for one model, so the layout is always named."""
    block_tokens: int
    groups: tuple[CacheGroup, ...]
    stored_bytes_per_token: float
    padded_bytes_per_token: float
    pool_bytes_per_token: float
    pool_bytes_per_block: int
    fixed_bytes_per_sequence: int
    state_slots_per_request: int = 0
    state_bytes_per_slot: int = 0
    derivation: tuple[Derivation, ...] = ()


class MemorySplit(Struct, frozen=True, kw_only=True):
    """Where one GPU's memory goes, in bytes. `overhead_range` is the fitted spread of what profiling takes (activations, graphs, context)."""

    device_bytes: int
    budget_bytes: int
    weights_bytes: int
    overhead_bytes: int
    kv_pool_bytes: int
    overhead_range: tuple[int, int] | None = None
    overhead_parts: dict[str, int] = {}
    derivation: tuple[Derivation, ...] = ()

    @property
    def kv_pool_range(self) -> tuple[int, int] | None:
        """The cache's least and most bytes over `overhead_range`; None where the range is not known."""
        if self.overhead_range is None:
            return None
        low, high = (self.kv_pool_bytes + self.overhead_bytes - bound for bound in reversed(self.overhead_range))
        return (max(0, low), max(0, high))

    @property
    def excess_bytes(self) -> int:
        """What is missing before the cache gets its first byte; 0 where weights and overhead fit the budget."""
        return max(0, self.weights_bytes + self.overhead_bytes - self.budget_bytes)


class Capacity(Struct, frozen=True, kw_only=True):
    """What the pool holds. `tokens` and `max_concurrency` are totals over data-parallel ranks of one deployment; `per_rank_*` of one.

    `max_concurrency` counts requests of `context_tokens`; `limited_by` names what binds: memory | state_slots | max_num_seqs | does_not_fit.
    """

    context_tokens: int
    tokens: int
    max_concurrency: float
    per_rank_tokens: int
    per_rank_concurrency: float
    request_bytes: int
    """What one request of `context_tokens` is charged, blocks rounded up."""
    state_slots: int | None = None
    limited_by: str = "memory"
    log_line: str = ""
    derivation: tuple[Derivation, ...] = ()
    refusals: tuple[Refusal, ...] = ()


class Sized(Struct, frozen=True, kw_only=True):
    """The whole answer of step 2 for one engine."""

    resolved: Resolved
    settings: Settings
    layout: EngineLayout
    memory: MemorySplit
    capacity: Capacity

    @property
    def fits(self) -> bool:
        """One request of the asked length can be served and nothing refuses."""
        return not self.resolved.refusals and not self.capacity.refusals and self.capacity.per_rank_concurrency >= 1
