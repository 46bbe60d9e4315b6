"""What `inspect` shows: verdict, evidence, layers, parameters, checkpoint, and what was not understood."""

from collections.abc import Iterator

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


def document(report: InspectReport) -> Document:
    """The whole page of one model."""
    return Document(title=msg("{model}: what it is", model=report.model.id), blocks=tuple(_blocks(report)))


def _blocks(report: InspectReport) -> Iterator[Block]:
    yield Pairs(tuple(_summary(report)))
    yield Heading(msg("How the config tells"))
    yield Table((msg("field"), msg("value"), msg("meaning")), tuple(_evidence(e) for e in report.evidence), wide=(1, 2))
    yield Heading(msg("Layers"))
    yield Code(_folded(report.layer_map), language="text")
    yield Bullets(tuple(f"{letter} = {name}" for letter, name in report.layer_legend.items()))
    yield Table(
        (msg("kind"), msg("layers"), msg("own a cache"), msg("dimensions")),
        tuple((a.kind, str(a.layers), str(a.cache_layers), dimensions(a)) for a in report.attention),
        right=(1, 2),
        wide=(3,),
    )
    yield Table(
        (msg("FFN"), msg("layers"), msg("width"), msg("experts"), msg("a token"), msg("shared")),
        tuple(
            (f.kind, str(f.layers), str(f.intermediate), str(f.experts or ""), str(f.experts_per_token or ""), str(f.shared_experts or "")) for f in report.ffn
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
        tuple((part, f"{n:,}", report.checkpoint.parts.get(part, "")) for part, n in parts),
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
    yield msg("feed-forward"), report.ffn_axis
    yield msg("parameters"), msg("{total:n} in all, {active:n} active a token", total=report.parameters.total, active=report.parameters.active)
    stored = msg("{format}, {bytes:gib} on disk and in memory ({how})", format=report.checkpoint.format, bytes=report.checkpoint.bytes, how=_how(report))
    yield msg("checkpoint"), stored
    if report.checkpoint.kv_dtype:
        yield msg("KV precision asked for"), report.checkpoint.kv_dtype
    if report.max_context_tokens:
        yield msg("longest context"), msg("{n:n} tokens", n=report.max_context_tokens)
    if report.mtp_layers:
        yield msg("MTP layers"), str(report.mtp_layers)
    yield msg("takes in"), ", ".join(report.modalities)
    if report.remote_code:
        yield msg("own code"), msg("the config's auto_map points to code in the repository")
    yield msg("read from"), report.model.origin


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


def dimensions(entry: AttentionEntry) -> str:
    """The fields that apply, in the config's own words."""
    values = {name: entry.__getattribute__(name) for name in entry.__struct_fields__[3:]}
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)


def _folded(text: str, columns: int = 64) -> str:
    return "\n".join(text[i : i + columns] for i in range(0, len(text), columns))
