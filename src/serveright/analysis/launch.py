"""Step 5's words: the flags of the command, each with its reason, what is left to the engine and why, and the smallest first launch.

Only flags that the version's table knows are written; a decision that this version has no flag for is said instead of dropped.
"""

from collections.abc import Iterator

from msgspec import Struct

from serveright.analysis.alignment import alignment
from serveright.types.design import FlagChoice, Launch, LeftToEngine
from serveright.types.engine import Settings, Sized
from serveright.types.engine_table import EngineName, EngineTable
from serveright.types.model import Attention, Checkpoint, Latent, ModelShape, Recurrent
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

CONTEXT = {"vllm": "--max-model-len", "sglang": "--context-length"}
MEMORY = {"vllm": "--gpu-memory-utilization", "sglang": "--mem-fraction-static"}
EXCHANGE = {"vllm": "--all2all-backend", "sglang": "--moe-a2a-backend"}
AITER = "VLLM_ROCM_USE_AITER"
"""AMD's kernels for experts and attention; off by default in vLLM, and slower by a factor without (rule ARCH09)."""
FIRST_CONTEXT = 8192
FIRST_MEMORY = 0.8
"""The first launch leaves room: it shall prove model, kernels and parsers, not capacity."""


class Words(Struct, frozen=True, kw_only=True):
    """What step 4 found out, as names: parsers with the sentence that says why."""

    tool_parser: str | None = None
    tool_why: Msg | None = None
    reasoning_parser: str | None = None
    reasoning_why: Msg | None = None


class Subject(Struct, frozen=True, kw_only=True):
    """Everything a command depends on."""

    table: EngineTable
    shape: ModelShape
    checkpoint: Checkpoint
    sized: Sized
    traffic: Traffic
    words: Words
    model: str
    engine_flags: tuple[tuple[str, str | None], ...]
    """The engine's own spelling of the settings (parallelism, precision, limits)."""
    reasons: dict[str, Msg] = {}
    """Reasons the search had for a setting (or for leaving it to the engine), by field of `Settings`."""

    @property
    def engine(self) -> EngineName:
        """vllm or sglang."""
        return self.table.engine

    @property
    def settings(self) -> Settings:
        """What was decided."""
        return self.sized.settings

    def knows(self, flag: str) -> bool:
        """The version's table has this flag."""
        return any(flag == f.name or flag in f.aliases for f in self.table.flags)


def launch(subject: Subject) -> Launch:
    """The whole command."""
    flags = tuple(_flags(subject))
    return Launch(
        engine=subject.engine,
        version=subject.table.version,
        model=subject.model,
        flags=flags,
        env=dict(_environment(subject)),
        left_to_engine=tuple(left for left in _left(subject) if left.flag not in {f.flag for f in flags}),
        first_launch=tuple(_first(subject, flags)),
    )


def _flags(subject: Subject) -> Iterator[FlagChoice]:
    for flag, value in subject.engine_flags:
        yield FlagChoice(flag=flag, value=value, why=_setting_reason(flag, subject))
    context, longest = subject.settings.context_tokens, subject.shape.max_context_tokens
    if context is not None and context != longest and CONTEXT[subject.engine] not in {f for f, _ in subject.engine_flags}:
        yield FlagChoice(flag=CONTEXT[subject.engine], value=str(context), why=_context_reason(context, longest))
    yield from _parsers(subject)
    if subject.shape.remote_code:
        yield FlagChoice(flag="--trust-remote-code", value=None, why=msg("the config's auto_map points to code in the repository; read that code first"))
    yield from _multimodal(subject)
    if subject.traffic.reproducible:
        yield from _reproducible(subject)
    if subject.engine == "sglang":
        yield FlagChoice(flag="--enable-metrics", value=None, why=msg("SGLang serves /metrics only when asked to"))


def _context_reason(context: int, longest: int | None) -> Msg:
    if longest is None:
        return msg("the longest request to serve; the config names no limit")
    return msg("the longest request to serve; the model could go to {longest:n}, and the engine would insist on room for one such request", longest=longest)


