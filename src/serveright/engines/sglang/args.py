"""The launch arguments SGLang works on, as one frozen record: first what the user set, then more and more of it decided."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from serveright.engines.sglang.seen import Device, Seen
from serveright.types.engine import Refusal, Settings
from serveright.types.sglang import SglangBehaviour, Where
from serveright.types.text import Msg

T = TypeVar("T")
EAGLE = ("EAGLE", "EAGLE3", "STANDALONE")
BLOCKS = ("DFLASH", "DSPARK")
"""Algorithms whose draft writes a block at once, with rows sized by its own heads."""
_METHODS = {"mtp": "EAGLE", "nextn": "EAGLE", "eagle": "EAGLE", "eagle3": "EAGLE3", "standalone": "STANDALONE", "draft_model": "STANDALONE", "ngram": "NGRAM"}


class Args(Struct, frozen=True, kw_only=True):
    """SGLang's ServerArgs, as far as they decide memory. None and `auto` mean: not decided yet. `tp` counts the GPUs of one stage (SGLang's --tp)."""

    tp: int
    pp: int
    attn_dp: int
    dcp: int
    ep: int
    attention: str | None
    prefill: str | None
    decode: str | None
    dsa_prefill: str | None
    dsa_decode: str | None
    dsv4_backend: str
    kv_dtype: str
    page: int | None
    chunk: int | None
    max_running: int | None
    mem_fraction: float | None
    decode_graph: bool
    decode_graph_batch: int | None
    prefill_graph: str
    prefill_graph_tokens: int | None
    prefill_graph_set: bool
    moe: str
    a2a: str
    quantization: str | None
    radix: bool
    overlap: bool
    strategy: str
    state_radix: bool
    state_dtype: str | None
    linear_backend: str
    swa_ratio: float | None
    swa_ratio_set: bool
    mamba_ratio: float | None
    max_states: int | None
    max_total_tokens: int | None
    two_pools: bool
    v4_pools: bool
    prefix_tails: int | None
    algorithm: str | None
    steps: int | None
    topk: int | None
    draft_tokens: int | None
    context: int
    language_only: bool
    transport: str | None
    role: str
    extra_slots: int | None
    track_interval: int
    choices: tuple[Msg, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def attn_tp(self) -> int:
        """Shards of one attention rank."""
        return max(1, self.tp // self.attn_dp)

    @property
    def backends(self) -> tuple[str | None, str | None]:
        """Attention backend of prefill and of decode."""
        return self.prefill or self.attention, self.decode or self.attention


class Situation(Struct, frozen=True, kw_only=True):
    """What does not change while the arguments are decided."""

    seen: Seen
    device: Device
    behaviour: SglangBehaviour


KV_WORDS = {"fp8": "fp8_e4m3"}
"""The common word for a precision -> SGLang's."""


def given(settings: Settings, seen: Seen) -> Args:
    """The arguments as the user set them; `extra` flags are named without their dashes."""
    extra = settings.extra
    parallel = settings.parallel
    spec = extra.get("speculative-algorithm") or settings.speculative_method
    tokens = settings.speculative_tokens
    ratio = _float(extra.get("swa-full-tokens-ratio"))
    graph = extra.get("cuda-graph-backend-prefill") or ("disabled" if settings.eager or "disable-prefill-cuda-graph" in extra else None)
    return Args(
        tp=parallel.tp * parallel.dp,
        pp=parallel.pp,
        attn_dp=parallel.dp,
        dcp=parallel.dcp,
        ep=1 if parallel.ep == 1 else parallel.ep,
        attention=settings.attention_backend,
        prefill=extra.get("prefill-attention-backend"),
        decode=extra.get("decode-attention-backend"),
        dsa_prefill=extra.get("dsa-prefill-backend"),
        dsa_decode=extra.get("dsa-decode-backend"),
        dsv4_backend=extra.get("dsv4-attn-backend", "auto"),
        kv_dtype=KV_WORDS.get(settings.kv_dtype or "auto", settings.kv_dtype or "auto"),
        page=settings.block_tokens,
        chunk=settings.token_budget,
        max_running=settings.max_num_seqs,
        mem_fraction=settings.mem_fraction,
        decode_graph=not settings.eager and "disable-decode-cuda-graph" not in extra,
        decode_graph_batch=settings.max_graph_batch,
        prefill_graph=graph or "breakable",
        prefill_graph_tokens=_int(extra.get("cuda-graph-max-bs-prefill")),
        prefill_graph_set=graph is not None,
        moe=settings.moe_backend or "auto",
        a2a=settings.all2all_backend or "none",
        quantization=extra.get("quantization"),
        radix=settings.prefix_caching is not False,
        overlap=settings.async_scheduling is not False and parallel.pp == 1,
        strategy=extra.get("mamba-radix-cache-strategy", "auto"),
        state_radix=False,
        state_dtype=settings.state_dtype,
        linear_backend=extra.get("linear-attn-backend", "triton"),
        swa_ratio=ratio,
        swa_ratio_set=ratio is not None,
        mamba_ratio=_float(extra.get("mamba-full-memory-ratio")),
        max_states=_int(extra.get("max-mamba-cache-size")),
        max_total_tokens=_int(extra.get("max-total-tokens")),
        two_pools=seen.two_pools and "disable-hybrid-swa-memory" not in extra,
        v4_pools=seen.v4 and "disable-hybrid-swa-memory" not in extra,
        prefix_tails=_int(extra.get("swa-prefix-tails")),
        algorithm=_METHODS.get(spec.lower(), spec.upper()) if spec else None,
        steps=_int(extra.get("speculative-num-steps")) or (tokens or None),
        topk=_int(extra.get("speculative-eagle-topk")) or (1 if tokens else None),
        draft_tokens=_int(extra.get("speculative-num-draft-tokens")) or (tokens + 1 if tokens else None),
        context=settings.context_tokens or seen.context,
        language_only=settings.language_only,
        transport=extra.get("mm-feature-transport"),
        role=extra.get("disaggregation-mode", "null"),
        extra_slots=_int(extra.get("disaggregation-decode-extra-slots")),
        track_interval=_int(extra.get("mamba-track-interval")) or 256,
    )


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)


def _float(text: str | None) -> float | None:
    return None if text is None else float(text)


def place(places: Mapping[Where, T], at: Situation) -> T | None:
    """The first value whose place names this device."""
    return next((value for where, value in places.items() if at.device.at(where)), None)
