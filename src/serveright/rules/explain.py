"""Why each flag of a command stands there, and why each one that is missing on purpose is missing.

Figures come from the engine's own sizing where model and GPU are known; without them the sentences say what decides.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from serveright.rules.context import Context
from serveright.types.command import GivenFlag
from serveright.types.design import FlagChoice, LeftToEngine
from serveright.types.engine import Sized
from serveright.types.text import Msg, msg


class Explained(Struct, frozen=True):
    """Every flag given, in order, and every one deliberately left out."""

    present: tuple[FlagChoice, ...]
    absent: tuple[LeftToEngine, ...]


Sentence = Callable[[Context, GivenFlag], Msg]


def explain(context: Context) -> Explained:
    """The whole command, flag by flag."""
    present = tuple(FlagChoice(flag=given.written, value=given.value, why=_why(context, given)) for given in context.command.flags)
    return Explained(present, tuple(_absent(context)))


def _why(context: Context, given: GivenFlag) -> Msg:
    if given.name is None:
        return msg("{engine} {version} does not know this flag", engine=context.command.engine, version=context.version)
    said = next((sentence for names, sentence in _PRESENT if given.name in {context.canonical(name) for name in names}), None)
    text = said(context, given) if said is not None else _plain(context, given)
    spec = context.spec(given.name)
    if spec is not None and spec.default is not None and given.value is not None and str(spec.default) == given.value and not spec.switch:
        return msg("{text}; it repeats the default", text=text)
    return text


def _plain(context: Context, given: GivenFlag) -> Msg:
    spec = context.spec(given.name or "")
    if spec is not None and spec.deprecated:
        return msg("known, and deprecated: {words}", words=spec.deprecated[:120])
    if spec is not None and spec.default is not None:
        return msg("known to this version; its default is {default}", default=str(spec.default))
    return msg("known to this version; nothing here depends on it")


def _model(context: Context, given: GivenFlag) -> Msg:
    shape, family = context.shape, context.facts.family
    if shape is None:
        return msg("the model to serve; its config was not at hand")
    kind = family.name if family else "?"
    return msg("{architecture}, {layers} layers, family {family}", architecture=shape.architecture, layers=len(shape.layers), family=kind)


def _tensor_parallel(context: Context, given: GivenFlag) -> Msg:
    layout, sized = context.layout, context.sized
    heads = min(context.query_heads, default=0)
    share = (
        msg("{heads} heads, {each} a GPU", heads=heads, each=heads // max(1, layout.tp))
        if heads and heads % layout.tp == 0
        else msg("heads split over {tp}", tp=layout.tp)
    )
    if sized is None:
        return msg("splits every layer over {tp} GPUs: {share}", tp=layout.tp, share=share)
    return msg("splits every layer over {tp} GPUs: {share}, {weights:gib} of weights each", tp=layout.tp, share=share, weights=sized.memory.weights_bytes)


def _quantization(context: Context, given: GivenFlag) -> Msg:
    if context.checkpoint is None:
        return msg("names the weights' format; checkpoints usually say it themselves")
    own = context.checkpoint.method
    if own == "none" or context.facts.online:
        return msg("quantises a 16-bit checkpoint while loading")
    return msg("the checkpoint says {own} itself; the flag is not needed", own=own)


def _tool_parser(context: Context, given: GivenFlag) -> Msg:
    choice = context.facts.parsers
    if choice is not None and given.value in choice.accepted_tool:
        return msg("cuts tool calls out of the text; {value} is the syntax this model's template writes", value=given.value)
    if choice is not None and choice.tool:
        return msg("cuts tool calls out of the text; this model's template writes for {right}", right=choice.tool)
    return msg("cuts tool calls out of the text in the {value} syntax", value=given.value)


def _reasoning_parser(context: Context, given: GivenFlag) -> Msg:
    choice = context.facts.parsers
    if choice is not None and given.value in choice.accepted_reasoning:
        return msg("moves thinking into reasoning_content; {value} knows this model's think block", value=given.value)
    if choice is not None and choice.reasoning:
        return msg("moves thinking into reasoning_content; this model's template wants {right}", right=choice.reasoning)
    return msg("moves thinking into reasoning_content in the {value} syntax", value=given.value)


def _budget(context: Context, given: GivenFlag) -> Msg:
    sized, alone = context.sized, context.what_if(token_budget=None)
    if sized is None or alone is None:
        return msg("tokens of one prefill step: larger is faster for long prompts and makes others wait longer")
    if alone.resolved.token_budget == sized.resolved.token_budget:
        return msg("tokens of one prefill step; {own:n} is the engine's own choice here: it makes no difference", own=alone.resolved.token_budget)
    if alone.capacity.tokens == sized.capacity.tokens:
        return msg("tokens of one prefill step; the engine's own choice here is {own:n}, with the same cache", own=alone.resolved.token_budget)
    return msg(
        "tokens of one prefill step; the engine's own choice here is {own:n}, which would leave {then:n} tokens of cache instead of {now:n}",
        own=alone.resolved.token_budget,
        then=alone.capacity.tokens,
        now=sized.capacity.tokens,
    )


def _share(context: Context, given: GivenFlag) -> Msg:
    share, sized = context.settings.mem_fraction, context.sized
    what = (
        msg("share of all memory for weights, activations, graphs and cache")
        if context.vllm
        else msg("share of memory for weights and cache; the rest is for activations and graphs")
    )
    if share is None or sized is None:
        return what
    alone = context.what_if(mem_fraction=None)
    higher = round(min(share + 0.06, 0.95), 2)
    other = context.what_if(mem_fraction=higher)
    if alone is None or other is None:
        return what
    return msg(
        "{what}: {now:n} tokens with {share}, {then:n} with {higher}, {own:n} with the engine's own {default}",
        what=what,
        now=sized.capacity.tokens,
        share=share,
        then=other.capacity.tokens,
        higher=higher,
        own=alone.capacity.tokens,
        default=alone.resolved.mem_fraction,
    )


def _cache_dtype(context: Context, given: GivenFlag) -> Msg:
    sized, alone = context.sized, context.what_if(kv_dtype=None)
    if sized is None or alone is None:
        return msg("precision of the cache, against the checkpoint's and the engine's own choice")
    if _rows(sized) == _rows(alone):
        return msg("the engine takes {own} by itself: the flag makes no difference", own=sized.layout.name)
    return msg(
        "{here} instead of {own}: {now:n} tokens of cache instead of {then:n}",
        here=sized.layout.name,
        own=alone.layout.name,
        now=sized.capacity.tokens,
        then=alone.capacity.tokens,
    )


def _rows(sized: Sized) -> tuple[Msg, int]:
    """What of the cache's precision shows: rows and the tokens that fit."""
    return sized.layout.name, sized.capacity.tokens