_REASONS = {
    "tensor": msg("each layer is split over so many GPUs"),
    "tp": msg("each layer is split over so many GPUs"),
    "pipeline": msg("layers are split over so many stages, because one node is not enough"),
    "pp": msg("layers are split over so many stages, because one node is not enough"),
    "data": msg("so many attention ranks with a cache of their own, because tensor parallelism would copy this cache to every GPU"),
    "dp": msg("so many attention ranks with a cache of their own, because tensor parallelism would copy this cache to every GPU"),
    "attn-dp": msg("so many attention ranks with a cache of their own, because tensor parallelism would copy this cache to every GPU"),
    "enable-dp-attention": msg("so many attention ranks with a cache of their own, because tensor parallelism would copy this cache to every GPU"),
    "enable-expert-parallel": msg("whole experts stay on one GPU; tokens travel instead of expert slices"),
    "ep": msg("whole experts stay on one GPU; tokens travel instead of expert slices"),
    "all2all": msg("the way tokens travel to their experts, fitting this topology and phase"),
    "moe-a2a": msg("the way tokens travel to their experts, fitting this topology and phase"),
    "decode-context": msg("the cache of one sequence is split over ranks that would otherwise hold copies"),
    "dcp": msg("the cache of one sequence is split over ranks that would otherwise hold copies"),
    "kv-cache-dtype": msg("the cache precision asked for"),
    "spec": msg("the model's own prediction layers draft tokens that one step verifies"),
    "max-num-seqs": msg("the batch limit asked for"),
    "max-running": msg("the batch limit asked for"),
    "max-model-len": msg("the longest request to serve"),
    "context-length": msg("the longest request to serve"),
}


def _setting_reason(flag: str, subject: Subject) -> Msg:
    """The reason of a flag that spells a setting, by the longest matching stem of its name."""
    name = flag.lstrip("-")
    if name in ("max-model-len", "context-length") and subject.settings.context_tokens:
        return _context_reason(subject.settings.context_tokens, subject.shape.max_context_tokens)
    if flag in EXCHANGE.values() and "all2all_backend" in subject.reasons:
        return subject.reasons["all2all_backend"]
    stems = [stem for stem in _REASONS if name.startswith(stem)]
    return _REASONS[max(stems, key=len)] if stems else msg("asked for")


def _parsers(subject: Subject) -> Iterator[FlagChoice]:
    words = subject.words
    if words.tool_parser:
        if subject.engine == "vllm":
            yield FlagChoice(flag="--enable-auto-tool-choice", value=None, why=msg("without it vLLM answers tool requests with an error or plain text"))
        yield FlagChoice(flag="--tool-call-parser", value=words.tool_parser, why=words.tool_why or msg("the format this model writes tool calls in"))
    if words.reasoning_parser:
        yield FlagChoice(flag="--reasoning-parser", value=words.reasoning_parser, why=words.reasoning_why or msg("separates thinking from the answer"))


def _multimodal(subject: Subject) -> Iterator[FlagChoice]:
    if not subject.shape.towers:
        return
    if not subject.traffic.images_per_request:
        if subject.settings.language_only and subject.knows("--language-model-only"):
            yield FlagChoice(flag="--language-model-only", value=None, why=msg("text only: the towers take no memory and no profiling run"))
        elif subject.settings.language_only and subject.engine == "vllm":
            limits = '{"image":0,"video":0}'
            yield FlagChoice(flag="--limit-mm-per-prompt", value=limits, why=msg("text only: no image may come, so profiling reserves nothing for the encoder"))
        return
    many = subject.settings.parallel.tp > 1
    if subject.engine == "vllm":
        if many and subject.knows("--mm-encoder-tp-mode"):
            yield FlagChoice(
                flag="--mm-encoder-tp-mode", value="data", why=msg("the encoder is small: each GPU takes whole images instead of exchanging every layer")
            )
        if many and subject.knows("--mm-processor-cache-type"):
            yield FlagChoice(flag="--mm-processor-cache-type", value="shm", why=msg("several worker processes share processed images through shared memory"))
    elif many and subject.knows("--mm-enable-dp-encoder"):
        yield FlagChoice(
            flag="--mm-enable-dp-encoder", value=None, why=msg("the encoder is small: each GPU takes whole images instead of exchanging every layer")
        )


