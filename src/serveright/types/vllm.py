"""vLLM's behaviour at one version, as data: what `facts/engines/vllm/behaviour.toml` holds after the version was chosen."""

from msgspec import Struct


class BatchTier(Struct, frozen=True, kw_only=True):
    """Scheduler defaults of `vllm serve` on a class of GPUs; the first tier that admits the GPU wins."""

    min_memory_bytes: int
    token_budget: int
    max_num_seqs: int
    not_named: str = ""
    """A part of the device name that shuts a GPU out (`a100`)."""
    not_sm: int | None = None

    def admits(self, memory_bytes: int, name: str, sm: int | None) -> bool:
        """The tier applies to a device of that memory (bytes), name and capability."""
        named = bool(self.not_named) and self.not_named in name.lower()
        return memory_bytes >= self.min_memory_bytes and not named and (self.not_sm is None or sm != self.not_sm)


class BackendRule(Struct, frozen=True, kw_only=True):
    """What one attention backend's class declares. Empty tuples mean no limit; capabilities are majors, `min_sm`/`max_sm` bound them further."""

    name: str
    kind: str
    """dense | latent | sparse_latent."""
    kv_dtypes: tuple[str, ...]
    vendors: tuple[str, ...] = ("nvidia",)
    """Platforms whose build registers it."""
    dtypes: tuple[str, ...] = ("float16", "bfloat16")
    majors: tuple[int, ...] = ()
    min_sm: int = 0
    max_sm: int = 9999
    head_sizes: tuple[int, ...] = ()
    head_multiple: int = 1
    min_head: int = 0
    max_head: int = 0
    """0: no limit."""
    blocks: tuple[int, ...] = ()
    """Exact kernel block sizes."""
    block_multiple: int = 0
    """Kernel blocks may be any multiple of this (0: only `blocks`)."""
    sinks: bool = False
    mm_prefix: bool = False
    sliding: bool = False
    dcp: bool = False
    row_aligned: int = 0
    """Blocks must lie whole pages of that many rows apart (0: no such demand)."""
    page_layouts: tuple[str, ...] = ()
    """Memory orders its kernels read, best first; empty: any."""


class Priority(Struct, frozen=True, kw_only=True):
    """The order in which backends are tried on one class of devices."""

    kind: str
    vendor: str = "nvidia"
    majors: tuple[int, ...] = ()
    """Empty: every other device."""
    order: tuple[str, ...]
    quantised: bool | None = None
    """Only for a quantised (or only for a plain) cache; None for both."""
    max_heads: int = 0
    """Only up to that many query heads per GPU; 0: any number."""
    head_size: int = 0
    mm_prefix: bool | None = None
    aiter: bool | None = None
    """Only where AMD's AITER kernels are switched on (`VLLM_ROCM_USE_AITER=1`); None for both."""


class MoeRule(Struct, frozen=True, kw_only=True):
    """The expert kernel taken for one number format on these devices, empty where the engine refuses; `expert_parallel` None: with and without."""

    format: str
    sms: tuple[int, ...]
    kernel: str
    expert_parallel: bool | None = None
    slice_multiple: int = 1
    """The width of an expert on one GPU must be a multiple of this."""


