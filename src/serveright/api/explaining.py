"""A topic of serving in one page, every number computed for the model and GPUs the reader names."""

from collections.abc import Iterator

from serveright.analysis.choosing import asked_of_gates
from serveright.analysis.figures import FIGURES, Case, Figures
from serveright.analysis.gates import gate_reason
from serveright.api.engines import load_engines
from serveright.api.estimating import work_of
from serveright.api.loading import Model, load_model
from serveright.api.sized import size_on
from serveright.catalog.calibration import load_performance
from serveright.catalog.gates import load_gates
from serveright.catalog.glossary import glossary
from serveright.catalog.gpus import gpu_keys, load_gpu, parse_gpu_spec
from serveright.catalog.topics import topic_text, topic_title, topics
from serveright.outputs.language import render
from serveright.outputs.text import width
from serveright.outputs.views.words import SHORT
from serveright.types.design import VerdictName
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.lessons import ExplainReport, Glossary, GlossaryTerm, Section, TopicLine, TopicList
from serveright.types.source import ModelFiles
from serveright.types.text import Msg, msg

EXAMPLE_TOKENS = 8192
CAPABILITIES = (89, 90, 100, 120)
"""Columns of the kernel table: Ada, Hopper, data-centre and workstation Blackwell."""


def explain(
    topic: str | None = None, *, model: str | ModelFiles | None = None, gpu: str | None = None, lang: str = "en"
) -> ExplainReport | TopicList | Glossary:
    """One topic in `lang`, the list of topics, or the `glossary`. Raises UserError."""
    if topic is None:
        return TopicList(topics=tuple(TopicLine(topic=name, title=topic_title(name, lang)) for name in topics()))
    if topic == "glossary":
        return Glossary(terms=tuple(GlossaryTerm(en=t.en, ko=t.ko, meaning=t.meaning_ko if lang == "ko" else t.meaning) for t in glossary()))
    text = topic_text(topic, lang)
    usual = topics()[topic]
    asked_gpu = gpu or str(usual["gpu"])
    fleet = parse_gpu_spec(asked_gpu)
    loaded = load_model(model or str(usual["model"]))
    figures = figures_of(topic, loaded, fleet)
    note = None
    if figures is None:
        note = msg(
            "{model} on {gpu} has nothing this topic could count: the figures are those of {usual}",
            model=loaded.files.id,
            gpu=asked_gpu,
            usual=str(usual["model"]),
        )
        loaded, asked_gpu = load_model(str(usual["model"])), str(usual["gpu"])
        figures = figures_of(topic, loaded, parse_gpu_spec(asked_gpu)) or {}
    return ExplainReport(
        topic=topic,
        lang=lang,
        title=topic_title(topic, lang),
        model=loaded.files.id,
        gpu=asked_gpu,
        sections=tuple(sections(text, figures, kernel_table(loaded, lang) if "{table}" in text else None)),
        figures=figures,
        next=tuple(usual["next"]),
        note=note,
    )


def figures_of(topic: str, model: Model, fleet: Fleet) -> Figures | None:
    """The topic's numbers for this model; None where it has no such layers."""
    if topic not in FIGURES:
        return {}
    return FIGURES[topic](case(model, fleet))


def case(model: Model, fleet: Fleet) -> Case:
    """Everything the figures are computed from."""
    return Case(
        shape=model.shape, need=model.need, work=work_of(model), gpu=fleet.gpu, count=fleet.count, calibration=load_performance(), sized=_sized(model, fleet)
    )


def _sized(model: Model, fleet: Fleet) -> dict[str, Sized]:
    context = min(EXAMPLE_TOKENS, model.shape.max_context_tokens or EXAMPLE_TOKENS)
    settings = Settings(parallel=Parallel(tp=fleet.per_node, replicas=1), context_tokens=context)
    found = {engine.name: size_on(engine, model, fleet, settings, context) for engine in load_engines("both")}
    return {name: sized for name, sized in found.items() if sized.layout.groups}


def sections(text: str, figures: Figures, table: str | None = None) -> Iterator[Section]:
    """The page as paragraphs, headings and bullets; soft line breaks joined."""
    for part in text.split("\n\n")[1:]:
        lines = [line for line in part.strip().splitlines() if line]
        if lines == ["{table}"]:
            yield Section(kind="code", text=Msg("{table}", {"table": table or ""}))
        elif lines and lines[0].startswith("## "):
            yield Section(kind="heading", text=Msg(lines[0].removeprefix("## "), {**figures}))
        elif lines and lines[0].startswith("- "):
            for bullet in "\n".join(lines).removeprefix("- ").split("\n- "):
                yield Section(kind="bullet", text=Msg(bullet.replace("\n", " "), {**figures}))
        elif lines:
            yield Section(kind="text", text=Msg(" ".join(lines), {**figures}))


def kernel_table(model: Model, lang: str) -> str:
    """Verdicts of the gates that concern this model, one line a gate, one column a capability, one word where the engines agree."""
    engines = load_engines("both")
    chips = {gpu.sm: gpu for gpu in map(load_gpu, gpu_keys()) if gpu.sm in CAPABILITIES}
    wanted = asked_of_gates(model.shape, model.checkpoint)
    concerned = [gate for gate in load_gates() if not wanted.isdisjoint(gate.needs)]
    rows = [["", *(f"sm_{sm}" for sm in CAPABILITIES)]]
    for gate in concerned:
        verdicts: list[dict[VerdictName, None]] = [
            dict.fromkeys(gate_reason(gate, e.name, e.version, chips[sm], wanted)[0] for e in engines) for sm in CAPABILITIES
        ]
        cells = [" / ".join(render(SHORT[verdict], lang) for verdict in found) for found in verdicts]
        rows.append([gate.id, *cells])
    cells_of = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell + " " * (most - width(cell)) for cell, most in zip(row, cells_of, strict=True)).rstrip() for row in rows)