def _length(context: Context, given: GivenFlag) -> Msg:
    sized = context.sized
    most = context.shape.max_context_tokens if context.shape else None
    if sized is None:
        return msg("longest request; the model's own is {most:n}", most=most) if most else msg("longest request")
    return msg("longest request; {room:.1f} of that length fit one rank", room=sized.capacity.per_rank_concurrency)


def _experts(context: Context, given: GivenFlag) -> Msg:
    block = max(context.moe, key=lambda ffn: ffn.experts, default=None)
    if block is None:
        return msg("this model has no experts: no effect")
    return msg("whole experts on each GPU: {each} of {all}", each=block.experts // max(1, context.layout.ep), all=block.experts)


def _sequences(context: Context, given: GivenFlag) -> Msg:
    sized = context.sized
    if sized is None:
        return msg("most requests in one step")
    return msg("most requests in one step; the cache holds {room:.1f} of full length", room=sized.capacity.per_rank_concurrency)


def _backend(context: Context, given: GivenFlag) -> Msg:
    alone = context.what_if(attention_backend=None)
    if alone is None:
        return msg("forces an attention backend past the engine's own checks")
    if context.sized is not None and _kernels(alone) == _kernels(context.sized):
        return msg("the engine takes {own} by itself: the flag makes no difference", own=_kernels(alone))
    return msg("forces an attention backend; the engine itself takes {own}", own=_kernels(alone))


def _fixed(text: Msg) -> Sentence:
    return lambda context, given: text


_PRESENT: tuple[tuple[tuple[str, ...], Sentence], ...] = (
    (("--model", "--model-path"), _model),
    (("--tensor-parallel-size", "--tp-size"), _tensor_parallel),
    (("--quantization",), _quantization),
    (("--tool-call-parser",), _tool_parser),
    (("--reasoning-parser",), _reasoning_parser),
    (("--max-num-batched-tokens", "--chunked-prefill-size"), _budget),
    (("--gpu-memory-utilization", "--mem-fraction-static"), _share),
    (("--kv-cache-dtype",), _cache_dtype),
    (("--max-model-len", "--context-length"), _length),
    (("--enable-expert-parallel", "--ep-size"), _experts),
    (("--max-num-seqs", "--max-running-requests"), _sequences),
    (("--attention-backend",), _backend),
    (("--enable-auto-tool-choice",), _fixed(msg("vLLM parses calls only with this switch beside the parser"))),
    (("--enable-dp-attention", "--attn-dp-size"), _fixed(msg("each rank keeps whole attention and its own cache; experts stay shared"))),
    (("--data-parallel-size", "--dp-size"), _fixed(msg("further attention ranks, or copies where attention is not split"))),
    (("--pipeline-parallel-size", "--pp-size"), _fixed(msg("cuts the layers into stages: less traffic than tensor parallelism, longer latency"))),
    (("--enforce-eager", "--disable-cuda-graph"), _fixed(msg("switches CUDA graphs off: slower decode, a workaround unless proved needed"))),
    (("--enable-prefix-caching",), _fixed(msg("reuses the cache of equal beginnings"))),
    (("--disable-radix-cache",), _fixed(msg("no reuse of equal beginnings"))),
    (("--trust-remote-code",), _fixed(msg("runs Python from the model's repository in the server"))),
    (("--speculative-config", "--speculative-algorithm"), _fixed(msg("drafts tokens ahead: helps few requests, costs many"))),
    (("--host", "--port", "--served-model-name", "--api-key"), _fixed(msg("how clients reach the server; no effect on speed or memory"))),
)


def _kernels(sized: Sized) -> str:
    resolved = sized.resolved
    if resolved.indexer and "/" in resolved.indexer:
        return f"{resolved.attention_prefill} ({resolved.indexer})"
    return (
        resolved.attention_prefill if resolved.attention_prefill == resolved.attention_decode else f"{resolved.attention_prefill} / {resolved.attention_decode}"
    )


def _absent(context: Context) -> Iterator[LeftToEngine]:
    for names, sentence in _ABSENT:
        known = next((name for name in names if context.knows(name)), None)
        if known is None or context.has(*names):
            continue
        text = sentence(context)
        if text is not None:
            yield LeftToEngine(flag=known, why=text)


def _no_cache_dtype(context: Context) -> Msg:
    sized = context.sized
    if sized is None:
        return msg("the checkpoint's own scheme, else the model's dtype, decides; forcing fp8 without scales can cost quality")
    forced = context.what_if(kv_dtype="fp8_e4m3")
    if forced is None or forced.layout.name == sized.layout.name:
        return msg("the engine takes {own} by itself", own=sized.layout.name)
    return msg(
        "the engine takes {own} by itself: {now:n} tokens; fp8_e4m3 would give {other}, {then:n} tokens",
        own=sized.layout.name,
        now=sized.capacity.tokens,
        other=forced.layout.name,
        then=forced.capacity.tokens,
    )


def _no_backend(context: Context) -> Msg:
    sized = context.sized
    if sized is None:
        return msg("the engine picks by GPU, head size and cache; a forced name skips its checks and goes stale")
    return msg("the engine picks {own} here; a forced name skips its checks and goes stale", own=_kernels(sized))


def _no_experts(context: Context) -> Msg | None:
    if not context.moe:
        return None
    return msg("experts take the same memory either way; which is faster hangs on the batch: measure both")


def _no_quantization(context: Context) -> Msg | None:
    if context.checkpoint is None or not context.quantised:
        return None
    return msg("the checkpoint says {method} itself", method=context.checkpoint.method)


def _no_moe_backend(context: Context) -> Msg | None:
    if not context.moe:
        return None
    own = context.sized.resolved.moe if context.sized else None
    return msg("the engine picks {own} here", own=own) if own and own != "auto" else msg("the quantisation method picks the kernel")


def _no_block(context: Context) -> Msg | None:
    return None if context.sized is None else msg("backend and states fix it at {block} tokens", block=context.sized.resolved.block_tokens)


def _no_sequences(context: Context) -> Msg | None:
    return None if context.sized is None else msg("the engine allows {count:n}; memory decides before", count=context.sized.resolved.max_num_seqs)


def _no_budget(context: Context) -> Msg | None:
    return None if context.sized is None else msg("the engine takes {budget:n} on this GPU", budget=context.sized.resolved.token_budget)


def _no_share(context: Context) -> Msg | None:
    return None if context.sized is None else msg("the engine takes {share}", share=context.sized.resolved.mem_fraction)


def _no_prefix(context: Context) -> Msg:
    return msg("on by default here") if "prefix_cache" in context.features else msg("off by default on this model in this version")


def _no_code(context: Context) -> Msg | None:
    if context.shape is None or context.shape.remote_code:
        return None
    return msg("the config points to no code")


def _said(text: Msg) -> Callable[[Context], Msg | None]:
    return lambda context: text


_ABSENT: tuple[tuple[tuple[str, ...], Callable[[Context], Msg | None]], ...] = (
    (("--kv-cache-dtype",), _no_cache_dtype),
    (("--attention-backend",), _no_backend),
    (("--moe-backend", "--moe-runner-backend"), _no_moe_backend),
    (("--quantization",), _no_quantization),
    (("--dtype",), _said(msg("the config says it"))),
    (("--enable-expert-parallel", "--ep-size"), _no_experts),
    (("--block-size", "--page-size"), _no_block),
    (("--max-num-seqs", "--max-running-requests"), _no_sequences),
    (("--max-num-batched-tokens", "--chunked-prefill-size"), _no_budget),
    (("--gpu-memory-utilization", "--mem-fraction-static"), _no_share),
    (("--enable-prefix-caching", "--disable-radix-cache"), _no_prefix),
    (("--enforce-eager", "--disable-cuda-graph"), _said(msg("CUDA graphs stay on: decode is several times faster"))),
    (("--speculative-config", "--speculative-algorithm"), _said(msg("drafting helps few requests at a time; turn it on after a measurement"))),
    (("--trust-remote-code",), _no_code),
)
