"""What `api` returns, one report a verb; field names are the outside contract (see docs/reference/json)."""

from typing import Any

from msgspec import Struct, field

from serveright.types.answers import Answer, ExpertBalance, MeasuredPoint, Simulated
from serveright.types.curves import Curves
from serveright.types.derivation import Derivation
from serveright.types.design import Check, Estimate, FlagChoice, Flip, LeftToEngine, Reason
from serveright.types.engine import Parallel, Refusal
from serveright.types.fact import Evidence, Unknown
from serveright.types.model import Tower
from serveright.types.report import Finding
from serveright.types.text import Msg


class ModelName(Struct, frozen=True, kw_only=True):
    """Which model, and where its config came from."""

    id: str
    architecture: str
    model_type: str
    origin: str = ""


class AttentionEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All mixers of one kind and shape. `layers` counts mixers; `cache_layers` those that own a cache. Absent keys do not apply."""

    kind: str = field()
    layers: int = field()
    cache_layers: int = field()
    query_heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    v_head_dim: int | None = None
    window_tokens: int | None = None
    chunk_tokens: int | None = None
    kv_lora_rank: int | None = None
    rope_dim: int | None = None
    compress_ratio: int | None = None
    index_layers: int | None = None
    index_heads: int | None = None
    index_dim: int | None = None
    index_topk: int | None = None
    state_heads: int | None = None
    state_shape: tuple[int, ...] | None = None
    state_dtype: str | None = None
    conv_rows: int | None = None


class FfnEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All feed-forward blocks of one kind and shape."""

    kind: str = field()
    layers: int = field()
    intermediate: int = 0
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    shared_intermediate: int = 0
    latent_dim: int | None = None
    zero_experts: int = 0


class Parameters(Struct, frozen=True, kw_only=True):
    """Element counts. `active`: read for one token, without what `active_excludes` names."""

    total: int
    active: int
    active_excludes: tuple[str, ...]
    parts: dict[str, int]


class CheckpointEntry(Struct, frozen=True, kw_only=True):
    """How the weights are stored; `parts` maps a part to its number format, `bytes` the whole."""

    format: str
    method: str
    parts: dict[str, str]
    kv_dtype: str | None
    bytes: int
    bytes_from: str
    """`index` (the checkpoint's own total) or `computed`."""


class InspectReport(Struct, frozen=True, kw_only=True):
    """Step 1: what is this model?"""

    schema: str = "serveright.inspect/1"
    model: ModelName
    family: str
    ffn_axis: str
    features: tuple[str, ...]
    attention: tuple[AttentionEntry, ...]
    ffn: tuple[FfnEntry, ...]
    layer_map: str
    """One letter a layer, with the legend in `layer_legend`."""
    layer_legend: dict[str, str]
    parameters: Parameters
    checkpoint: CheckpointEntry
    max_context_tokens: int | None
    mtp_layers: int
    modalities: tuple[str, ...]
    towers: tuple[Tower, ...]
    remote_code: bool
    evidence: tuple[Evidence, ...]
    unknown: tuple[Unknown, ...]
    hints: tuple[Msg, ...] = ()
    """What the model card or the catalogue says, where it adds to or differs from the config."""
    derivation: tuple[Derivation, ...] = ()
    curves: Curves | None = None
    """For pictures, where they were asked for."""


class EngineVersion(Struct, frozen=True, kw_only=True, rename={"note": "version_note"}):
    """Engine and version; `version_note` when another version's table had to serve."""

    name: str
    version: str
    note: Msg | None = None


class KvGroup(Struct, frozen=True, kw_only=True):
    """One group of the engine's cache."""

    kind: str
    layers: int
    block_tokens: int
    bytes_per_block: int


class KvReport(Struct, frozen=True, kw_only=True):
    """The cache as the engine lays it out, per GPU; see the contract for the four kinds of bytes per token."""

    dtype: str
    layout: Msg
    block_tokens: int
    stored_bytes_per_token_per_gpu: float
    bytes_per_token_per_gpu: float
    pool_bytes_per_token_per_gpu: float
    fixed_bytes_per_sequence_per_gpu: int
    allocated_bytes_per_sequence_per_gpu: int
    groups: tuple[KvGroup, ...]