def _reproducible(subject: Subject) -> Iterator[FlagChoice]:
    if subject.engine == "vllm":
        yield FlagChoice(flag="--no-enable-prefix-caching", value=None, why=msg("a cached prefix takes another path through the kernels than a computed one"))
    else:
        if subject.knows("--enable-deterministic-inference"):
            yield FlagChoice(flag="--enable-deterministic-inference", value=None, why=msg("kernels whose sums do not depend on the batch"))
        yield FlagChoice(flag="--disable-radix-cache", value=None, why=msg("a cached prefix takes another path through the kernels than a computed one"))


def _environment(subject: Subject) -> Iterator[tuple[str, str]]:
    if subject.traffic.reproducible and subject.engine == "vllm" and "VLLM_BATCH_INVARIANT" in subject.table.environment:
        yield "VLLM_BATCH_INVARIANT", "1"
    if AITER in subject.settings.extra and AITER in subject.table.environment:
        yield AITER, subject.settings.extra[AITER]


def _first(subject: Subject, flags: tuple[FlagChoice, ...]) -> Iterator[FlagChoice]:
    """Everything that decides whether it starts, nothing that only tunes it."""
    tuning = ("spec", CONTEXT[subject.engine].lstrip("-"), MEMORY[subject.engine].lstrip("-"), "max-num-seqs", "max-running")
    for flag in flags:
        if not flag.flag.lstrip("-").startswith(tuning):
            yield flag
    longest = subject.settings.context_tokens or subject.shape.max_context_tokens or FIRST_CONTEXT
    yield FlagChoice(flag=CONTEXT[subject.engine], value=str(min(FIRST_CONTEXT, longest)), why=msg("short, so that capacity cannot be the reason of a failure"))
    share = max(FIRST_MEMORY, _needed_share(subject.sized))
    yield FlagChoice(flag=MEMORY[subject.engine], value=f"{share:.2f}", why=msg("leaves room beside the engine; raise it once the start-up log is understood"))


