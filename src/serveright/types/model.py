"""What a model is, free of any engine: layers by kind with their own dimensions, and every weight by module path.

All widths are element counts, never bytes. `families` makes these from a config; nobody reads the config after that.
"""

from typing import Literal

from msgspec import Struct

from serveright.types.fact import Evidence, Unknown

FamilyName = Literal["mha", "mqa", "gqa", "mla", "dsa", "sparse", "hybrid", "swa", "ssm", "encoder", "unknown"]
AttentionKind = Literal["full", "sliding", "chunked", "block_sparse"]
LatentKind = Literal["mla", "sparse_mla", "sliding_mla", "csa", "hca", "compressed"]
RecurrentKind = Literal["gated_deltanet", "kimi_delta", "mamba1", "mamba2", "lightning", "short_conv"]


class Indexer(Struct, frozen=True, kw_only=True):
    """The small scorer that picks which tokens a sparse layer reads. One key of `dim` per (pooled) token, shared by all heads.

    `owns_keys` False: this layer reuses the picks of an earlier layer (IndexShare) and stores nothing.
    """

    heads: int
    dim: int
    topk: int
    owns_keys: bool = True
    key_heads: int = 1
    compress_ratio: int = 1
    position_axes: int = 0
    """Axes of exact positions kept beside each raw key, where image and video tokens have three (multimodal rope)."""


class Attention(Struct, frozen=True, kw_only=True, tag_field="mixer", tag="attention"):
    """Softmax attention with separate K and V rows per KV head (MHA, GQA, MQA; windowed, chunked or block-sparse)."""

    kind: AttentionKind
    query_heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    window_tokens: int | None = None
    chunk_tokens: int | None = None
    indexer: Indexer | None = None
    sparse_block_tokens: int | None = None
    sinks: bool = False
    causal: bool = True
    conv_rows: int = 0
    """Rows of short convolutions kept beside the KV rows (Inkling), `conv_channels` wide over all streams; 0 for nearly all models."""
    conv_channels: int = 0


class Latent(Struct, frozen=True, kw_only=True, tag_field="mixer", tag="latent"):
    """Attention over one compressed row per token shared by all heads (MLA and what grew from it).

    The cached row is `kv_lora_rank + rope_dim` wide. `compress_ratio` > 1: one row per that many tokens (V4 csa/hca), beside a window of uncompressed rows.
    """

    kind: LatentKind
    query_heads: int
    kv_lora_rank: int
    rope_dim: int
    nope_dim: int
    v_head_dim: int
    q_lora_rank: int | None = None
    indexer: Indexer | None = None
    compress_ratio: int | None = None
    window_tokens: int | None = None
    sinks: bool = False


class Recurrent(Struct, frozen=True, kw_only=True, tag_field="mixer", tag="recurrent"):
    """A layer with a state of fixed size instead of rows that grow.

    `state_shape` is the recurrent state of the whole model's layer, heads first, e.g. (48, 128, 128) = (value heads, v_dim, k_dim); () for short convolutions.
    `conv_channels` x `conv_rows` is the convolution's memory (rows = kernel - 1). `groups` are Mamba's B/C groups or the delta rule's key heads.
    `state_dtype` is the config's own word, None where it is silent (the engine then decides).
    """

    kind: RecurrentKind
    state_heads: int
    state_shape: tuple[int, ...]
    conv_channels: int
    conv_rows: int
    groups: int = 1
    key_dim: int = 0
    value_dim: int = 0
    state_dtype: str | None = None
    chunk_tokens: int | None = None
    bounded_gate: bool = False
    """The decay gate has a lower bound (Kimi delta attention): some prefill kernels need one."""
    replicated: bool = False
    """Every tensor-parallel GPU keeps all of it."""


class UnknownMixer(Struct, frozen=True, kw_only=True, tag_field="mixer", tag="unknown"):
    """A layer type no family claims; its cache cannot be derived."""

    name: str


Mixer = Attention | Latent | Recurrent | UnknownMixer


class Ffn(Struct, frozen=True, kw_only=True):
    """A feed-forward block. Dense: `intermediate` only. MoE: `intermediate` is one routed expert's width, `shared_intermediate` that of one shared expert."""

    kind: Literal["dense", "moe"]
    intermediate: int
    experts: int = 0
    experts_per_token: int = 0
    shared_experts: int = 0
    shared_intermediate: int = 0
    latent_dim: int | None = None
    zero_experts: int = 0
    gated: bool = True
    expert_groups: int | None = None


class Layer(Struct, frozen=True, kw_only=True):
    """One layer in order. Usually one mixer and one FFN; two mixers side by side (Falcon-H1, LongCat), a dense MLP beside experts (Gemma-4-26B),
    a mixer alone or an FFN alone (Nemotron-H), or nothing (no-op) all occur. `cache_from`: this layer reads the KV rows of that layer and stores none."""

    index: int
    mixers: tuple[Mixer, ...] = ()
    ffns: tuple[Ffn, ...] = ()
    cache_from: int | None = None


Part = Literal[
    "embed",
    "head",
    "attention",
    "indexer",
    "recurrent",
    "norm",
    "mlp",
    "router",
    "experts",
    "shared_experts",
    "ngram",
    "residual",
    "vision",
    "audio",
    "mtp",
    "draft",
    "other",
]
Shard = Literal["column", "row", "vocab", "q_heads", "kv_heads", "experts", "replicated"]