class VllmBehaviour(Struct, frozen=True, kw_only=True):
    """Everything of one version that sizing asks for. Names of architectures are the engine's own keys, never model names."""

    version: str
    asked_version: str = ""
    mem_fraction: float
    graphs_counted: bool
    """CUDA-graph memory is taken from the cache's share."""
    in_flight: bool
    """Windowed groups also reserve scheduled but unsettled tokens."""
    async_scheduling: bool
    """On by default."""
    v2_runner: bool
    runner_rule: str
    """Which models the second model runner serves: first (none), listed_plain (listed, dense and not quantised), listed, dense (listed, or neither experts nor
    recurrent layers), second (all)."""
    runner_listed: tuple[str, ...]
    """Architectures that rule names."""
    graphs_counted_second: bool
    """The second runner estimates graphs too."""
    graphs_vendors: tuple[str, ...]
    """Makers of GPUs whose graphs are estimated."""
    encoder_streams: dict[str, int]
    """Architecture -> vectors its encoder leaves per image token: its own, and one for each deeper level handed on (1 where not named)."""
    encoder_cache_tokens: dict[str, int]
    """Architecture -> tokens the encoder's outputs are widened to while memory is profiled, where that is more than the profiled images."""
    expert_tiles: dict[str, tuple[int, int]]
    """Beginning of an expert kernel's name -> multiples that an MXFP4 expert's width and the model's are rounded up to."""
    item_tokens: dict[str, int]
    """Architecture -> tokens of its processor's largest image, where the model's config is silent about it."""
    sampler: str
    """How top-k and top-p are found while memory is profiled: sorted | threshold."""
    hybrid_prefix_caching: bool
    null_block: bool
    """One block is held back when a request is checked against the pool."""
    log_form: str
    """blocks | two_lines | one_line."""
    capacity_form: str
    """blocks: tokens = blocks / groups x block; requests: tokens = concurrency x longest request."""
    packed_groups: bool
    max_graph_batch: int
    max_graph_batch_sm10: int
    default_block: int
    batch_tiers: tuple[BatchTier, ...]
    backends: tuple[BackendRule, ...]
    priorities: tuple[Priority, ...]
    dsa_auto: str
    """Cache dtype that `auto` becomes for sparse latent models (`auto` or `fp8_ds_mla`)."""
    dsa_fp8: str
    """Cache dtype that `fp8` becomes before a backend is chosen."""
    fp8_by_architecture_sm10: dict[str, str]
    """Architecture -> cache dtype that `auto` becomes on sm_10x."""
    graph_batch_by_architecture: dict[str, int]
    window_extra: dict[str, int]
    """Architecture -> tokens the engine adds to the config's window."""
    state_dtype: dict[str, str]
    """Recurrent kind, or architecture, -> `model`, `config` (else model), `config_or_float32`, or a dtype."""
    state_backend: dict[str, str]
    """Recurrent kind, or architecture, -> attention backend that owns the state."""
    state_checkpoint: dict[str, str]
    """Recurrent kind, or architecture, -> who exports a prefill checkpoint: `always`, `flashinfer_gdn`, `flashkda`, or `never`."""
    checkpoint_alignment: int
    """Tokens between states that the delta-rule prefill kernel can export; 0: it exports none."""
    model_backends: dict[str, str]
    """Architecture -> backend family its own layers use instead of the selector (`deepseek_v4`, `minimax_m3`)."""
    mixed_heads_flash: bool
    """Models whose layers have unequal head sizes may use FlashAttention 4 (else TRITON_ATTN)."""
    prefix_item_tokens: dict[str, int]
    """Architecture -> tokens of its largest image or video, which must fit one step because image tokens see each other."""
    own_cache: tuple[str, ...]
    """Architectures whose cache the engine builds with code of their own that is not rebuilt here."""
    moe: tuple[MoeRule, ...] = ()
    """Expert kernels by format and device, first match; what was never executed is not in it."""
    attention_free: tuple[str, ...]
    """Architectures of pure state models: no prefix caching by default."""
    expanded_latent: tuple[str, ...]
    """Architectures whose own class stores K and V of every head where the config describes one latent row."""
    rest_softmax: tuple[str, ...]
    """Architectures whose layers behind the last whole group hold softmax attention, where the config's class calls them linear."""
    replicated_states: tuple[str, ...]
    """Backends of recurrent layers whose whole state lies on every tensor-parallel GPU."""
    tower_split: tuple[str, ...]
    """Architectures whose image encoder deals its heads to the tensor-parallel GPUs and stops where they do not divide."""
    head_dim_overwritten: tuple[str, ...]
    """Model types whose config class in transformers replaces `head_dim` by the rope part's width, which linear layers then take as theirs."""
    kv_dtypes: tuple[str, ...]
    mtp_depth: dict[str, int]
    """Architecture -> prediction layers the engine builds whatever the config says."""


class MemoryTerm(Struct, frozen=True, kw_only=True):
    """One fitted quantity: `value`, and how many boots it rests on (0: assumed)."""

    value: float
    n: int


class VllmMemory(Struct, frozen=True, kw_only=True):
    """What vLLM's start-up takes beyond the weights on one GPU, fitted on public start-up logs; written by `tools/fit_memory`.

    overhead = context + collective (several GPUs) + the buffers whose sizes the engine itself states + max(logits, forward, encoder) + host's images (unified
    memory) + graphs (where version, GPU and runner count them), with logits = logit_bytes x running requests x vocabulary, forward = forward x the bytes
    one token of the widest layer passes through x the token budget, encoder = encoder x the bytes of one patch x patches.
    """

    source: str
    as_of: str
    rows: int
    context: dict[str, MemoryTerm]
    """Bytes of runtime and libraries by device class: discrete | rocm | unified (memory shared with the host)."""
    collective: dict[str, MemoryTerm]
    """Bytes of communicators once there are several ranks: pcie | node (links within a node) | nodes (more GPUs than one node has)."""
    logit_bytes: dict[str, MemoryTerm]
    """Bytes alive per logit while sampling is profiled, by sampler: sorted | threshold."""
    forward: dict[str, MemoryTerm]
    """Multiple of one token's widest layer, by kind of model: dense | moe | hybrid | sparse_latent."""
    encoder: MemoryTerm
    """Multiple of one patch's widest layer."""
    host_patch: MemoryTerm
    """Bytes the host keeps per patch of the profiled images."""
    graphs: dict[str, MemoryTerm]
    """Bytes of the graph estimate: `first` capture, and per layer and graph on a `single` GPU, with `several`, or of a `sparse` latent model."""
    spread: dict[str, tuple[float, float]]
    """Observed over predicted overhead that 80 % of the boots lie within, model left out, by build: released | built (between releases, or by others)."""
    scale: float = 1.0
    """What the user's own start-up took over what this predicts; 1 without such a log."""
