"""Several models, or one model on several GPUs, engines or versions, under the same traffic: `plan`'s best design of each, side by side."""

from collections.abc import Iterator, Sequence

from serveright.analysis import comparing as rules
from serveright.analysis.choosing import asked_of_gates
from serveright.analysis.gates import gate_reason, worst
from serveright.analysis.traffic import mean
from serveright.api import planning
from serveright.api.engines import Engine, load_engines
from serveright.api.hosting import Hosted, Question, host, subject_of, with_context
from serveright.api.loading import Model, load_model
from serveright.api.siblings import released_format
from serveright.catalog.gates import load_gates
from serveright.catalog.gpus import gpu_keys, load_gpu, parse_gpu_spec
from serveright.errors import UsageError
from serveright.outputs.views.words import SHORT
from serveright.readers.model import read_model_files
from serveright.types.choosing import CompareReport
from serveright.types.curves import Curves
from serveright.types.design import Candidate, VerdictName
from serveright.types.engine import Settings
from serveright.types.hardware import Fleet, Gpu
from serveright.types.source import ModelFiles
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic


def compare(
    models: Sequence[str | ModelFiles],
    gpus: Sequence[str],
    traffic: Traffic | None = None,
    *,
    engines: Sequence[str] = ("both",),
    curves: bool = False,
) -> CompareReport:
    """One column for every model x GPU x engine; the checkpoint is chosen with the GPU; `curves` adds what pictures need. Raises UserError."""
    asked = with_context(traffic or Traffic(concurrency=32))
    files = [read_model_files(model) if isinstance(model, str) else model for model in models]
    cells = [(model, gpu, engine) for model in files for gpu in gpus for engine in engines]
    if len(cells) < 2:
        raise UsageError(msg("one model on one GPU and one engine is nothing to compare"), msg("Name a second model, or give --gpu or --engine twice."))
    columns = [_column(model, parse_gpu_spec(gpu), engine, asked, _name(model, gpu, engine, gpus, engines)) for model, gpu, engine in cells]
    table = tuple(rules.rows(columns, asked))
    return CompareReport(
        columns=tuple(c.name for c in columns),
        traffic=asked,
        rows=table,
        verdicts=tuple(rules.verdicts(columns, table)),
        curves=_curves(files) if curves else None,
    )


def _curves(files: Sequence[ModelFiles]) -> Curves:
    from serveright.api.curves import cache_lines

    return Curves(cache=cache_lines(load_model(one) for one in files))


def _name(model: ModelFiles, gpu: str, engine: str, gpus: Sequence[str], engines: Sequence[str]) -> str:
    parts = [model.id, *([gpu] if len(gpus) > 1 else []), *([engine] if len(engines) > 1 else [])]
    return " · ".join(parts)


def _column(files: ModelFiles, fleet: Fleet, engine: str, traffic: Traffic, name: str) -> rules.Column:
    loaded = load_engines(engine)
    question = Question(fleet=fleet, traffic=traffic, engines=loaded, needs=(), scores={})
    hosted = host(subject_of(files), question)
    best, missing, flags = None, None, ()
    if isinstance(hosted, Hosted):
        model = hosted.model
        best = _best(model, fleet, traffic, loaded)
    else:
        model = load_model(files)
        missing = next((r.text for r in hosted if r.against), None)
    if best is not None:
        by_name = {e.name: e for e in loaded}
        made = planning.launch_of(by_name[best.engine], model, traffic, best)
        flags = tuple(flag.flag if flag.value is None else f"{flag.flag} {flag.value}" for flag in made.flags)
    return rules.Column(
        name=name,
        shape=model.shape,
        family=model.family,
        checkpoint=model.checkpoint,
        checkpoint_id=model.files.id,
        need=model.need,
        tokens=round(mean(traffic.input_tokens) + mean(traffic.output_tokens)),
        best=best,
        missing=missing,
        kernels=tuple(_kernels(model, fleet.gpu, loaded, best)),
        runs_on=_runs_on(model, loaded),
        released_format=released_format(load_model(files)),
        flags=flags,
    )


def _best(model: Model, fleet: Fleet, traffic: Traffic, engines: tuple[Engine, ...]) -> Candidate | None:
    settings = Settings(context_tokens=traffic.context_tokens, language_only=bool(model.shape.towers) and not traffic.images_per_request)
    runnable = [e for e in engines if _verdict(model, fleet.gpu, e) != "blocked"]
    found = planning.find(model, fleet, traffic, settings, runnable)
    return next((c for c in found.candidates if c.fits), None)


def _verdict(model: Model, gpu: Gpu, engine: Engine) -> VerdictName:
    """The worst of the gates that concern the model; an engine without its class is blocked."""
    if not any(a.name == model.shape.architecture for a in engine.table.architectures):
        return "blocked"
    wanted = asked_of_gates(model.shape, model.checkpoint)
    return worst(gate_reason(g, engine.name, engine.version, gpu, wanted)[0] for g in load_gates() if not wanted.isdisjoint(g.needs))


def _kernels(model: Model, gpu: Gpu, engines: Sequence[Engine], best: Candidate | None) -> Iterator[Msg]:
    for engine in engines:
        verdict = _verdict(model, gpu, engine)
        if best is not None and best.sized is not None and best.engine == engine.name:
            backend = best.sized.resolved.attention_decode
            yield msg("{engine}: {verdict} ({backend})", engine=engine.name, verdict=SHORT[verdict], backend=backend)
        else:
            yield msg("{engine}: {verdict}", engine=engine.name, verdict=SHORT[verdict])


def _runs_on(model: Model, engines: Sequence[Engine]) -> tuple[int, ...]:
    """Compute capabilities of the catalogue's GPUs on which some engine has a path for layers and formats."""
    chips = {gpu.sm: gpu for gpu in map(load_gpu, gpu_keys()) if gpu.sm is not None}
    return tuple(sorted(sm for sm, gpu in chips.items() if any(_verdict(model, gpu, e) != "blocked" for e in engines)))
