"""Settings -> everything SGLang decides before it sees free memory, in its own order (arg_groups/pipeline.py)."""

from msgspec.structs import replace

from serveright.engines.sglang import backends, dsa, memory, moe, spec, state
from serveright.engines.sglang.args import Args, Situation, given
from serveright.engines.sglang.refuse import refuse
from serveright.engines.sglang.seen import device_of, see
from serveright.types.engine import Refusal, Resolved, Settings
from serveright.types.hardware import Gpu
from serveright.types.model import Checkpoint, ModelShape, UnknownMixer
from serveright.types.sglang import SglangBehaviour
from serveright.types.text import Msg, msg

_WORDS = {"bfloat16": "bf16", "bf16": "bf16"}
_ITEMS = {"bf16": 2.0, "fp16": 2.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "mxfp8": 1.0, "nvfp4": 0.5, "fp4_mx_block16": 0.5}
_MOST_RUNNING = 4096
"""The engine never plans for more requests (resolve_max_num_reqs)."""


def situation(shape: ModelShape, checkpoint: Checkpoint, gpu: Gpu, behaviour: SglangBehaviour, drafter: ModelShape | None = None) -> Situation:
    """What stays the same while settings vary."""
    return Situation(seen=see(shape, checkpoint, behaviour, drafter), device=device_of(gpu, behaviour), behaviour=behaviour)


def decide(at: Situation, settings: Settings) -> Args:
    """The launch arguments, decided to the end; `refusals` hold what would stop the start, first one first."""
    args = _understood(_kv_word_known(given(settings, at.seen), at), at)
    args = _context(backends.platform(args, at), at, settings)
    args = memory.graphs(args, at)
    args = memory.memory_defaults(args, at)
    args = moe.declare_quantization(args, at)
    args = backends.override(args, at)
    args = _defaults(args, at)
    args = _v4(args, at)
    args = dsa.dsa_defaults(args, at)
    args = state.strategy(args, at)
    args = backends.nvfp4_prefill(args, at)
    args = backends.attention(args, at)
    args = backends.kv_formats(args, at)
    args = backends.page_default(args)
    args = _attention_dp(args, at)
    args = moe.runner(args, at)
    args = moe.all_to_all(args)
    args = spec.speculation(args, at)
    return _last(args, at)


def resolve(shape: ModelShape, checkpoint: Checkpoint, gpu: Gpu, behaviour: SglangBehaviour, settings: Settings) -> Resolved:
    """Every automatic choice of one SGLang version for a model, a GPU and the user's settings.

    `max_num_seqs` is the engine's upper limit until the pool is known. Source: arg_groups/ of the version's wheel.
    """
    at = situation(shape, checkpoint, gpu, behaviour)
    return resolved_of(decide(at, settings), at)


def resolved_of(args: Args, at: Situation) -> Resolved:
    """The public face of decided arguments."""
    prefill, decode = args.backends
    dtype = kv_word(args, at)
    return Resolved(
        engine="sglang",
        version=at.behaviour.version,
        attention_prefill=prefill or "",
        attention_decode=decode or "",
        indexer=f"{args.dsa_prefill}/{args.dsa_decode}" if at.seen.dsa else None,
        moe=args.moe,
        kv_dtype=dtype,
        kv_itemsize=_ITEMS.get(dtype, 2.0),
        block_tokens=args.page or 1,
        mem_fraction=args.mem_fraction or 0.0,
        token_budget=args.chunk or 0,
        max_num_seqs=args.max_running if args.max_running is not None else _MOST_RUNNING,
        max_graph_batch=(args.decode_graph_batch or 0) if args.decode_graph else 0,
        prefix_caching=args.radix,
        state_mode=(args.strategy if args.radix else "radix_off") if state.has_state(at.seen) else None,
        state_dtype=state.state_dtype(args, at) if at.seen.states else None,
        refusals=args.refusals,
        choices=args.choices,
        extra=_extra(args, at),
    )


