"""Everything vLLM says no to before it reserves memory, in its own words. Pure texts and the facts that trigger them."""

from collections.abc import Iterator

from msgspec.structs import replace

from serveright.engines.vllm import deepseek_v4
from serveright.engines.vllm.backends import Rejected
from serveright.engines.vllm.combinations import PLATFORMS, Ask, Device, flash_takes_fp8
from serveright.engines.vllm.site import Site, attentions, latents, mixers
from serveright.engines.vllm.words import MODEL_DTYPES, MTP_METHODS, engine_word, model_dtype, quantised
from serveright.types.engine import Refusal, Settings
from serveright.types.hardware import Gpu
from serveright.types.model import ModelShape, UnknownMixer
from serveright.types.text import msg
from serveright.types.vllm import VllmBehaviour

SAME_ON_AMD = ("mixed_heads", "deepseek_v4")
"""Families whose caches AMD's classes describe by the same code as NVIDIA's (models/deepseek_v4/amd/rocm.py only brings kernels)."""


def before(shape: ModelShape, device: Device, behaviour: VllmBehaviour, settings: Settings) -> Iterator[Refusal]:
    """Checks on flags and shape alone, in the engine's order."""
    yield from _dtype(settings)
    yield from _heads(shape, settings)
    yield from _experts(shape, settings)
    yield from _towers(shape, behaviour, settings)
    yield from _context_parallel(shape, settings)
    yield from _cache_dtype(shape, device, behaviour, settings)
    yield from _speculation(shape, behaviour, settings)
    yield from _scheduler(shape, settings)
    yield from _microbatches(device, settings)
    if device.vendor not in PLATFORMS:
        why = msg("vLLM's own packages hold no attention kernels for {gpu}: a plugin decides there, which is not rebuilt here", gpu=device.name)
        yield Refusal(code="layout_unknown", text="", why=why)
    if shape.architecture in behaviour.own_cache or (
        device.vendor == "amd" and behaviour.model_backends.get(shape.architecture, "mixed_heads") not in SAME_ON_AMD
    ):
        why = msg("vLLM lays out {architecture} with code of its own that is not rebuilt here: its cache is unknown", architecture=shape.architecture)
        yield Refusal(code="layout_unknown", text="", why=why)
    unknown = sorted({m.name for m in mixers(shape) if isinstance(m, UnknownMixer)})
    if unknown:
        names = ", ".join(unknown)
        yield Refusal(code="unknown_layer", text="", why=msg("layers of kind {names} are unknown here: their cache cannot be derived", names=names))
    if device.sm and device.sm < 80 and settings.extra.get("dtype") == "bfloat16":
        yield Refusal(
            code="bf16_unsupported",
            text=f"Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your {device.name} GPU has compute capability {device.version}.",
            why=msg("the GPU has no bfloat16 arithmetic; --dtype half is the way out"),
            source="v1/worker/gpu_worker.py check_if_supports_dtype",
        )


def _heads(shape: ModelShape, settings: Settings) -> Iterator[Refusal]:
    tp = settings.parallel.tp
    heads = max([*(m.query_heads for m in attentions(shape)), *(m.query_heads for m in latents(shape))], default=0)
    if heads % tp:
        yield Refusal(
            code="heads_not_divisible",
            text=f"Total number of attention heads ({heads}) must be divisible by tensor parallel size ({tp}).",
            why=msg("{heads} query heads cannot be dealt to {tp} GPUs", heads=heads, tp=tp),
            source="config/model.py verify_with_parallel_config",
        )
    uneven = next((m.kv_heads for m in attentions(shape) if (m.kv_heads % tp if m.kv_heads >= tp else tp % m.kv_heads)), 0)
    if uneven and not heads % tp:
        yield Refusal(
            code="kv_heads_not_divisible",
            text=f"AssertionError: {max(uneven, tp)} is not divisible by {min(uneven, tp)}",
            why=msg("{heads} KV heads can be neither dealt to {tp} GPUs nor copied onto them evenly", heads=uneven, tp=tp),
            source="model_executor/layers/linear.py QKVParallelLinear",
        )
    short = next((m.kv_heads for m in attentions(shape) if m.conv_rows and m.kv_heads < tp), 0)
    if short:
        yield Refusal(
            code="heads_not_divisible",
            text=f"sconv SWA cache supports tp_size <= num_kv_heads ({short}), got {tp}",
            why=msg("short convolutions are kept per KV head: no more than {heads} GPUs share them", heads=short),
            source="models/inkling/nvidia/sconv_swa_attn.py InklingConvState",
        )


