"""vLLM's automatic choices for one model on one GPU, in plain words: dtype, backends, block, scheduler, and every refusal.

`resolve` is the reader's view of `plan`; nothing is decided here.
"""

from collections.abc import Iterator

from serveright.engines.vllm.plan import Plan
from serveright.engines.vllm.runner import request_tables
from serveright.engines.vllm.words import itemsize, plain_word
from serveright.types.engine import Resolved, Settings
from serveright.types.model import Latent, ModelShape
from serveright.types.text import Msg, msg

_INDEXERS = ("DEEPSEEK_V32_INDEXER", "DEEPSEEK_V4_INDEXER", "DEEPSEEK_V41_INDEXER", "MINIMAX_M3_SPARSE_INDEXER")
_SIDE = ("DEEPSEEK_SPARSE_SWA", "CompressorBackend")


def resolved(plan: Plan, shape: ModelShape, settings: Settings) -> Resolved:
    """The choices of a plan."""
    site, times = plan.site, plan.schedule
    decode = next((r.name for r in plan.readers if not r.state and r.name not in _INDEXERS and r.name not in _SIDE), "none")
    states = next((r.name for r in plan.readers if r.state), None)
    known = not any(r.code == "layout_unknown" for r in plan.refusals)
    return Resolved(
        engine="vllm",
        version=site.behaviour.version,
        attention_prefill=prefill_backend(shape, plan, decode) if known else "unknown",
        attention_decode=decode if known else "unknown",
        indexer=next((r.name for r in plan.readers if r.name in _INDEXERS), None) if known else None,
        moe=plan.experts,
        kv_dtype=plain_word(site.cache_dtype, site.model_dtype),
        kv_itemsize=0.5625 if site.cache_dtype.startswith("nvfp4") else itemsize(site.cache_dtype, site.model_dtype),
        block_tokens=plan.block,
        mem_fraction=settings.mem_fraction or site.behaviour.mem_fraction,
        token_budget=times.token_budget,
        max_num_seqs=times.max_num_seqs,
        in_flight_tokens=times.in_flight_tokens,
        max_graph_batch=times.max_graph_batch,
        prefix_caching=plan.prefix_caching,
        state_mode=plan.state_mode,
        state_dtype=plan.state_dtype,
        refusals=plan.refusals,
        choices=tuple(_choices(plan, shape, settings, decode)),
        extra={
            "cache_dtype": site.cache_dtype,
            "page_layout": plan.page_layout,
            "async_scheduling": times.async_scheduling,
            "backends": ",".join(sorted(r.name for r in plan.readers)),
            **({"state_backend": states} if states else {}),
        },
    )


def prefill_backend(shape: ModelShape, plan: Plan, decode: str) -> str:
    """What computes the prompt: latent models unpack rows for a dense kernel, sparse and plain ones use the decode backend."""
    latent = [m for layer in shape.layers for m in layer.mixers if isinstance(m, Latent)]
    if not latent or latent[0].indexer or plan.site.behaviour.model_backends.get(plan.site.architecture) in ("deepseek_v4", "deepseek_v41"):
        return decode
    m = latent[0]
    if plan.site.device.vendor == "amd":
        return "AITER_FLASH_ATTN"
    if plan.site.device.major == 10 and (m.nope_dim, m.rope_dim, m.v_head_dim) == (192, 64, 256):
        return "TRTLLM_RAGGED"
    return "FLASH_ATTN"


def _choices(plan: Plan, shape: ModelShape, settings: Settings, decode: str) -> Iterator[Msg]:
    site, times, choice = plan.site, plan.schedule, plan.choice
    if plan.experts and not settings.moe_backend:
        yield msg("expert kernel on this GPU: {kernel}", kernel=plan.experts)
    if shape.model_type in site.behaviour.head_dim_overwritten and plan.state_mode:
        yield msg(
            "transformers' own config class replaces head_dim by the rope part's width, and linear layers take it for theirs; the repository's class "
            "(--trust-remote-code) keeps the config's"
        )
    if settings.kv_dtype is None:
        yield msg("KV cache dtype left to vLLM: it stores {dtype}", dtype=plain_word(site.cache_dtype, site.model_dtype))
    if not settings.attention_backend:
        yield msg("attention backend on this GPU: {backend}", backend=decode)
    if choice.state_bytes:
        yield msg(
            "a recurrent state of {state:gib} must fit one attention page of {token} bytes per token, so the block grows to {block} tokens",
            state=choice.state_bytes,
            token=choice.token_bytes,
            block=choice.block,
        )
    elif choice.block != site.behaviour.default_block and not settings.block_tokens:
        yield msg("block of {block} tokens: the smallest that {backend} takes", block=choice.block, backend=decode)
    if settings.token_budget is None:
        yield msg("{budget:n} tokens per step and {seqs:n} running requests by the GPU's memory and name", budget=times.token_budget, seqs=times.max_num_seqs)
    if plan.second_runner:
        tables = request_tables(shape, times, second=True)
        yield msg(
            "the second model runner serves: counts of the whole vocabulary for {seqs:n} requests take {tables:gib}", seqs=times.max_num_seqs, tables=tables
        )
    if plan.state_mode:
        yield msg("recurrent states are cached in mode {mode}", mode=plan.state_mode)
    if times.in_flight_tokens > times.token_budget:
        yield msg("up to {tokens:n} scheduled tokens may be unsettled; windowed layers keep room for them", tokens=times.in_flight_tokens)
