"""What `inspect` shows: verdict, evidence, layers, parameters, checkpoint, and what was not understood."""

from collections.abc import Iterator

from serveright.analysis.describe import NAMES
from serveright.outputs.views.words import FEED_FORWARD, FORMATS, MODALITIES, ORIGINS, PARTS, listed, word
from serveright.types.document import Block, Bullets, Cell, Code, Document, Heading, Pairs, Table
from serveright.types.fact import Evidence, Unknown
from serveright.types.reports import AttentionEntry, InspectReport
from serveright.types.text import Msg, msg

FAMILIES = {
    "mha": msg("MHA: every query head keeps its own K and V rows"),
    "mqa": msg("MQA: all query heads share one K and V row"),
    "gqa": msg("GQA: groups of query heads share K and V rows, all layers alike"),
    "mla": msg("MLA: one compressed latent row a token, shared by all heads"),
    "dsa": msg("DSA: latent rows, and an indexer that picks which of them are read"),
    "sparse": msg("sparse: K and V rows, of which a scorer picks blocks"),
    "hybrid": msg("hybrid: layers with a fixed state beside layers whose cache grows"),
    "swa": msg("SWA: some layers look back only over a window or chunk"),
    "ssm": msg("SSM: only fixed states, no cache that grows"),
    "encoder": msg("encoder: no generation, so no KV cache"),
    "unknown": msg("unknown: no reader claims this architecture's layers"),
}

_FFN: dict[str, Msg] = {"dense": msg("dense"), "moe": msg("experts"), "none": msg("none")}


def document(report: InspectReport) -> Document:
    """The whole page of one model."""
    return Document(title=msg("{model}: what it is", model=report.model.id), blocks=tuple(_blocks(report)))


def _blocks(report: InspectReport) -> Iterator[Block]:
    yield Pairs(tuple(_summary(report)))
    yield Heading(msg("How the config tells"))
    yield Table(
        (msg("field"), msg("value"), msg("meaning")), tuple(_evidence(e) for i, e in enumerate(report.evidence) if e not in report.evidence[:i]), wide=(1, 2)
    )
    yield Heading(msg("Layers"))
    yield Code(_folded(report.layer_map), language="text")
    yield Bullets(tuple(f"{letter} = {name}" for letter, name in report.layer_legend.items()))
    yield Table(
        (msg("kind"), msg("layers"), msg("own a cache"), msg("dimensions")),
        tuple((NAMES[a.kind], str(a.layers), str(a.cache_layers), dimensions(a)) for a in report.attention),
        right=(1, 2),
        wide=(3,),
    )
    yield Table(
        (msg("FFN"), msg("layers"), msg("width"), msg("experts"), msg("a token"), msg("shared")),
        tuple(
            (_FFN.get(f.kind, f.kind), *(f"{n:,}" if n else "" for n in (f.layers, f.intermediate, f.experts, f.experts_per_token, f.shared_experts)))
            for f in report.ffn
        ),
        right=(1, 2, 3, 4, 5),
    )
    if report.curves is not None:
        from serveright.outputs.views import pictures

        yield from pictures.shape(report, report.curves)
    yield Heading(msg("Weights by part"))
    parts = sorted(report.parameters.parts.items(), key=lambda item: -item[1])
    yield Table(
        (msg("part"), msg("parameters"), msg("stored as")),
        tuple((word(PARTS, part), f"{n:,}", report.checkpoint.parts.get(part, "")) for part, n in parts),
        right=(1,),
    )
    if report.hints:
        yield Heading(msg("Said elsewhere"))
        yield Bullets(report.hints)
    if report.unknown:
        yield Heading(msg("Not understood"))
        yield Table((msg("field"), msg("why it matters")), tuple(_unknown(report)), wide=(1,))


