"""SGLang's behaviour at one version, as data: what `facts/engines/sglang/behaviour.toml` and `facts/calibration/sglang_memory.toml` hold."""

from typing import Literal

from msgspec import Struct

Where = Literal["any", "sm80_up", "sm80", "sm86", "sm89", "sm90", "sm100", "sm110", "sm120", "blackwell", "hip", "never"]
When = Literal["", "dsa", "windows", "state", "state_paged", "block_sparse", "spec", "spec_tree", "nvfp4_experts", "kv_fp8_e4m3"]
Experts = Literal["", "nvfp4", "nvfp4_w4a16", "mxfp4", "int4_group32"]


class SglangAttention(Struct, frozen=True, kw_only=True):
    """What an architecture's override writes when the user left the attention backend alone; the first entry whose `when` holds wins.

    Maps go from a place (`Where`) to the value there. `forced` overwrites the user's backend too, `split` writes the prefill and decode flags; pages overwrite the user's unless `page_if_unset`.
    """

    architectures: tuple[str, ...]
    source: str
    backend: dict[Where, str] = {}
    page: dict[Where, int] = {}
    kv_dtype: dict[Where, str] = {}
    strategy: dict[Where, str] = {}
    when: When = ""
    forced: bool = False
    page_if_unset: bool = False
    split: bool = False
    decode_only: bool = False
    over_mib: int = 0
    capabilities: tuple[int, ...] = ()
    accepts: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()
    message: str = ""


class SglangMoe(Struct, frozen=True, kw_only=True):
    """Which MoE runner replaces `auto`; the first entry that holds wins. `declared_only`: reads --quantization, not the checkpoint."""

    architectures: tuple[str, ...]
    on: tuple[Where, ...]
    runner: str
    source: str
    quantization: tuple[str, ...] = ()
    experts: Experts = ""
    a2a_none: bool = False
    ep_one: bool = False
    declared_only: bool = False


class SglangTiers(Struct, frozen=True, kw_only=True):
    """Chunk, graph batch and memory share by device memory.

    `tiers`: below so many MiB, chunk tokens, largest decode graph under 4 GPUs, and from 4 on. `terms`: the reserve is a sum of terms;
    `flat`: a reserve by tier (`flat_mib`: below MiB, GiB, GiB per GPU); `share`: a share by tensor-parallel size.
    """

    rule: Literal["terms", "flat", "share"]
    source: str
    tiers: tuple[tuple[float, int, int, int], ...]
    flat_gib: tuple[tuple[float, float, float], ...] = ()
    shares: tuple[tuple[int, float], ...] = ()
    prefill_graph: bool = True
    prefill_graph_strict: bool = False
    """Prefill graphs go off with speculation, attention ranks, images or any all-to-all backend."""
    graphs_follow_running: bool = False
    """A default decode graph is no larger than the running requests asked for."""
    prefill_graph_each_mib: float = 0
    prefill_graph_mla_mib: float = 0
    prefill_graph_mla_tokens: int = 8192
    deepep_decode_mib: float = 0
    deepep_prefill_mib: float = 0
    speculative_mib: float = 0
    standalone_mib: float = 0
    attention_dp_mib: float = 0
    vision: bool = True


class SglangDefaults(Struct, frozen=True, kw_only=True):
    """Numbers an architecture's override fills in when the user did not."""

    architectures: tuple[str, ...]
    source: str
    swa_full_tokens_ratio: float | None = None
    mamba_full_memory_ratio: float | None = None
    max_running_requests: int | None = None


class SglangConstants(Struct, frozen=True, kw_only=True):
    """Numbers without a name of a model in them."""

    source: str
    swa_full_tokens_ratio: float
    mamba_full_memory_ratio: float
    window_eviction_tokens: int
    vision_cache_mib: int
    vision_transport_mib: int
    compress_state_bytes: int
    state_slots: dict[str, int]
    speculative_max_running: int
    index_keys: Literal["owners", "all"]
    state_strategy_auto: Literal["extra_buffer", "no_buffer"]
    padding_slot: bool
    kv_words: tuple[str, ...]
    """Values that --kv-cache-dtype takes."""


class SglangDsa(Struct, frozen=True, kw_only=True):
    """Sparse latent attention. `kv_auto` by place; `kv_forced`: whatever the user said; kernels as (prefill, decode) by row format and place."""

    source: str
    kv_auto: dict[Where, str]
    fp8: dict[Where, tuple[str, str]]
    bf16: dict[Where, tuple[str, str]]
    kv_forced: bool = False
    sm120_fp8: tuple[str, str] | None = None
    sm120_fp8_architectures: tuple[str, ...] = ()


class SglangBehaviour(Struct, frozen=True, kw_only=True):
    """One version's decisions."""

    version: str
    names: dict[str, frozenset[str]]
    attention: tuple[SglangAttention, ...]
    moe: tuple[SglangMoe, ...]
    memory: SglangTiers
    defaults: tuple[SglangDefaults, ...]
    constants: SglangConstants
    dsa: SglangDsa | None
    """None before the engine knew sparse latent attention."""
    driver_mib: dict[str, int]
    alias: dict[str, str]
    alias_by_model_type: dict[str, str]
    vision_fixed: dict[str, tuple[int, int]]
    """Architecture -> layers and width of its vision tower as SGLang's config class has them, whatever the checkpoint says."""

    def listed(self, name: str, architecture: str) -> bool:
        """The architecture stands in that list of names."""
        return architecture in self.names.get(name, frozenset())


class SglangTerm(Struct, frozen=True, kw_only=True):
    """One fitted quantity in bytes: `value` with the lowest and highest boot, over `n` boots."""

    value: float
    low: float
    high: float
    n: int


class SglangMemory(Struct, frozen=True, kw_only=True):
    """What a rank of SGLang has lost before and while it loads weights, fitted on public start-up logs.

    `before` is the device total minus the free memory of `Load weight begin`, by kind of machine: `cuda`, `cuda_many` (more than one GPU), `rocm`, `unified`.
    `load` is what loading takes beyond the stored weights (handles, buffers, padding).
    """

    source: str
    as_of: str
    rows: int
    before: dict[str, SglangTerm]
    load: SglangTerm