class MemoryReport(Struct, frozen=True, kw_only=True):
    """One GPU's memory."""

    device_bytes: int
    budget_bytes: int
    weights_bytes: int
    overhead_bytes: int
    overhead_range_bytes: tuple[int, int] | None
    kv_pool_bytes: int
    kv_pool_range_bytes: tuple[int, int] | None = None
    """What the pool is with the largest and the smallest overhead of that range."""
    overhead_parts_bytes: dict[str, int] = {}
    """The overhead by cause."""


class PerRank(Struct, frozen=True, kw_only=True):
    """Capacity of one data-parallel rank."""

    tokens: int
    max_concurrency: float


class CapacityReport(Struct, frozen=True, kw_only=True):
    """What the pool holds, over all ranks of one deployment times replicas."""

    tokens: int
    max_concurrency: float
    per_rank: PerRank
    state_slots: int | None
    limited_by: str


class SizeResult(Struct, frozen=True, kw_only=True):
    """Step 2 on one engine."""

    engine: EngineVersion
    parallel: Parallel
    kv: KvReport
    memory: MemoryReport
    capacity: CapacityReport
    engine_log_line: str
    fits: bool
    refusals: tuple[Refusal, ...]
    choices: tuple[Msg, ...]
    derivation: tuple[Derivation, ...]


class GpuCount(Struct, frozen=True, kw_only=True):
    """GPU key and how many."""

    key: str
    count: int
    nodes: int = 1


class SizeReport(Struct, frozen=True, kw_only=True):
    """Step 2: how big is the cache, how many users fit?"""

    schema: str = "serveright.size/1"
    model: ModelName
    gpu: GpuCount
    context_tokens: int
    logical_bytes_per_sequence: int
    logical_parts: dict[str, int]
    unknown_layers: int = 0
    """Layers of a kind nobody knows: their cache is missing in every figure."""
    results: tuple[SizeResult, ...]
    derivation: tuple[Derivation, ...]
    ways_out: tuple[Msg, ...] = ()
    curves: Curves | None = None
    """For pictures, where they were asked for."""


class CheckReport(Struct, frozen=True, kw_only=True):
    """Steps 3 and 4: does it run here, on the best path, with which words?"""

    schema: str = "serveright.check/1"
    model: ModelName
    gpu: GpuCount
    engines: tuple[Check, ...]


class ModelChecks(Struct, frozen=True, kw_only=True):
    """One model of the catalogue, by engine."""

    id: str
    engines: tuple[Check, ...]


class CatalogueCheckReport(Struct, frozen=True, kw_only=True):
    """Steps 3 and 4 for every model of the catalogue on one kind of GPU."""

    schema: str = "serveright.check-all/1"
    gpu: GpuCount
    models: tuple[ModelChecks, ...]


class PlanCandidate(Struct, frozen=True, kw_only=True):
    """One layout of the search."""

    engine: EngineVersion
    checkpoint: str
    parallel: Parallel
    speculative_tokens: int = 0
    fits: bool
    estimate: Estimate | None
    cost_per_million_tokens: float | None
    lost_because: Reason | None


class Chosen(Struct, frozen=True, kw_only=True):
    """The design to launch on one engine."""

    engine: EngineVersion
    parallel: Parallel
    command: str
    env: dict[str, str]
    first_launch_command: str
    flags: tuple[FlagChoice, ...]
    left_to_engine: tuple[LeftToEngine, ...]


class PlanReport(Struct, frozen=True, kw_only=True):
    """All six steps."""

    schema: str = "serveright.plan/1"
    model: ModelName
    gpu: GpuCount
    candidates: tuple[PlanCandidate, ...]
    rejected: tuple[tuple[str, Reason], ...]
    flips: tuple[Flip, ...]
    chosen: Chosen | None
    alternatives: tuple[Chosen, ...]
    """The best design of the other engine, where both were asked for."""
    steps: dict[str, Any]
    findings: tuple[Finding, ...]
    """What our own audit says of the chosen command."""
    objective: str = "cost"
    answers: tuple[Answer, ...] = ()
    simulated: Simulated | None = None
    anchors: tuple[MeasuredPoint, ...] = ()
    """The user's measurements the estimates were corrected by."""
    experts: ExpertBalance | None = None
    ways_out: tuple[Msg, ...] = ()
    derivation: tuple[Derivation, ...] = ()
    """How TTFT and TPOT of the chosen layout come about: the parts of a step, then what waiting adds. Seconds."""
    curves: Curves | None = None
    """For pictures, where they were asked for."""