def kv_word(args: Args, at: Situation) -> str:
    """The stored precision: the flag's, or for `auto` ModelOpt's FP8 scheme and else the model's dtype."""
    if args.kv_dtype != "auto":
        return _WORDS.get(args.kv_dtype, args.kv_dtype)
    if at.seen.kv_scheme == "fp8":
        return "fp8_e4m3"
    return at.seen.dtype if at.seen.dtype in _ITEMS else "bf16"


def _extra(args: Args, at: Situation) -> dict[str, str | int | float | bool]:
    pairs: dict[str, str | int | float | bool | None] = {
        "attention_backend": args.attention,
        "dsa_prefill_backend": args.dsa_prefill if at.seen.dsa else None,
        "dsa_decode_backend": args.dsa_decode if at.seen.dsa else None,
        "prefill_graph": args.prefill_graph,
        "prefill_graph_tokens": args.prefill_graph_tokens,
        "overlap_schedule": args.overlap,
        "ep_size": args.ep,
        "speculative_algorithm": args.algorithm,
        "speculative_num_steps": args.steps if args.algorithm else None,
        "speculative_num_draft_tokens": args.draft_tokens if args.algorithm else None,
        "state_slots_per_request": state.slots_per_request(args, at) if state.has_state(at.seen) else None,
    }
    return {key: value for key, value in pairs.items() if value is not None}


def _kv_word_known(args: Args, at: Situation) -> Args:
    """A precision this version cannot parse is refused, and the default is computed instead. `fp4_e2m1` is how older versions call blocks of 16."""
    words, asked = at.behaviour.constants.kv_words, args.kv_dtype
    if asked in words:
        return replace(args, kv_dtype="fp4_mx_block16") if asked == "fp4_e2m1" else args
    text = f"argument --kv-cache-dtype: invalid choice: '{asked}' (choose from {', '.join(repr(w) for w in words)})"
    why = msg("SGLang {version} knows no KV cache dtype {dtype}", version=at.behaviour.version, dtype=asked)
    return refuse(replace(args, kv_dtype="auto"), "kv-dtype-unknown", text, why, "arg_groups/fields/model.py:197")


def _understood(args: Args, at: Situation) -> Args:
    """What is not understood here is refused in our own words: a size computed without it would be a guess."""
    seen = at.seen
    names = sorted({m.name for layer in seen.layers for m in layer.mixers if isinstance(m, UnknownMixer)})
    whys: list[Msg] = []
    if names:
        whys.append(msg("layers of kind {names} are unknown here: their cache cannot be derived", names=", ".join(names)))
    if seen.dtype not in _ITEMS and seen.kv_scheme != "fp8":
        whys.append(msg("the config's number type {dtype} is none a model computes in", dtype=seen.dtype))
    found = tuple(Refusal(code="sglang-not-understood", text="", why=why) for why in whys)
    return replace(args, refusals=(*args.refusals, *found))


def _context(args: Args, at: Situation, settings: Settings) -> Args:
    wanted = settings.context_tokens
    if wanted is None or not at.seen.context or wanted <= at.seen.context:
        return args
    text = f"Warning: User-specified context_length ({wanted}) is greater than the derived context_length ({at.seen.context})."
    why = msg("the model was made for {limit:n} tokens; SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 overrides it", limit=at.seen.context)
    return refuse(args, "context-too-long", text, why, "configs/model_config.py:1300")


def _defaults(args: Args, at: Situation) -> Args:
    for entry in at.behaviour.defaults:
        if at.seen.architecture not in entry.architectures:
            continue
        if args.swa_ratio is None and entry.swa_full_tokens_ratio is not None:
            args = replace(args, swa_ratio=entry.swa_full_tokens_ratio, swa_ratio_set=True)
        if args.mamba_ratio is None and entry.mamba_full_memory_ratio is not None:
            args = replace(args, mamba_ratio=entry.mamba_full_memory_ratio)
        if args.max_running is None and entry.max_running_requests is not None:
            why = msg("at most {count} running requests: this architecture's default", count=entry.max_running_requests)
            args = replace(args, max_running=entry.max_running_requests, choices=(*args.choices, why))
    return args