class Weight(Struct, frozen=True, kw_only=True):
    """One tensor, or `copies` equal ones (experts), under its checkpoint module path without `.weight`, e.g. `model.layers.3.self_attn.q_proj`;
    experts use `*`: `model.layers.3.mlp.experts.*.gate_proj`.

    A fused matrix whose rows are dealt to ranks by different rules (q beside k and v, Mamba's heads beside its groups) is listed once a rule under one path.
    `shape` is (out, in) for linears. `shard` says how tensor parallelism splits it: `column` by rows of `shape`, `row` by columns, `vocab` the vocabulary,
    `q_heads`/`kv_heads` by whole heads in `units` (KV heads replicate when there are fewer than ranks), `experts` by `copies` under expert parallelism and inside each
    expert under plain TP, `replicated` not at all. `linear` False: norms, biases, convolutions, tables: never quantised.
    """

    path: str
    part: Part
    shape: tuple[int, ...]
    shard: Shard
    copies: int = 1
    units: int | None = None
    linear: bool = True
    layer: int | None = None
    mtp: bool = False

    @property
    def elements(self) -> int:
        """Elements of all copies."""
        total = self.copies
        for side in self.shape:
            total *= side
        return total


class ImageGeometry(Struct, frozen=True, kw_only=True):
    """How pixels become tokens: patches of `patch_pixels` merged `merge` x `merge`; or a fixed number of tokens per image or tile."""

    patch_pixels: int
    merge: int = 1
    min_pixels: int | None = None
    max_pixels: int | None = None
    tokens_per_image: int | None = None
    tile_pixels: int | None = None
    max_tokens: int | None = None


class Tower(Struct, frozen=True, kw_only=True):
    """A vision or audio encoder in front of the language model."""

    kind: Literal["vision", "audio"]
    layers: int
    hidden: int
    heads: int = 0
    intermediate: int = 0
    image: ImageGeometry | None = None
    stated: tuple[int, int] | None = None
    """`num_hidden_layers` and `hidden_size` of the encoder's config as engines read them, 0 where it has no such words; None where they are `layers` and `hidden`."""


class ModelShape(Struct, frozen=True, kw_only=True):
    """Everything the later steps need to know about a model."""

    id: str
    architecture: str
    model_type: str
    dialect: str
    """Name of the `families` module that read it."""
    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    mtp: tuple[Layer, ...] = ()
    mtp_layers: int = 0
    """Prediction layers the checkpoint holds (may exceed len(mtp) where one layer is reused)."""
    max_context_tokens: int | None = None
    dtype: str = "bfloat16"
    tied_embeddings: bool = False
    weights: tuple[Weight, ...] = ()
    towers: tuple[Tower, ...] = ()
    modalities: tuple[str, ...] = ("text",)
    causal: bool = True
    remote_code: bool = False
    """The config's `auto_map` points to code in the repository."""
    evidence: tuple[Evidence, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    image_prefix: bool = False
    """Image tokens of the prompt attend both ways inside their image (Gemma 3 and 4): not every attention kernel can."""
    residual_streams: int = 1
    """Hyper-connection copies of the residual (V4 hc_mult)."""


class Family(Struct, frozen=True, kw_only=True):
    """The verdict of step 1, decided from the layers alone."""

    name: FamilyName
    ffn: Literal["dense", "moe", "mixed", "none"]
    features: tuple[str, ...] = ()


class NumberFormat(Struct, frozen=True, kw_only=True):
    """How one tensor's numbers are stored.

    `bits` per element; a scale of `scale_bits` for every `group` elements along the input (`group` 0 per tensor, -1 per output channel), or one per
    `block[0]` x `block[1]` tile; `zero_bits` per group where zero points are stored. `activation_bits` 16 means weight-only.
    """

    name: str
    bits: float
    group: int = 0
    block: tuple[int, int] | None = None
    scale_bits: int = 0
    zero_bits: int = 0
    global_scale_bits: int = 0
    activation_bits: int = 16


class FormatRule(Struct, frozen=True, kw_only=True):
    """`patterns` of module paths (exact text, fnmatch glob, or `re:`), the first matching rule of a checkpoint wins; `format` None leaves the module at the model's dtype."""

    patterns: tuple[str, ...]
    format: NumberFormat | None
    target: Literal["path", "linear", "experts"] = "path"
    """`linear`: every linear module (compressed-tensors `Linear`); `experts`: routed experts only."""
    within: bool = False
    """A plain text also matches everything below it and at the end of longer paths, at dots: `layers.3.self_attn` matches `model.layers.3.self_attn.q_proj`."""
    skip_parts: tuple[Part, ...] = ()
    """Parts a `linear` rule leaves alone because engines never hand them to the quantisation (router, head, towers)."""


class Checkpoint(Struct, frozen=True, kw_only=True):
    """The number format of every part of a stored model."""

    method: str
    """`none`, fp8, compressed-tensors, modelopt, modelopt_fp4, mxfp4, awq, gptq, bitsandbytes, ... in the config's own words."""
    format: str
    """The name people use: bf16, fp8, nvfp4, mxfp4, int4, mixed, ..."""
    dtype: str
    rules: tuple[FormatRule, ...] = ()
    kv_dtype: str | None = None
    """KV cache precision the checkpoint asks for (fp8, nvfp4), None when silent."""
    kv_source: str | None = None
    """JSON path of that wish, beginning with `quantization_config` or `hf_quant_config`."""
    kv_declared: dict[str, str] = {}
    """Every KV precision declared anywhere, by JSON path: engines differ in which one they hear."""
    file_bytes: int | None = None
    """`metadata.total_size` of model.safetensors.index.json where it was there: real sizes win."""
    evidence: tuple[Evidence, ...] = ()
    unknown: tuple[Unknown, ...] = ()
