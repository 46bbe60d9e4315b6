"""Attention backends, pages and the checks around them: arg_groups/model_overrides/, attention_hook.py, overrides.py, kv_cache_hook.py."""

from msgspec.structs import replace

from serveright.engines.sglang.args import Args, Situation, place
from serveright.engines.sglang.dsa import index_pool
from serveright.engines.sglang.refuse import refuse
from serveright.types.engine import Refusal
from serveright.types.sglang import SglangAttention
from serveright.types.text import msg

_ASCEND_PAGE = 128
_NVFP4_PREFILL = {"fp8_e4m3": "flashinfer", "nvfp4": "trtllm_mha"}
_FP4_MLA = ("flashinfer", "trtllm_mla")
_FP4_MHA = ("triton", "torch_native", "flex_attention", "trtllm_mha")
_NVFP4_NEEDS = "--kv-cache-dtype=nvfp4 requires Blackwell SM100 or SM120. Use --kv-cache-dtype=fp4_mx_block16 for the block-size-16 FP4 recipe."


def platform(args: Args, at: Situation) -> Args:
    """Ascend has one attention backend and pages of 128 tokens (hardware_backend/npu/utils.py); what else is no GPU of NVIDIA's or AMD's is not rebuilt here."""
    if at.device.npu:
        args = replace(args, attention="ascend", prefill="ascend", decode="ascend", page=args.page or _ASCEND_PAGE)
        return replace(args, choices=(*args.choices, msg("attention backend {backend}: the only one on Ascend", backend="ascend")))
    if not at.device.foreign:
        return args
    why = msg("how SGLang serves {gpu} is not rebuilt here: its backends and cache are unknown", gpu=at.device.name)
    unknown = Refusal(code="layout_unknown", text="", why=why)
    return replace(args, attention="unknown", prefill="unknown", decode="unknown", refusals=(*args.refusals, unknown))


def override(args: Args, at: Situation) -> Args:
    """What the architecture's own entry writes: backend, page, KV dtype, radix strategy."""
    rules = [rule for rule in at.behaviour.attention if at.seen.architecture in rule.architectures]
    for rule in rules:
        if _holds(rule, args, at):
            args = _apply(rule, args, at)
            break
    if at.seen.dsa:
        page = 64 * index_pool(at)
        args = replace(args, page=page, choices=(*args.choices, msg("pages of {page} tokens: sparse latent attention fixes them", page=page)))
    return _accepted(args, rules)


def _holds(rule: SglangAttention, args: Args, at: Situation) -> bool:
    tests = {
        "": True,
        "dsa": at.seen.dsa,
        "windows": at.seen.window_layers > 0,
        "state": bool(at.seen.states),
        "block_sparse": at.seen.full is not None and at.seen.full.sparse_block_tokens is not None,
        "state_paged": _paged_state(args, at),
        "spec": args.algorithm is not None,
        "spec_tree": args.algorithm is not None and args.topk not in (None, 1),
        "nvfp4_experts": at.seen.quantization == "mxfp8" and at.seen.experts.startswith("nvfp4"),
        "kv_fp8_e4m3": args.kv_dtype == "fp8_e4m3",
    }
    capable = not rule.capabilities or at.device.sm in rule.capabilities
    return tests[rule.when] and capable and at.device.mib >= rule.over_mib


def _paged_state(args: Args, at: Situation) -> bool:
    """trtllm_mha would be the default, and the radix strategy (still `auto` here unless set) allows pages."""
    extra = args.radix and args.strategy in ("extra_buffer", "extra_buffer_lazy")
    return default_backend(args, at) == "trtllm_mha" and (extra or not args.radix or args.algorithm is not None)


def _apply(rule: SglangAttention, args: Args, at: Situation) -> Args:
    unset = args.attention is None and args.prefill is None and args.decode is None
    backend = place(rule.backend, at)
    why = args.choices
    if backend and (unset or rule.forced):
        why = (*why, msg("attention backend {backend}: what this architecture takes on this GPU", backend=backend))
        if rule.decode_only:
            args = replace(args, decode=backend)
        elif rule.split:
            args = replace(args, prefill=backend, decode=backend)
        else:
            args = replace(args, attention=backend, prefill=None if rule.forced else args.prefill, decode=None if rule.forced else args.decode)
    page, kv_dtype, strategy = place(rule.page, at), place(rule.kv_dtype, at), place(rule.strategy, at)
    chosen = unset or rule.forced or not rule.backend
    if page is not None and chosen and not (rule.page_if_unset and args.page is not None):
        args = replace(args, page=page)
    if kv_dtype and args.kv_dtype == "auto":
        args = replace(args, kv_dtype=kv_dtype)
    if strategy and args.strategy == "auto":
        args = replace(args, strategy=strategy)
    return replace(args, choices=why)


