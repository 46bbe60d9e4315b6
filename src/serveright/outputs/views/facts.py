"""What `facts` shows: figures beside where they come from."""

from collections.abc import Iterator

from serveright.outputs.views.words import AREAS, CHANGES, MODALITIES, ORIGIN_KINDS, QUALITIES, listed, word
from serveright.types.document import Block, Cell, Document, Heading, Pairs, Paragraph, Table
from serveright.types.engine_table import EngineTable, TableDiff
from serveright.types.facts_reports import EngineFacts, GpuFacts, ModelFacts, OriginFacts
from serveright.types.hardware import Gpu
from serveright.types.text import msg


def gpus(report: GpuFacts) -> Document:
    """One accelerator with origins, or the list."""
    if len(report.gpus) == 1:
        return Document(title=report.gpus[0].name, blocks=tuple(_gpu(report.gpus[0])))
    columns = (msg("GPU"), msg("chip"), msg("capability"), msg("usable memory"), msg("bandwidth"), msg("dense bf16"))
    rows = tuple(
        (g.key, g.architecture, f"sm_{g.sm}" if g.sm else msg("none (not CUDA)"), msg("{n:gib}", n=g.memory_bytes), _rate(g.bandwidth_bytes_per_s), _flops(g))
        for g in report.gpus
    )
    return Document(title=msg("Accelerators"), blocks=(Table(columns, rows, right=(3, 4, 5)),))


def _rate(value: float) -> str:
    return f"{value / 1e12:.2f} TB/s"


def _flops(gpu: Gpu) -> str:
    rate = gpu.flops.get("bf16") or gpu.flops.get("fp16")
    return f"{rate / 1e12:,.0f} TFLOP/s" if rate else ""


def _gpu(gpu: Gpu) -> Iterator[Block]:
    link = gpu.interconnect
    figures: list[tuple[str, Cell]] = [
        ("memory_bytes", msg("{n:gib}", n=gpu.memory_bytes)),
        ("memory_marketing_bytes", f"{gpu.memory_marketing_bytes / 1e9:,.0f} GB"),
        ("bandwidth_bytes_per_s", _rate(gpu.bandwidth_bytes_per_s)),
        *((f"flops.{name}", f"{rate / 1e12:,.0f} TFLOP/s") for name, rate in gpu.flops.items()),
        ("capability", f"sm_{gpu.sm}" if gpu.sm else msg("none (not CUDA)")),
        ("interconnect", f"{link.kind}, {link.bus_bytes_per_s / 1e9:,.0f} GB/s" if link.bus_bytes_per_s else link.kind),
        ("gpus_per_node", str(gpu.gpus_per_node)),
    ]
    rows: list[tuple[Cell, ...]] = []
    for field, value in figures:
        source = gpu.sources.get(field) or gpu.sources.get(field.split(".")[0]) or gpu.sources.get(f"{field}.bus_bytes_per_s")
        rows.append((field, value, word(ORIGIN_KINDS, source.kind) if source else "", source.text if source else ""))
    yield Table((msg("figure"), msg("value"), msg("origin"), msg("source")), tuple(rows), wide=(3,))
    if gpu.notes:
        yield from (Paragraph(note, "dim") for note in gpu.notes)


def models(report: ModelFacts) -> Document:
    """The catalogue."""
    columns = (msg("model"), msg("released"), msg("takes in"), msg("licence"), msg("config"))
    rows = tuple((m.id, m.released, listed([word(MODALITIES, name) for name in m.modalities]), m.licence, word(QUALITIES, m.config)) for m in report.models)
    return Document(title=msg("{n} models", n=len(rows)), blocks=(Table(columns, rows),))


def engines(report: EngineFacts) -> Document:
    """A version's table in numbers, or the difference of two."""
    if report.diff is not None:
        title = msg("{engine}: what changed from {older} to {newer}", engine=report.engine, older=report.diff.older, newer=report.diff.newer)
        return Document(title=title, blocks=tuple(_diff(report.diff)))
    table = report.table
    title = f"{report.engine} {table.version if table else ''}"
    blocks = [Paragraph(report.note, "dim")] if report.note else []
    return Document(
        title=title, blocks=(*blocks, *(_table(table) if table else ()), Paragraph(msg("known versions: {versions}", versions=", ".join(report.versions))))
    )


def _table(table: EngineTable) -> Iterator[Block]:
    yield Pairs(
        (
            (msg("released"), table.released or "?"),
            (msg("flags"), f"{len(table.flags):,}"),
            (msg("architectures"), f"{len(table.architectures):,}"),
            (msg("tool parsers"), ", ".join(table.tool_parsers)),
            (msg("reasoning parsers"), ", ".join(table.reasoning_parsers)),
            (msg("KV precisions"), ", ".join(table.kv_dtypes)),
            (msg("quantisation methods"), ", ".join(q.name for q in table.quantizations)),
            (msg("speculation"), ", ".join(table.speculative_methods)),
            *((name, table.requires[name]) for name in ("transformers", "torch", "flashinfer-python", "cuda") if table.requires.get(name)),
            (msg("read from"), table.source),
        )
    )


def _value(value: str | int | float | None) -> str:
    return "" if value is None else str(value)


def _diff(diff: TableDiff) -> Iterator[Block]:
    kinds: dict[str, list[tuple[Cell, ...]]] = {}
    for change in diff.changes:
        before = _value(change.before) or ", ".join(change.lost)
        after = change.to or _value(change.after) or ", ".join(change.gained)
        kinds.setdefault(change.kind, []).append((word(AREAS, change.area), change.name, before, after, change.note))
    for kind, rows in kinds.items():
        yield Heading(msg("{what} ({n:n})", what=word(CHANGES, kind), n=len(rows)))
        yield Table((msg("area"), msg("name"), msg("before"), msg("after"), msg("note")), tuple(rows), wide=(2, 3, 4))


def origins(report: OriginFacts) -> Document:
    """Facts that deserve another look."""
    rows = tuple((o.fact, word(ORIGIN_KINDS, o.kind), o.as_of, o.text) for o in report.origins)
    title = msg("{n} facts rest on memory or an assumption, or are older than {days} days", n=len(rows), days=report.older_than_days)
    return Document(title=title, blocks=(Table((msg("fact"), msg("origin"), msg("date"), msg("source")), rows, wide=(3,)),))