def _needed_share(sized: Sized) -> float:
    """The least share of memory that holds weights and overhead with some cache, rounded up to 0.01."""
    memory = sized.memory
    need = (memory.weights_bytes + memory.overhead_bytes) / memory.device_bytes + 0.03
    return min(0.95, -(-need * 100 // 1) / 100)


def _left(subject: Subject) -> Iterator[LeftToEngine]:
    resolved, engine = subject.sized.resolved, subject.engine
    backend = (
        resolved.attention_decode if resolved.attention_decode == resolved.attention_prefill else f"{resolved.attention_prefill}/{resolved.attention_decode}"
    )
    yield LeftToEngine(
        flag="--attention-backend",
        why=msg("it picks {backend} for this model on this GPU; a forced one loses the next version's better choice", backend=backend),
    )
    yield LeftToEngine(flag="--kv-cache-dtype", why=_kv_reason(subject))
    block = "--block-size" if engine == "vllm" else "--page-size"
    yield LeftToEngine(flag=block, why=_block_reason(subject))
    yield LeftToEngine(
        flag=MEMORY[engine],
        why=msg("its default here is {share}; raise it only after reading the start-up memory lines", share=round(resolved.mem_fraction, 3)),
    )
    budget = "--max-num-batched-tokens" if engine == "vllm" else "--chunked-prefill-size"
    yield LeftToEngine(flag=budget, why=msg("it takes {n:n} tokens a step on this GPU", n=resolved.token_budget))
    batch = "--max-num-seqs" if engine == "vllm" else "--max-running-requests"
    yield LeftToEngine(flag=batch, why=_batch_reason(subject))
    yield LeftToEngine(flag="--dtype", why=msg("the config says {dtype}; a number format such as fp8 is no dtype", dtype=subject.checkpoint.dtype))
    yield LeftToEngine(flag="--quantization", why=_quantization_reason(subject.checkpoint))
    prefix = "--enable-prefix-caching" if engine == "vllm" else "--disable-radix-cache"
    yield LeftToEngine(flag=prefix, why=_prefix_reason(subject))
    if any(f.kind == "moe" for layer in subject.shape.layers for f in layer.ffns):
        yield LeftToEngine(
            flag="--moe-backend" if engine == "vllm" else "--moe-runner-backend",
            why=msg("it picks {moe} by format and GPU", moe=msg("the expert kernel") if resolved.moe in (None, "auto") else resolved.moe),
        )
    if "all2all_backend" in subject.reasons:
        yield LeftToEngine(flag=EXCHANGE[engine], why=subject.reasons["all2all_backend"])
    if engine == "sglang" and subject.checkpoint.method != "none":
        yield LeftToEngine(flag="--fp8-gemm-backend", why=msg("the matrix kernels follow from format and GPU"))


def _block_reason(subject: Subject) -> Msg:
    tokens = subject.sized.resolved.block_tokens
    if tokens == 1:
        return msg("it keeps single tokens: nothing is lost to half-filled blocks")
    if any(isinstance(m, Recurrent) for layer in subject.shape.layers for m in layer.mixers):
        return msg("it sets {n:n} tokens, which the kernels and the state layers ask for", n=tokens)
    return msg("it sets {n:n} tokens, which the kernels ask for", n=tokens)


def _kv_reason(subject: Subject) -> Msg:
    resolved, checkpoint = subject.sized.resolved, subject.checkpoint
    if checkpoint.kv_dtype and resolved.kv_dtype.startswith(checkpoint.kv_dtype[:3]):
        return msg("the checkpoint asks for {kv} and brings its scales; the engine follows", kv=checkpoint.kv_dtype)
    sparse = any(isinstance(m, Latent) and m.indexer is not None for layer in subject.shape.layers for m in layer.mixers)
    if sparse:
        return msg(
            "it stores {kv} rows here; on sparse MLA the word chosen decides row width and kernel, so a change is a measurement, not a default",
            kv=resolved.kv_dtype,
        )
    return msg("it stores {kv}; fp8 would double the tokens, at a precision you should measure on your own task first", kv=resolved.kv_dtype)


def _batch_reason(subject: Subject) -> Msg:
    capacity, limit = subject.sized.capacity, subject.sized.resolved.max_num_seqs
    if capacity.limited_by == "state_slots":
        return msg("the state slots ({n:n}) bind before any batch limit", n=capacity.state_slots or 0)
    if capacity.limited_by == "max_num_seqs":
        return msg("its limit here is {n:n} and binds before memory does; raise it only when more requests shall run at once", n=limit)
    return msg("its limit here is {n:n}; for the longest requests memory decides before", n=limit)


def _quantization_reason(checkpoint: Checkpoint) -> Msg:
    if checkpoint.method == "none":
        return msg("the checkpoint is not quantised")
    return msg("the checkpoint's own config says {method}, and the engine reads it", method=checkpoint.method)


def _prefix_reason(subject: Subject) -> Msg:
    resolved = subject.sized.resolved
    recurrent = any(isinstance(m, Recurrent) for layer in subject.shape.layers for m in layer.mixers)
    if not resolved.prefix_caching:
        return msg("prefix caching is off by default for this model in this version")
    if recurrent:
        step = alignment(subject.shape, subject.sized).shortest_prefix_tokens
        return msg("prefix caching is on by default; states are kept only every {n:n} tokens, so only longer shared prefixes can hit", n=step)
    windowed = any(isinstance(m, Attention) and (m.window_tokens or m.chunk_tokens) for layer in subject.shape.layers for m in layer.mixers)
    if windowed:
        return msg("prefix caching is on by default; windowed layers keep only what their window needs")
    return msg("prefix caching is on by default, and free where nothing is shared")