def _accepted(args: Args, rules: list[SglangAttention]) -> Args:
    for rule in rules:
        for backend in dict.fromkeys(args.backends):
            if backend is not None and ((rule.accepts and backend not in rule.accepts) or backend in rule.rejects):
                return refuse(args, "attention-not-accepted", rule.message, msg("{backend} cannot serve this architecture", backend=backend), rule.source)
    return args


def default_backend(args: Args, at: Situation) -> str:
    """get_default_attn_backend: by kind of attention and GPU."""
    seen, device = at.seen, at.device
    if seen.mla:
        return "fa3" if device.at("sm90") else "flashinfer" if device.at("sm100") else "triton"
    chain = args.topk is None or (args.topk == 1 and args.page in (None, 1))
    if device.at("sm90") and chain:
        return "fa3"
    if device.at("sm100") and chain and (args.algorithm is None or args.topk is not None or args.algorithm == "DFLASH"):
        return "fa4" if uneven_kv(at) else "trtllm_mha"
    if device.hip:
        return "aiter"
    return "triton" if seen.sinks else "flashinfer"


def uneven_kv(at: Situation) -> bool:
    """K and V rows differ in width in some kind of layer."""
    return any(m is not None and m.head_dim != m.v_head_dim for m in (at.seen.full, at.seen.window)) and not at.seen.mla


def nvfp4_prefill(args: Args, at: Situation) -> Args:
    """NVFP4 rows fix both backends; refuses a prefill backend that cannot read them."""
    if args.kv_dtype != "nvfp4":
        return args
    explicit = args.prefill or args.attention
    if explicit is not None and explicit not in _NVFP4_PREFILL.values():
        text = f"NVFP4 prefill supports an FP8 E4M3 workspace or native NVFP4, but backend {explicit!r} provides neither."
        return refuse(args, "nvfp4-prefill", text, msg("the backend of this model reads no NVFP4 rows"), "arg_groups/kv_cache_hook.py:57")
    prefill = explicit or _NVFP4_PREFILL["nvfp4" if at.device.at("sm100") else "fp8_e4m3"]
    return replace(args, prefill=prefill, decode="trtllm_mha")


def attention(args: Args, at: Situation) -> Args:
    """Fill what is still unset, then let backend and page adjust each other; refuse what the GPU cannot run."""
    if args.prefill is not None and args.prefill == args.decode:
        args = replace(args, attention=args.prefill)
    elif args.attention is None:
        backend = default_backend(args, at)
        why = msg("attention backend {backend}: the default for this kind of attention on this GPU", backend=backend)
        args = replace(args, attention=backend, choices=(*args.choices, why))
    args = _capable(_pages(args), at)
    if args.attention == "fa3" and args.kv_dtype == "fp8_e5m2":
        args = replace(args, attention="triton", choices=(*args.choices, msg("fa3 reads no fp8_e5m2 rows: triton takes over")))
    if "fa4" in (args.attention, args.prefill, args.decode) and not at.seen.mla and at.device.at("sm100") and (args.topk or 0) <= 1:
        args = replace(args, page=128)
    if args.attention == "aiter" and args.context > 8192 and args.mem_fraction is not None:
        args = replace(args, mem_fraction=args.mem_fraction * 0.85)
    disable = at.seen.architecture == "DeepseekV3ForCausalLM" and args.backends[0] == "trtllm_mla" and not args.prefill_graph_set
    return replace(args, prefill_graph="disabled") if disable else args


def _pages(args: Args) -> Args:
    page, used = args.page, (args.attention, args.prefill, args.decode)
    if "flashmla" in (args.attention, args.decode):
        page = 64
    if ("trtllm_mla" in (args.attention, args.decode) or "cutedsl_mla" in used) and page not in (32, 64):
        page = 64
    if "trtllm_mha" in used and page not in (16, 32, 64, 128):
        page = 64
    if "hpc_ops" in used:
        page = 64
    if page != args.page:
        why = msg("pages of {page} tokens: {backend} fixes them", page=page, backend=args.backends[1])
        args = replace(args, page=page, choices=(*args.choices, why))
    return args