def _summary(report: InspectReport) -> Iterator[tuple[Cell, Cell]]:
    yield msg("family"), FAMILIES[report.family]
    also = [feature for feature in report.features if feature not in (report.family, report.ffn_axis)]
    if also:
        yield msg("also"), ", ".join(also)
    yield msg("architecture"), " ".join(part for part in (report.model.architecture, f"({report.model.model_type})" if report.model.model_type else "") if part)
    yield msg("feed-forward"), word(FEED_FORWARD, report.ffn_axis)
    yield msg("parameters"), msg("{total:n} in all, {active:n} active a token", total=report.parameters.total, active=report.parameters.active)
    form, size, how = word(FORMATS, report.checkpoint.format), report.checkpoint.bytes, _how(report)
    if report.checkpoint.format == "fp32":
        stored = msg("{format}, {bytes:gib} on disk, half of it in memory: engines load float32 as 16 bits ({how})", format=form, bytes=size, how=how)
    else:
        stored = msg("{format}, {bytes:gib} on disk and in memory ({how})", format=form, bytes=size, how=how)
    yield msg("checkpoint"), stored
    if report.checkpoint.kv_dtype:
        yield msg("KV precision asked for"), report.checkpoint.kv_dtype
    if report.max_context_tokens:
        yield msg("longest context"), msg("{n:n} tokens", n=report.max_context_tokens)
    if report.mtp_layers:
        yield msg("MTP layers"), str(report.mtp_layers)
    yield msg("takes in"), listed([word(MODALITIES, name) for name in report.modalities])
    if report.remote_code:
        yield msg("own code"), msg("the config's auto_map points to code in the repository")
    yield msg("read from"), word(ORIGINS, report.model.origin)


def _unknown(report: InspectReport) -> Iterator[tuple[Cell, Cell]]:
    """One row a reason: 64 layers of one unknown kind are one thing to know."""
    by_reason: dict[str, list[Unknown]] = {}
    for unknown in report.unknown:
        by_reason.setdefault(f"{unknown.why.template}{unknown.why.values}", []).append(unknown)
    for same in by_reason.values():
        paths = [unknown.path for unknown in same]
        yield ", ".join(paths) if len(paths) < 4 else msg("{first} to {last}, {n} in all", first=paths[0], last=paths[-1], n=len(paths)), same[0].why


def _how(report: InspectReport) -> Msg:
    return msg("the checkpoint's own index") if report.checkpoint.bytes_from == "index" else msg("computed from the shapes")


def _evidence(evidence: Evidence) -> tuple[Cell, Cell, Cell]:
    value = str(evidence.value)
    return evidence.path, value if len(value) <= 60 else value[:57] + "...", evidence.meaning


def dimensions(entry: AttentionEntry) -> Msg | str:
    """Heads, widths and states of these mixers."""
    return listed(list(_dimensions(entry)))


def _dimensions(entry: AttentionEntry) -> Iterator[Msg | str]:
    if entry.query_heads is not None:
        yield msg("{n} query heads", n=entry.query_heads)
    if entry.kv_heads is not None:
        yield msg("{n} KV heads", n=entry.kv_heads)
    if entry.head_dim is not None:
        yield f"head_dim {entry.head_dim}"
    if entry.v_head_dim not in (None, entry.head_dim):
        yield f"v_head_dim {entry.v_head_dim}"
    if entry.kv_lora_rank is not None:
        yield msg("rows of {rank} + {rope}", rank=entry.kv_lora_rank, rope=entry.rope_dim or 0)
    if entry.window_tokens is not None:
        yield msg("window of {n:n} tokens", n=entry.window_tokens)
    if entry.chunk_tokens is not None:
        yield msg("chunks of {n:n} tokens", n=entry.chunk_tokens)
    if entry.compress_ratio is not None:
        yield msg("{n} tokens a row", n=entry.compress_ratio)
    if entry.index_dim is not None:
        heads, dim, topk = entry.index_heads or 0, entry.index_dim, entry.index_topk or 0
        yield msg("indexer on {n} layers ({heads} heads of {dim}, top {topk:n})", n=entry.index_layers or 0, heads=heads, dim=dim, topk=topk)
    if entry.state_shape is not None:
        yield msg("a state of {shape} ({dtype})", shape=" x ".join(map(str, entry.state_shape)), dtype=entry.state_dtype or msg("the engine's number type"))
    if entry.conv_rows is not None:
        yield msg("{n} rows of the convolution", n=entry.conv_rows)


def _folded(text: str, columns: int = 64) -> str:
    return "\n".join(text[i : i + columns] for i in range(0, len(text), columns))
