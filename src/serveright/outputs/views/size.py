"""What `size` shows: the cache from the config alone, then per engine cache, memory, capacity and what the engine will print."""

from collections.abc import Iterator

from serveright.analysis.describe import NAMES
from serveright.analysis.layouts import name as layout_name
from serveright.outputs.views.words import CACHES, word
from serveright.types.document import Block, Bullets, Cell, Code, Derivations, Document, Heading, Pairs, Paragraph, Table
from serveright.types.reports import SizeReport, SizeResult
from serveright.types.text import Msg, msg

LIMITS = {
    "memory": msg("the KV pool"),
    "state_slots": msg("state slots"),
    "max_num_seqs": msg("the batch limit"),
    "does_not_fit": msg("it does not fit"),
}


def document(report: SizeReport) -> Document:
    """The whole page of one model on some GPUs."""
    title = msg(
        "{model} on {count} x {gpu}, {context:n} tokens", model=report.model.id, count=report.gpu.count, gpu=report.gpu.key, context=report.context_tokens
    )
    return Document(title=title, blocks=tuple(_blocks(report)))


def _blocks(report: SizeReport) -> Iterator[Block]:
    whole = (
        msg("unknown: nobody here knows {count:n} of the layers; the others take {n:gib}", count=report.unknown_layers, n=report.logical_bytes_per_sequence)
        if report.unknown_layers
        else msg("{n:gib} (whole model, from the config alone)", n=report.logical_bytes_per_sequence)
    )
    yield Pairs(
        (
            (msg("cache of one sequence"), whole),
            *((_part(part), msg("{n:gib}", n=n)) for part, n in report.logical_parts.items()),
        )
    )
    yield Derivations(report.derivation)
    if report.curves is not None:
        from serveright.outputs.views import pictures

        yield from pictures.sizes(report, report.curves)
    for result in report.results:
        yield from _engine(result, known=not report.unknown_layers)
    if report.ways_out:
        yield Heading(msg("Ways out"))
        yield Bullets(report.ways_out)


def _part(name: str) -> Msg:
    """`kv (full)` in words."""
    kind, _, mixer = name.removesuffix(")").partition(" (")
    return msg("  {kind} ({layers})", kind=word(CACHES, kind), layers=NAMES.get(mixer, mixer))


def _engine(result: SizeResult, *, known: bool) -> Iterator[Block]:
    yield Heading(f"{result.engine.name} {result.engine.version} · {layout_name(result.parallel)}")
    if result.engine.note:
        yield Paragraph(result.engine.note, "dim")
    for refusal in result.refusals:
        yield Paragraph(refusal.why if refusal.starts else msg("refuses to start: {why}", why=refusal.why), "bad")
        if refusal.text:
            yield Code(refusal.text, language="text", title=msg("the engine's words"))
    yield Pairs(tuple(_pairs(result, known=known)))
    rows = tuple((word(CACHES, g.kind), str(g.layers), f"{g.block_tokens:,}", f"{g.bytes_per_block:,}") for g in result.kv.groups)
    yield Table((msg("cache group"), msg("layers"), msg("tokens a block"), msg("bytes a block")), rows, right=(1, 2, 3))
    if result.engine_log_line and all(refusal.starts for refusal in result.refusals):
        yield Code(result.engine_log_line, language="text", title=msg("the engine will print"))
    yield Derivations(result.derivation)


def _pairs(result: SizeResult, *, known: bool) -> Iterator[tuple[Cell, Cell]]:
    kv, memory, capacity = result.kv, result.memory, result.capacity
    yield msg("KV cache"), msg("{dtype}, {layout}, blocks of {block:n} tokens", dtype=kv.dtype, layout=kv.layout, block=kv.block_tokens)
    yield msg("bytes per token, one GPU"), _per_token(result) if known else msg("unknown")
    if kv.fixed_bytes_per_sequence_per_gpu:
        yield msg("fixed per sequence, one GPU"), msg("{n:gib}", n=kv.fixed_bytes_per_sequence_per_gpu)
    if known:
        yield msg("one such request is charged"), msg("{n:gib} a GPU", n=kv.allocated_bytes_per_sequence_per_gpu)
    yield msg("memory of one GPU"), msg("{total:gib}, of which the engine may use {budget:gib}", total=memory.device_bytes, budget=memory.budget_bytes)
    yield "", _split(result)
    yield msg("holds"), _holds(result) if known else msg("unknown")
    if capacity.state_slots is not None:
        yield msg("state slots"), f"{capacity.state_slots:,}"


def _per_token(result: SizeResult) -> Msg:
    kv = result.kv
    return msg(
        "{stored:n} stored, {padded:n} with padding, {pool:n} a token of the pool",
        stored=kv.stored_bytes_per_token_per_gpu,
        padded=kv.bytes_per_token_per_gpu,
        pool=kv.pool_bytes_per_token_per_gpu,
    )


def _split(result: SizeResult) -> Msg:
    memory = result.memory
    text = msg(
        "weights {weights:gib}, overhead {overhead:gib}, KV pool {pool:gib}",
        weights=memory.weights_bytes,
        overhead=memory.overhead_bytes,
        pool=memory.kv_pool_bytes,
    )
    if memory.kv_pool_range_bytes is None:
        return text
    low, high = memory.kv_pool_range_bytes
    return msg("{text} (overhead is fitted: the pool is {low:gib} to {high:gib} in most start-ups)", text=text, low=low, high=high)


def _holds(result: SizeResult) -> Msg:
    capacity = result.capacity
    if not result.fits:
        return msg("not one request of this length")
    return msg(
        "{tokens:n} tokens, {users:.1f} requests of this length at once; bound by {limit}",
        tokens=capacity.tokens,
        users=capacity.max_concurrency,
        limit=LIMITS.get(capacity.limited_by, Msg(capacity.limited_by)),
    )