def _fa3(args: Args, at: Situation) -> Args:
    used, device = (args.attention, args.prefill, args.decode), at.device
    if "fa3" not in used or device.sm is None or device.major == 9 or (device.major == 8 and not at.seen.mla):
        return args
    text = "FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`."
    return refuse(args, "fa3-gpu", text, msg("its kernels are built for sm_80 to sm_90"), "layers/attention/attention_registry.py:243")


def _capable(args: Args, at: Situation) -> Args:
    args, device = _fa3(args, at), at.device
    prefill, decode = args.backends
    if "trtllm_mla" in (args.attention, args.decode):
        if not device.at("blackwell"):
            text = "TRTLLM MLA backend is only supported on Blackwell GPUs (SM100/SM12x). Please use a different backend."
            args = refuse(args, "trtllm-mla-gpu", text, msg("the kernels are built for sm_100 and sm_120"), "arg_groups/overrides.py:1243")
        elif args.kv_dtype not in ("fp8_e4m3", "bf16", "auto"):
            text = "TensorRT-LLM MLA backend only supports kv-cache-dtype of fp8_e4m3, bf16, or auto."
            args = refuse(args, "trtllm-mla-kv", text, msg("no other row format has kernels there"), "arg_groups/overrides.py:1248")
    if "cutedsl_mla" in (args.attention, args.prefill, args.decode) and not device.at("sm100"):
        text = "CuteDSL MLA backend is only supported on Blackwell GPUs (SM100). Please use a different backend."
        args = refuse(args, "cutedsl-mla-gpu", text, msg("the kernels are built for sm_100"), "arg_groups/overrides.py:1282")
    runs = device.at("sm90") or device.at("sm100") or device.at("sm120")
    if prefill == "trtllm_mha" and not runs:
        text = "TRTLLM MHA backend for prefill requires Hopper (SM90), Blackwell (SM100), or SM120 GPUs. Please use a different prefill backend."
        args = refuse(args, "trtllm-mha-gpu", text, msg("the GPU is older"), "arg_groups/attention_hook.py:191")
    elif decode == "trtllm_mha" and not runs:
        text = "TRTLLM MHA backend for decode is only supported on Hopper (SM90), Blackwell (SM100) and (SM120) GPUs. Please use a different decode backend."
        args = refuse(args, "trtllm-mha-gpu", text, msg("the GPU is older"), "arg_groups/attention_hook.py:211")
    if prefill == "trtllm_mha" and device.at("sm120") and args.kv_dtype == "fp8_e4m3":
        text = "TRTLLM FMHAv2 prefill on SM120 does not support fp8_e4m3 KV cache or skip-softmax."
        args = refuse(args, "trtllm-mha-sm120-fp8", text, msg("its prefill kernel there reads 16-bit rows only"), "arg_groups/attention_hook.py:205")
    return args


def kv_formats(args: Args, at: Situation) -> Args:
    """4-bit and mxfp8 caches against GPU and backend."""
    if args.kv_dtype == "mxfp8" and not at.device.at("blackwell"):
        text = "--kv-cache-dtype mxfp8 requires an SM100+ (Blackwell) GPU for the block-scaled operands used by the FA4 MXFP8 attention path."
        return refuse(args, "mxfp8-kv-gpu", text, msg("the GPU has no block-scaled operands"), "arg_groups/kv_cache_hook.py:106")
    if args.kv_dtype not in ("nvfp4", "fp4_mx_block16"):
        return args
    if args.kv_dtype == "nvfp4" and not (at.device.at("sm100") or at.device.at("sm120")):
        return refuse(args, "nvfp4-kv-gpu", _NVFP4_NEEDS, msg("the GPU has no FP4 units"), "arg_groups/kv_cache_hook.py:126")
    prefill, decode = args.backends
    if prefill != decode and prefill != "fa4":
        return args
    allowed, kind = (_FP4_MLA, "MLA") if at.seen.mla else (_FP4_MHA, "MHA")
    if prefill != "fa4" and args.attention not in allowed:
        text = f"KV4 {kind} expects attention_backend to be one of {list(allowed)}, but got {args.attention}"
        return refuse(args, "kv4-backend", text, msg("that backend reads no 4-bit rows"), "arg_groups/kv_cache_hook.py:300")
    return args


def page_default(args: Args) -> Args:
    """One token a page unless something asked for more."""
    return args if args.page is not None else replace(args, page=1)
