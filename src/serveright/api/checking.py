"""Steps 3 and 4: does it run here, on the best path, with which words?"""

import re
from typing import Any, cast

from serveright.analysis import check as checking
from serveright.analysis.gates import format_need, gate_reason, gate_reasons, worst
from serveright.analysis.launch import Words
from serveright.analysis.parsers import choose_parsers
from serveright.api.engines import Engine, load_engines
from serveright.api.loading import Model, load_model
from serveright.catalog.engines import first_version_with
from serveright.catalog.gates import load_gates
from serveright.catalog.gpus import parse_gpu_spec
from serveright.catalog.models import list_models
from serveright.readers.lore import load_parser_facts
from serveright.types.design import Check
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.model import NumberFormat
from serveright.types.reports import CatalogueCheckReport, CheckReport, GpuCount, ModelChecks
from serveright.types.source import ModelFiles
from serveright.types.text import msg

SHORT_CONTEXT = 4096
"""A check asks about kernels, not about room."""


def check(
    model: str | ModelFiles,
    gpu: str,
    *,
    gpus: int | None = None,
    nodes: int | None = None,
    engine: str = "both",
    settings: Settings | None = None,
    revision: str | None = None,
) -> CheckReport:
    """A verdict per engine: `best`, `degraded`, `blocked` or `unknown`, with reasons and sources. Raises UserError."""
    loaded = load_model(model, revision)
    fleet = parse_gpu_spec(gpu, gpus, nodes)
    return CheckReport(
        model=loaded.name,
        gpu=GpuCount(key=fleet.gpu.key, count=fleet.count, nodes=fleet.nodes),
        engines=tuple(check_on(e, loaded, fleet, settings or Settings(parallel=Parallel(tp=fleet.count))) for e in load_engines(engine)),
    )


def check_all(gpu: str, *, gpus: int | None = None, nodes: int | None = None, engine: str = "both") -> CatalogueCheckReport:
    """Every model of the catalogue on one kind of GPU, by id. Raises UserError."""
    fleet = parse_gpu_spec(gpu, gpus, nodes)
    engines = load_engines(engine)
    settings = Settings(parallel=Parallel(tp=fleet.count))
    models = (load_model(listed.id) for listed in list_models())
    return CatalogueCheckReport(
        gpu=GpuCount(key=fleet.gpu.key, count=fleet.count, nodes=fleet.nodes),
        models=tuple(ModelChecks(id=model.files.id, engines=tuple(check_on(e, model, fleet, settings) for e in engines)) for model in models),
    )


def check_on(engine: Engine, model: Model, fleet: Fleet, settings: Settings) -> Check:
    """One engine version's verdict for one layout."""
    return checking.check(
        checking.Question(
            shape=model.shape,
            needs=model.needs,
            gpu=fleet.gpu,
            table=engine.table,
            version=engine.version,
            gates=load_gates(),
            sized=_choices(engine, model, fleet, settings),
            words=words(engine, model),
            minimum=minimum(engine, model),
            better_checkpoint=better_checkpoint(engine, model, fleet),
        )
    )


def _choices(engine: Engine, model: Model, fleet: Fleet, settings: Settings) -> Sized:
    """What the engine decides by itself. Its weights are left out: whether they fit is another question, and counting them is most of the work."""
    context = min(SHORT_CONTEXT, model.shape.max_context_tokens or SHORT_CONTEXT)
    found: Sized = engine.module().size(model.shape, model.checkpoint, 0, fleet.gpu, engine.behaviour, engine.memory, settings, context)
    return found


def template(files: ModelFiles) -> str | None:
    """The chat template's text: chat_template.jinja, else tokenizer_config.json (the `default` of several)."""
    if files.chat_template:
        return files.chat_template
    found: object = files.tokenizer_config.get("chat_template")
    if isinstance(found, list):
        entries = cast("list[dict[str, Any]]", found)
        found = next((entry.get("template") for entry in entries if entry.get("name") == "default"), None)
    return found if isinstance(found, str) else None


def words(engine: Engine, model: Model) -> Words:
    """Parser names with the reason of each."""
    chosen = choose_parsers(model.shape, template(model.files), model.files.facts, engine.table, load_parser_facts())
    why = chosen.evidence[0].meaning if chosen.evidence else None
    return Words(
        tool_parser=chosen.tool,
        tool_why=msg("the format this model writes tool calls in: {why}", why=why) if why else None,
        reasoning_parser=chosen.reasoning,
        reasoning_why=msg("separates thinking from the answer: {why}", why=chosen.evidence[-1].meaning) if chosen.evidence else None,
    )


def minimum(engine: Engine, model: Model) -> checking.Minimum:
    """Oldest versions, from the harvested tables and from what the publisher asks for."""
    stated = cast("dict[str, dict[str, str]]", model.files.facts.get("minimum", {}))
    ours = stated.get(engine.name, {})
    transformers = re.search(r">=\s*([0-9][0-9.]*)", engine.table.requires.get("transformers", ""))
    return checking.Minimum(
        registry=first_version_with(engine.name, "architecture", model.shape.architecture),
        recipe=ours.get("version") if ours.get("known") == "exact" else None,
        transformers=transformers[1] if transformers else None,
        cuda=engine.table.requires.get("cuda") or None,
    )


def better_checkpoint(engine: Engine, model: Model, fleet: Fleet) -> str | None:
    """A published checkpoint whose format this GPU computes natively, where the model's own is not; smallest first, the publisher's before others."""
    gates = load_gates()
    formats = tuple(g for g in gates if any(need.startswith("format:") for need in g.needs))
    if worst(v for v, _, _ in gate_reasons(formats, model.needs, fleet.gpu, engine.name, engine.version) if v != "unknown") == "best":
        return None
    entries = cast("list[dict[str, Any]]", model.files.facts.get("checkpoints", []))
    ranked = sorted(entries, key=lambda entry: (entry.get("source") != "vllm recipe", str(entry.get("precision"))))
    for entry in ranked:
        form = _FORMATS.get(str(entry.get("precision")))
        if form is None:
            continue
        need = format_need(NumberFormat(name=str(entry["precision"]), **form))
        verdicts = [gate_reason(g, engine.name, engine.version, fleet.gpu, frozenset({need}))[0] for g in gates if need in g.needs]
        if verdicts == ["best"]:
            return str(entry["id"])
    return None


_FORMATS: dict[str, dict[str, Any]] = {
    "fp8": {"bits": 8, "block": (128, 128)},
    "nvfp4": {"bits": 4, "group": 16},
    "mxfp4": {"bits": 4, "group": 32},
    "awq": {"bits": 4, "group": 128},
    "gptq": {"bits": 4, "group": 128},
    "int4": {"bits": 4, "group": 128},
    "int8": {"bits": 8},
}