def _experts(shape: ModelShape, settings: Settings) -> Iterator[Refusal]:
    """`--enable-expert-parallel` on a model that has none."""
    kinds = {ffn.kind for layer in shape.layers for ffn in layer.ffns}
    if settings.parallel.ep > 1 and kinds == {"dense"}:
        yield Refusal(
            code="no_experts",
            text="Number of experts in the model must be greater than 0 when expert parallelism is enabled.",
            why=msg("every feed-forward layer of this model is dense: leave --enable-expert-parallel out"),
            source="config/model.py _verify_with_expert_parallelism",
        )


def _towers(shape: ModelShape, behaviour: VllmBehaviour, settings: Settings) -> Iterator[Refusal]:
    """Image encoders whose heads are dealt out like the model's own; others fall back to whole copies by themselves."""
    whole = settings.language_only or settings.extra.get("mm-encoder-tp-mode") == "data"
    if whole or shape.architecture not in behaviour.tower_split:
        return
    tp = settings.parallel.tp
    heads = next((t.heads for t in shape.towers if t.kind == "vision" and t.heads % tp), 0)
    if heads:
        yield Refusal(
            code="tower_heads_not_divisible",
            text=f"AssertionError: {heads} is not divisible by {tp}",
            why=msg("the image encoder's {heads} heads cannot be dealt to {tp} GPUs; --mm-encoder-tp-mode data gives each GPU a whole one", heads=heads, tp=tp),
            source="distributed/utils.py divide",
        )


def _dtype(settings: Settings) -> Iterator[Refusal]:
    """`--dtype` takes number types of activations, no storage formats."""
    word = settings.extra.get("dtype", "auto")
    if word in MODEL_DTYPES:
        return
    known = ", ".join(MODEL_DTYPES)
    text = f"argument --dtype: invalid choice: {word!r} (choose from {', '.join(map(repr, MODEL_DTYPES))})"
    why = msg("--dtype is what the model computes in ({known}); a checkpoint's own format is read from it, --quantization converts while loading", known=known)
    yield Refusal(code="dtype_unknown", text=text, why=why, source="config/model.py ModelDType")


def _context_parallel(shape: ModelShape, settings: Settings) -> Iterator[Refusal]:
    tp, dcp = settings.parallel.tp, settings.parallel.dcp
    if dcp <= 1:
        return
    if tp % dcp:
        yield Refusal(
            code="dcp_not_divisor",
            text=f"tp_size={tp} must be divisible by dcp_size={dcp}.",
            why=msg("decode context parallelism reuses the tensor-parallel GPUs"),
            source="config/parallel.py",
        )
    if not latents(shape):
        yield from _grouped_context_parallel(shape, tp, dcp)
    if any(m.kind in ("sliding", "chunked") for m in attentions(shape)) or any(m.window_tokens for m in latents(shape)):
        yield Refusal(
            code="dcp_window",
            text="DCP not support sliding window.",
            why=msg("windowed layers cannot be dealt out by decode context parallelism"),
            source="v1/kv_cache_interface.py SlidingWindowSpec",
        )


