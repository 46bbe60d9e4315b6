"""What measurements taught: efficiency factors of the step model, each set with its origin. Data of `facts/calibration/performance.toml`, written by `tools/fit`."""

from msgspec import Struct


class Hardware(Struct, frozen=True, kw_only=True):
    """Efficiencies and fixed costs, one value for every GPU and engine (shares of the datasheet figure, seconds, or counts)."""

    dense_bandwidth: float
    """Share of memory bandwidth that dense weights are read with."""
    expert_bandwidth: float
    """Of what the isolated kernel reaches (`ExpertKernel`), as the next two."""
    expert_floor: float
    """Below 1: inside a graph part of a kernel's fixed cost hides behind its neighbours."""
    cache_bandwidth: float
    dense_compute: float
    """Share of the format's usual GEMM rate (`gemm`) in large dense products."""
    expert_compute: float
    attention_compute: float
    """Share of bf16 peak in prefill attention."""
    routing_spread: float
    """n tokens touch as many distinct experts as n^routing_spread tokens would under independent uniform routing."""
    kernel_s: float
    """Cost of one small kernel in a decode step that neither bandwidth nor FLOPs explain."""
    kernel_width: float
    """Exponent with which that cost grows with the hidden size (against 4096): wider rows take longer in every small kernel."""
    latent_kernel: float
    """Kernel classes relative to a plain one."""
    recurrent_kernel: float
    expert_kernel: float
    step_s: float
    """Once a step: scheduling, sampling, result hand-over."""
    sequence_s: float
    """Per running sequence and step."""
    collective_latency: float
    """Share of the isolated latency that a collective inside a graph costs."""
    collective_bandwidth: float
    exchange_bandwidth: float
    prefill_fixed: float
    """Share of a prefill step's fixed costs (weights, kernels) that one request pays, the rest is shared with others."""
    overlap: float
    """Share of prefill time that running requests lose."""
    queue: float


class ExpertKernel(Struct, frozen=True, kw_only=True):
    """Grouped expert products of one engine on one generation in one weight format, measured as isolated kernels: a floor per layer, then the longer of
    reading and multiplying."""

    floor_s: float
    """Routing, permuting and launching for a single token, one layer."""
    bandwidth: float
    """Share of memory bandwidth its weights are read with."""
    compute: float
    """Share of the peak of `bits` wide arithmetic."""
    bits: int
    """Width of its arithmetic: that of the activations."""


class Scheduling(Struct, frozen=True, kw_only=True):
    """How one engine on one GPU generation runs its loop."""

    request_s: float
    """Fixed cost of a request before its first step: HTTP, tokenizer, scheduling."""
    poll_steps: float
    """Decode steps a new request waits until it is taken in, once the batch is busy."""
    rank_wait_steps: float = 0
    """Further steps that data-parallel attention ranks wait for each other."""
    cold_start_s: float = 0
    """Cost per request of an initial burst beyond its prefill."""
    kernels: float = 1
    """Its small kernels and host work against the usual ones: fusion, launch path."""
    slowdown: float = 1
    """Whole step against the one that the global factors give: kernels this engine has not tuned for this generation."""
    age_per_year: float = 0
    """Log change of step time per year of software age."""


class Calibration(Struct, frozen=True, kw_only=True):
    """One fit. Keys of `scheduling` are `engine/generation`, `engine/*` and `*/*`; the most exact one wins. Keys of `expert_kernels` end with a format
    (`analysis.expert_kernels.form`): `engine/generation/format`, with `*` for either.

    `gemm` is the share of peak that large GEMMs reach by activation format; `collective_s` the isolated latency of a small all-reduce by interconnect
    kind (`nvlink`, `xgmi`, `pcie`, `network`); `interval` the 80 % factors by quantity, with `unseen` variants for unknown GPUs and engines.
    """

    source: str
    as_of: str
    rows: int
    age_from: str = ""
    """Month (YYYY-MM) from which software age counts; "" where age was not fitted."""
    age_newest: str = ""
    """The newest month measured: what came out later is taken to be as fast as that."""
    hardware: Hardware
    gemm: dict[str, float]
    collective_s: dict[str, float]
    expert_kernels: dict[str, ExpertKernel]
    scheduling: dict[str, Scheduling]
    interval: dict[str, tuple[float, float]]
    speculation: dict[str, float] = {}
    cells: dict[str, float] = {}
    """Step time of a measured combination against what the factors above give, by `analysis.generation.cell`: shape, GPU and engine, no model names."""