def _v4(args: Args, at: Situation) -> Args:
    if not at.seen.v4:
        return args
    if args.kv_dtype == "auto":
        args = replace(args, kv_dtype="fp8_e4m3", choices=(*args.choices, msg("KV cache dtype fp8_e4m3: the only layout of compressed rows")))
    if args.kv_dtype not in ("fp8_e4m3", "bfloat16"):
        text = f"{args.kv_dtype} is not supported for DeepseekV4ForCausalLM"
        why = msg("the flag takes fp8_e4m3 or bfloat16 spelt out, and both store the same rows")
        args = refuse(args, "v4-kv-dtype", text, why, "arg_groups/overrides.py:907")
    if args.dsv4_backend == "auto":
        mega = (
            at.seen.architecture == "DeepseekV41ForCausalLM"
            and at.device.at("sm100")
            and args.kv_dtype == "fp8_e4m3"
            and not (args.role == "null" and args.attn_tp > 1)
        )
        args = replace(args, dsv4_backend="flashmla_mega" if mega else "flashmla")
    if args.algorithm is not None and args.algorithm not in ("EAGLE", "DSPARK"):
        text = "Only EAGLE and DSPARK speculative algorithms are supported for DeepseekV4ForCausalLM"
        args = refuse(args, "v4-spec", text, msg("its compressed rows need a draft that knows them"), "arg_groups/deepseek_v4_hook.py:141")
    if args.algorithm == "EAGLE" and args.topk != 1:
        text = "Only EAGLE speculative algorithm with topk == 1 is supported for DeepseekV4ForCausalLM"
        args = refuse(args, "v4-spec-topk", text, msg("set --speculative-eagle-topk 1"), "arg_groups/deepseek_v4_hook.py:148")
    if at.seen.architecture == "DeepseekV41ForCausalLM" and args.algorithm not in (None, "DSPARK"):
        text = "DeepSeek-V4.1 does not support speculative decoding other than DSpark yet"
        args = refuse(args, "v41-spec", text, msg("its draft head is a DSpark one"), "arg_groups/deepseek_v4_hook.py")
    return args


def _attention_dp(args: Args, at: Situation) -> Args:
    if args.attn_dp == 1:
        return args
    chunk = (args.chunk or 0) // args.attn_dp
    why = msg("each of {count} attention ranks prefills {chunk:n} tokens at a time", count=args.attn_dp, chunk=chunk)
    tokens = args.prefill_graph_tokens
    if args.prefill_graph != "disabled" and tokens is not None and tokens > chunk:
        tokens = chunk
    return replace(args, chunk=chunk, prefill_graph_tokens=tokens, choices=(*args.choices, why))


def _last(args: Args, at: Situation) -> Args:
    if at.behaviour.listed("chunking_off", at.seen.architecture):
        args = replace(args, chunk=-1)
    page, chunk = args.page or 1, args.chunk or 0
    if chunk > 0 and chunk % page:
        why = msg("{chunk} is no multiple of {page}", chunk=chunk, page=page)
        args = refuse(args, "chunk-page", "chunked_prefill_size must be divisible by page_size", why, "arg_groups/validation_hook.py:244")
    for heads in at.seen.heads:
        if heads % args.attn_tp:
            why = msg("{heads} attention heads cannot be split over {tp} ranks", heads=heads, tp=args.attn_tp)
            args = refuse(args, "heads-not-divisible", "assert self.total_num_heads % attn_tp_size == 0", why, "models/*.py (when the model is built)")
    try:
        state.slot_bytes(args, at)
    except ValueError as error:
        args = refuse(args, "state-not-divisible", str(error), msg("the recurrent state splits by whole heads"), "configs/mamba_utils.py:280 divide")
    return args