def _grouped_context_parallel(shape: ModelShape, tp: int, dcp: int) -> Iterator[Refusal]:
    kv = max((m.kv_heads for m in attentions(shape)), default=0)
    heads = max((m.query_heads for m in attentions(shape)), default=0)
    if not kv:
        return
    where = "config/model.py verify_with_parallel_config"
    if tp <= kv:
        text = (
            f"Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` ({tp}) to be greater than the model's total number of KV heads ({kv}). "
            "Increase `--tensor-parallel-size` or set `--decode-context-parallel-size 1`."
        )
        yield Refusal(code="dcp_needs_replicas", text=text, why=msg("without replicated KV heads there is nothing to share out"), source=where)
        return
    if dcp > tp // kv:
        text = (
            f"`--decode-context-parallel-size` ({dcp}) exceeds the maximum supported value ({tp // kv}) for "
            f"`--tensor-parallel-size` ({tp}) and {kv} model KV heads."
        )
        yield Refusal(code="dcp_too_large", text=text, why=msg("each KV head has only {copies} copies", copies=tp // kv), source=where)
        return
    if (heads // kv) % dcp:
        text = f"The model's number of query heads per KV head ({heads // kv}) must be divisible by `--decode-context-parallel-size` ({dcp}) for GQA/MQA."
        yield Refusal(code="dcp_head_groups", text=text, why=msg("query heads per KV head must be shared out evenly"), source=where)


def _cache_dtype(shape: ModelShape, device: Device, behaviour: VllmBehaviour, settings: Settings) -> Iterator[Refusal]:
    word, model = engine_word(settings.kv_dtype or "auto"), model_dtype(settings.extra.get("dtype", "auto"), shape.dtype, device.sm)
    if word not in behaviour.kv_dtypes:
        known = ", ".join(behaviour.kv_dtypes)
        text = f"argument --kv-cache-dtype: invalid choice: {word!r}"
        yield Refusal(code="kv_dtype_unknown", text=text, why=msg("this version knows {known}", known=known), source="config/cache.py CacheDType")
    elif word in ("float16", "bfloat16") and word != model:
        allowed = f"`auto` or `{model}`" if model in ("float16", "bfloat16") else "`auto`"
        yield Refusal(
            code="kv_dtype_mismatch",
            text=f'kv_cache_dtype="{word}" is incompatible with dtype="{model}". Please set `--kv-cache-dtype` to {allowed}.',
            why=msg("an unquantised cache must have the model's own number type"),
            source="config/vllm.py _reject_mismatched_float_kv_cache",
        )


def _speculation(shape: ModelShape, behaviour: VllmBehaviour, settings: Settings) -> Iterator[Refusal]:
    tokens = settings.speculative_tokens
    if settings.speculative_method not in MTP_METHODS or tokens < 1:
        return
    if behaviour.model_backends.get(shape.architecture) == "deepseek_v41":
        yield Refusal(
            code="no_classic_mtp",
            text="DeepSeek V4.1 has no classic-MTP draft: its checkpoints ship DSpark stages under mtp.*",
            why=msg("the prediction layers draft a block at once: the speculative method is dspark"),
            source="config/speculative.py __post_init__",
        )
        return
    depth = shape.mtp_layers or behaviour.mtp_depth.get(shape.architecture, 0)
    if depth == 0:
        yield Refusal(
            code="no_prediction_layer",
            text="ZeroDivisionError: integer modulo by zero",
            why=msg("the model has no prediction layer, its config's count is 0: multi-token prediction cannot start"),
            source="config/speculative.py __post_init__",
        )
    elif tokens > depth and tokens % depth:
        yield Refusal(
            code="speculative_tokens",
            text=f"num_speculative_tokens:{tokens} must be divisible by n_predict={depth}",
            why=msg("{depth} prediction layers are reused in whole rounds", depth=depth),
            source="config/speculative.py __post_init__",
        )


def _scheduler(shape: ModelShape, settings: Settings) -> Iterator[Refusal]:
    """A step's budget against the longest prompt where prompts are not cut, and against the running requests."""
    budget, length = settings.token_budget, settings.context_tokens or shape.max_context_tokens or 0
    whole = settings.extra.get("enable-chunked-prefill") == "false" or "no-enable-chunked-prefill" in settings.extra
    where = "config/scheduler.py verify_max_model_len"
    if budget is not None and whole and budget < length:
        text = (
            f"max_num_batched_tokens ({budget}) is smaller than max_model_len ({length}). This effectively limits the maximum sequence length to "
            "max_num_batched_tokens and makes vLLM reject longer sequences. Please increase max_num_batched_tokens or decrease max_model_len."
        )
        yield Refusal(code="budget_below_length", text=text, why=msg("without chunked prefill a step must hold a whole prompt"), source=where)
    if budget is not None and settings.max_num_seqs is not None and budget < settings.max_num_seqs:
        text = f"max_num_batched_tokens ({budget}) must be greater than or equal to max_num_seqs ({settings.max_num_seqs})."
        yield Refusal(code="budget_below_seqs", text=text, why=msg("each running request takes one token of every step"), source=where)


def _microbatches(device: Device, settings: Settings) -> Iterator[Refusal]:
    """Dual-batch overlap hides the exchange of experts; it knows three kinds of exchange."""
    backend = settings.all2all_backend or "allgather_reducescatter"
    on = settings.extra.get("enable-dbo") in ("", "true")
    if on and device.vendor == "nvidia" and backend not in ("deepep_low_latency", "deepep_high_throughput", "nixl_ep"):
        yield Refusal(
            code="dbo_all2all",
            text=f"Microbatching currently only supports the deepep_low_latency and deepep_high_throughput all2all backend. {backend} is not supported.",
            why=msg("dual-batch overlap needs an all-to-all it can run beside the experts: name --all2all-backend"),
            source="config/vllm.py use_ubatching",
        )


def no_backend(site: Site, ask: Ask, rejected: tuple[Rejected, ...]) -> Refusal:
    """No attention backend admits the layer; the engine lists every reason."""
    if site.backend and len(rejected) == 1:
        reasons = list(rejected[0].reasons)
        text = f"Selected backend AttentionBackendEnum.{site.backend} is not valid for this configuration. Reason: {reasons}"
    else:
        tried = ", ".join(f"{r.name}: [{', '.join(r.reasons)}]" for r in rejected)
        text = f"No valid attention backend found for cuda with {_selector(ask)}. Reasons: {{{tried}}}."
    return Refusal(
        code="no_attention_backend",
        text=text,
        why=msg("no attention kernel of this version serves the model on {gpu} with this cache", gpu=site.device.name),
        source="platforms/cuda.py get_attn_backend_cls",
    )


def _selector(ask: Ask) -> str:
    fields = (
        f"head_size={ask.head_size}",
        f"dtype=torch.{ask.dtype}",
        f"kv_cache_dtype={ask.kv_dtype}",
        f"block_size={ask.block or None}",
        f"use_mla={ask.kind != 'dense'}",
        f"has_sink={ask.sinks}",
        f"use_sparse={ask.kind == 'sparse_latent'}",
        f"use_mm_prefix={ask.mm_prefix}",
        "use_per_head_quant_scales=False",
        "attn_type=AttentionType.DECODER",
        f"has_sliding_window={ask.sliding}",
        "use_non_causal=False",
        "use_batch_invariant=False",
        "use_kv_connector=False",
        "use_adaptive_verification=False",
        "use_pcp=False",
        f"use_dcp={ask.dcp}",
        "use_rswa=False",
    )
    return f"AttentionSelectorConfig({', '.join(fields)})"


def kernel(backend: str, site: Site, ask: Ask, gpu: Gpu) -> Refusal | None:
    """What a chosen backend's own constructor refuses."""
    triton = {"TRITON_ATTN": "Triton attention backend", "TRITON_ATTN_DIFFKV": "Triton attention backend", "TRITON_MLA": "Triton MLA backend"}.get(backend)
    if triton and ask.kv_dtype.startswith("fp8") and site.device.sm < 89:
        instead = "float16" if site.device.sm < 80 else "bfloat16"
        text = (
            f"FP8 KV cache is not supported by the {triton} on {gpu.name} (compute capability {site.device.version}); "
            f"native FP8 (fp8e4nv) requires SM89+. Re-run with --kv-cache-dtype {instead}."
        )
        return Refusal(
            code="fp8_cache_unsupported", text=text, why=msg("the only kernel that serves this model here cannot read fp8"), source="v1/attention/backends"
        )
    if backend == "FLASH_ATTN_DIFFKV" and quantised(ask.kv_dtype) and not flash_takes_fp8(_square(ask), site.device):
        text = f"FlashAttention does not support {ask.kv_dtype} kv-cache on this device."
        return Refusal(
            code="fp8_cache_unsupported",
            text=text,
            why=msg("FlashAttention has no fp8 cache for these head sizes here"),
            source="v1/attention/backends/flash_attn.py",
        )
    return None


def _square(ask: Ask) -> Ask:
    return replace(ask, head_size_v=ask.head_size)


def v4_dtype(word: str) -> Refusal:
    """DeepSeek-V4's packed rows take fp8 only."""
    return Refusal(
        code="v4_cache_dtype",
        text=(
            f"DeepseekV4 fp8_ds_mla layout only supports fp8 kv-cache, got {word}. "
            "Please set `--kv-cache-dtype fp8` or select a backend that supports bfloat16 KV cache."
        ),
        why=msg("this model's cache rows are packed fp8 records"),
        source="models/deepseek_v4/attention.py _resolve_dsv4_kv_cache_dtype",
    )


def v4_backend(site: Site) -> Refusal | None:
    """The generic sparse backends are not V4's."""
    if site.backend not in deepseek_v4.FORBIDDEN:
        return None
    text = f"{site.backend} is not a DeepSeek V4 attention backend. Use FLASHINFER_MLA_SPARSE_DSV4 for DeepSeek V4 FlashInfer sparse MLA."
    return Refusal(
        code="v4_backend", text=text, why=msg("DeepSeek-V4 has attention classes of its own"), source="models/deepseek_v4/nvidia/model.py _select_dsv4_attn_cls"
    )


def v41_dtype(word: str) -> Refusal:
    """DeepSeek-V4.1's packed rows take fp8, and nvfp4 on sm_10x; FlashInfer's plain rows take no packed word."""
    return Refusal(
        code="v4_cache_dtype",
        text=f"DeepseekV4 packed KV layouts only support fp8 kv-cache, got {word}."
        if not word.endswith("_ds_mla")
        else f"{word} is a packed FlashMLA DeepSeek V4.1 KV cache format; the selected backend stores plain KV rows."
        if word == "fp8_ds_mla"
        else "nvfp4_ds_mla needs the V4.1 KV records, which FlashMLA decodes only on SM100.",
        why=msg("the kernel chosen here stores this model's cache rows in another form"),
        source="models/deepseek_v41/attention.py _resolve_dsv4_kv_cache_dtype",
    )


def v41_backend(site: Site) -> Refusal | None:
    """The generic sparse backends are not V4.1's."""
    if site.backend not in deepseek_v4.FORBIDDEN:
        return None
    text = f"{site.backend} is not a DeepSeek V4.1 attention backend. Use FLASHINFER_MLA_SPARSE_DSV41 for DeepSeek V4.1 FlashInfer sparse MLA."
    return Refusal(
        code="v4_backend",
        text=text,
        why=msg("DeepSeek-V4 has attention classes of its own"),
        source="models/deepseek_v41/nvidia/model.py _select_dsv4_attn_cls",
    )


def no_expert_kernel() -> Refusal:
    """Routed experts whose slice on one GPU no kernel reads."""
    return Refusal(
        code="no_expert_kernel",
        text="No FP8 MoE backend supports the deployment configuration.",
        why=msg("an expert's slice on one GPU is no multiple of its fp8 tile, which the only kernel for this GPU needs: use expert parallelism or fewer GPUs"),
        source="layers/fused_moe/oracle/fp8.py select_fp8_moe_backend",
    )


def no_common_block(text: str) -> Refusal:
    """Backends of one model that share no block size."""
    return Refusal(code="no_common_block", text=text, why=msg("the model's attention kernels need different blocks"), source="platforms/interface.py")


def cannot_group(text: str) -> Refusal:
    """Pages that can neither be made equal nor padded."""
    return Refusal(code="pages_unequal", text=text, why=msg("caches of unequal pages cannot share one pool"), source="v1/core/kv_cache_planning.py")
