"""All six steps: from a model, GPUs and traffic to a design with its command.

1 shape (`load_model`), 2 memory (`size_on` for every layout), 3 and 4 hardware and software (`check_on`), 5 design (`search`, then `launch`),
6 the first launch to measure with.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from serveright.analysis.anchors import Anchor, correction
from serveright.analysis.check import CAPACITY_CODES
from serveright.analysis.divisibility import divisibility
from serveright.analysis.images import vision
from serveright.analysis.launch import EXCHANGE, Subject, launch
from serveright.analysis.search import Found, Objective, Option, Question, search
from serveright.analysis.speculation import Speculation
from serveright.api import calibrating, checking, inspection
from serveright.api.engines import Engine, load_engines, with_local_memory
from serveright.api.estimating import with_kernels, work_of
from serveright.api.loading import Model, load_model, served_name
from serveright.api.siblings import siblings
from serveright.api.sizing import result, size_on
from serveright.api.ways_out import past_a_block, ways_out
from serveright.catalog.calibration import load_performance
from serveright.catalog.gpus import parse_gpu_spec
from serveright.catalog.traffic import load_traffic, presets
from serveright.outputs import shell
from serveright.readers.expert_load import ExpertLoad
from serveright.readers.local_memory import LocalMemory
from serveright.readers.measured import MeasuredRun
from serveright.types.answers import MeasuredPoint
from serveright.types.design import Candidate, Check, Launch
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.engine_table import EngineName
from serveright.types.hardware import Fleet
from serveright.types.report import Finding
from serveright.types.reports import Chosen, EngineVersion, GpuCount, PlanCandidate, PlanReport
from serveright.types.source import ModelFiles
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

USUAL_CONTEXT = 32768
"""Longest request where nobody said one: long enough for most work, short enough to leave room for many."""
SPECULATIVE_TOKENS = 1
"""Tokens drafted where speculation is priced: one is what every prediction layer can do."""


class Wishes(Struct, frozen=True, kw_only=True):
    """What a plan may be asked beyond model, GPUs and traffic."""

    objective: Objective = "cost"
    curves: bool = False
    """Add what pictures need."""
    simulate: bool = False
    """Percentiles of the chosen design, simulated request by request."""
    calibrate: tuple[MeasuredRun, ...] = ()
    """The user's own measurements."""
    measured_with: str | None = None
    """Their layout (`TP8+EP8`), where the measurements do not say it."""
    memory: LocalMemory | None = None
    """What the user's own start-up log taught about the overhead."""
    expert_load: ExpertLoad | None = None
    other_checkpoints: bool = False
    """Also price the same model in other number formats of the catalogue."""
    cross_check: bool = False
    """Ask aiconfigurator about the chosen layout too."""


def plan(
    model: str | ModelFiles,
    gpu: str,
    traffic: Traffic | None = None,
    *,
    gpus: int | None = None,
    nodes: int | None = None,
    engine: str = "both",
    settings: Settings | None = None,
    revision: str | None = None,
    wishes: Wishes | None = None,
) -> PlanReport:
    """The best design for `traffic`, every other with the reason it lost, and the command. `chosen` is None where nothing fits.

    `gpu` is a catalogue key with an optional count (`8xh200`), `settings` what is fixed beforehand, `wishes` what else is asked. Raises UserError.
    """
    wishes = wishes or Wishes()
    loaded = load_model(model, revision)
    fleet = parse_gpu_spec(gpu, gpus, nodes)
    asked = with_context(traffic or Traffic(concurrency=32), loaded)
    wished = msgspec.structs.replace(
        settings or Settings(), context_tokens=asked.context_tokens, language_only=bool(loaded.shape.towers) and not asked.images_per_request
    )
    engines = tuple(with_local_memory(e, wishes.memory) for e in load_engines(engine))
    checks = {e.name: checking.check_on(e, loaded, fleet, wished) for e in engines}
    window = loaded.shape.max_context_tokens
    too_long = window is not None and (asked.context_tokens or 0) > window
    runnable = [] if too_long else [e for e in engines if checks[e.name].verdict != "blocked"]
    variants = (loaded, *siblings(loaded, fleet.gpu)) if wishes.other_checkpoints else (loaded,)
    question = _question(loaded, fleet, asked, wishes)
    searching = Searching(variants=variants, engines=tuple(runnable), settings=wished)
    points: tuple[MeasuredPoint, ...] = ()
    if wishes.calibrate and runnable:
        server = calibrating.Server(
            model=loaded, work=work_of(loaded), engines=tuple(runnable), question=question, settings=wished, plan=lambda: _search(searching, question)
        )
        made = calibrating.anchored(wishes.calibrate, wishes.measured_with, server)
        question, points = msgspec.structs.replace(question, correction=_corrections(made.anchors)), made.points
    found = _search(searching, question)
    report = _report(loaded, variants, question, wished, engines, checks, found)
    report = msgspec.structs.replace(report, anchors=points, **_beside(question, variants, engines, found, wishes))
    report = msgspec.structs.replace(report, findings=_own_findings(report))
    if too_long:
        report = msgspec.structs.replace(report, ways_out=(_beyond(asked.context_tokens or 0, window or 0),))
    if not wishes.curves or too_long:
        return report
    from serveright.api.curves import plan_curves

    return msgspec.structs.replace(report, curves=plan_curves(loaded, fleet, asked, engines, found))


def with_context(traffic: Traffic, model: Model) -> Traffic:
    """The longest request: as asked, else `USUAL_CONTEXT` or what p95 prompt and answer need, within what the model can; a preset's own length gives way too."""
    whole = traffic.input_tokens[1] + traffic.output_tokens[1]
    window = model.shape.max_context_tokens
    usual = load_traffic(traffic.preset).context_tokens if traffic.preset in presets() else None
    if traffic.context_tokens is not None and (traffic.context_tokens != usual or (window or whole) < whole):
        return traffic
    need = traffic.context_tokens or max(USUAL_CONTEXT, whole)
    return msgspec.structs.replace(traffic, context_tokens=min(need, window or need))


def _beyond(asked: int, window: int) -> Msg:
    return msg(
        "requests of {n:n} tokens are asked for; the model reads {window:n}: plan for that, or set rope scaling in its config first", n=asked, window=window
    )


class Searching(Struct, frozen=True, kw_only=True):
    """What the search may choose from."""

    variants: tuple[Model, ...]
    """The model and, where asked, the same in other formats."""
    engines: tuple[Engine, ...]
    settings: Settings


def find(model: Model, fleet: Fleet, traffic: Traffic, settings: Settings, engines: Sequence[Engine]) -> Found:
    """Step 5's search over layouts, engines and speculation, for one checkpoint at least cost."""
    return _search(Searching(variants=(model,), engines=tuple(engines), settings=settings), _question(model, fleet, traffic, Wishes()))


def _question(model: Model, fleet: Fleet, traffic: Traffic, wishes: Wishes) -> Question:
    question = Question(
        shape=model.shape, fleet=fleet, traffic=traffic, calibration=load_performance(), objective=wishes.objective, vision=vision(model.shape)
    )  # fmt: skip
    if wishes.expert_load is None:
        return question
    return msgspec.structs.replace(question, imbalance=_uneven(wishes.expert_load))


def _uneven(load: ExpertLoad) -> Callable[[int], float]:
    """Hottest GPU over the mean for an expert-parallel size, remembered; a balance log knows only one size and stands for all."""
    from serveright.analysis.experts import imbalance

    known: dict[int, float] = {}

    def of(ep: int) -> float:
        if not load.rows:
            return load.hottest_gpu or 1.0
        if ep not in known:
            known[ep] = imbalance(load.rows, ep).gpu_mean if len(load.rows[0]) % ep == 0 else 1.0
        return known[ep]

    return of


def _search(searching: Searching, question: Question) -> Found:
    return search(question, [option for model in searching.variants for option in _options(model, searching, question)])


def _options(model: Model, searching: Searching, question: Question) -> list[Option]:
    by_name = {engine.name: engine for engine in searching.engines}
    fleet, traffic = question.fleet, question.traffic
    context, work = traffic.context_tokens or 0, work_of(model)
    drafting = (None, Speculation(tokens=SPECULATIVE_TOKENS)) if model.shape.mtp_layers and not traffic.reproducible else (None,)
    return [
        Option(
            engine=engine.name,
            version=engine.version,
            checkpoint=served_name(model.files),
            work=work,
            cuts=lambda tp, ep: divisibility(model.shape, model.checkpoint, tp, ep),
            size=lambda name, wished: size_on(by_name[name], model, fleet, wished, context),
            settings=with_kernels(engine, fleet, searching.settings),
            speculation=drafting if _can_draft(engine, model, fleet, searching.settings, context) else (None,),
            released=engine.table.released,
            exchanges=frozenset(engine.table.all2all_backends),
            exchange_default=next((str(f.default) for f in engine.table.flags if f.name == EXCHANGE[engine.name] and f.default is not None), None),
        )
        for engine in searching.engines
    ]


def _can_draft(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context: int) -> bool:
    """The engine accepts this model's own prediction layers at all."""
    drafted = msgspec.structs.replace(settings, parallel=Parallel(tp=fleet.per_node), speculative_method="mtp", speculative_tokens=SPECULATIVE_TOKENS)
    plain = msgspec.structs.replace(settings, parallel=Parallel(tp=fleet.per_node))
    before = {refusal.code for refusal in size_on(engine, model, fleet, plain, context).resolved.refusals}
    return {refusal.code for refusal in size_on(engine, model, fleet, drafted, context).resolved.refusals} <= before


def _corrections(anchors: Mapping[EngineName, tuple[Anchor, ...]]) -> Callable[[EngineName], Any]:
    made = {name: correction(points) for name, points in anchors.items() if points}
    return made.get


def _report(
    model: Model, variants: Sequence[Model], question: Question, settings: Settings, engines: tuple[Engine, ...], checks: dict[str, Check], found: Found
) -> PlanReport:
    fleet, traffic = question.fleet, question.traffic
    best: dict[str, Candidate] = {}
    for candidate in found.candidates:
        if candidate.fits:
            best.setdefault(candidate.engine, candidate)
    by_name = {engine.name: engine for engine in engines}
    by_checkpoint = {served_name(variant.files): variant for variant in variants}
    chosen = [_chosen(by_name[c.engine], by_checkpoint[c.checkpoint], traffic, c) for c in best.values()]
    first = next(iter(best.values()), None)
    blocked = not [e for e in engines if checks[e.name].verdict != "blocked"]
    past_blocks = [way for c in checks.values() for way in past_a_block(c, model.shape)]
    return PlanReport(
        model=model.name,
        gpu=GpuCount(key=fleet.gpu.key, count=fleet.count, nodes=fleet.nodes),
        objective=question.objective,
        candidates=tuple(_candidate(by_name, c) for c in found.candidates),
        rejected=found.rejected,
        flips=found.flips,
        chosen=chosen[0] if chosen else None,
        alternatives=tuple(chosen[1:]),
        steps={
            "shape": inspection.report(model),
            "memory": result(by_name[first.engine], by_checkpoint[first.checkpoint], first.sized) if first and first.sized else None,
            "hardware": tuple(checks.values()),
            "software": {name: {"tool_parser": c.tool_parser, "reasoning_parser": c.reasoning_parser, "minimum": c.minimum} for name, c in checks.items()},
            "design": {"traffic": traffic, "priced": found.priced, "pareto": tuple(_candidate(by_name, c) for c in found.pareto)},
        },
        findings=(),
        ways_out=() if chosen else tuple(past_blocks) if blocked else tuple(_ways(engines, model, fleet, settings, found, traffic.context_tokens or 0)),
    )


def _beside(question: Question, variants: Sequence[Model], engines: Sequence[Engine], found: Found, wishes: Wishes) -> dict[str, Any]:
    """Answers, simulation and expert balance of the chosen design, as fields of the report."""
    from serveright.api import answering

    best = next((c for c in found.candidates if c.fits), None)
    if best is None:
        return {}
    model = next(variant for variant in variants if served_name(variant.files) == best.checkpoint)
    work = work_of(model)
    released = next(e.table.released for e in engines if e.name == best.engine)
    drafts = any(c.settings.speculative_tokens for c in found.candidates if c.engine == best.engine)
    said = answering.answers(question, model.shape, work, best, found, SPECULATIVE_TOKENS if drafts else 0, released)
    if wishes.cross_check:
        from serveright.api.silicon import cross_check

        said = (*said, cross_check(best.checkpoint, question.fleet, question.traffic, best))
    return {
        "derivation": answering.asked_of(question, work, best, released).derivation(),
        "answers": said,
        "simulated": answering.simulated(question, work, best, released) if wishes.simulate else None,
        "experts": answering.balance(question, model.shape, work, wishes.expert_load, found) if wishes.expert_load else None,
    }


def _own_findings(report: PlanReport) -> tuple[Finding, ...]:
    """What our own audit says of the chosen command on the GPUs of one copy; nothing where the model was given as a file only."""
    from serveright.api import auditing, commands
    from serveright.errors import UserError

    if report.chosen is None:
        return ()
    engine = report.chosen.engine
    try:
        asked = commands.ask(f"{engine.name}@{engine.version}", f"{report.chosen.parallel.gpus}x{report.gpu.key}", report.model.id)
        return auditing.audit_text(report.chosen.command.encode(), "plan", asked).findings
    except UserError:
        return ()


def _candidate(engines: Mapping[str, Engine], candidate: Candidate) -> PlanCandidate:
    return PlanCandidate(
        engine=EngineVersion(name=candidate.engine, version=candidate.version, note=engines[candidate.engine].note),
        checkpoint=candidate.checkpoint,
        parallel=candidate.parallel,
        speculative_tokens=candidate.settings.speculative_tokens,
        fits=candidate.fits,
        estimate=candidate.estimate,
        cost_per_million_tokens=candidate.cost_per_million_tokens,
        lost_because=candidate.lost_because,
    )


def launch_of(engine: Engine, model: Model, traffic: Traffic, candidate: Candidate) -> Launch:
    """The typed launch of a feasible candidate: what every emitter reads."""
    if candidate.sized is None:
        raise ValueError("only a sized candidate can be launched")
    return launch(
        Subject(
            table=engine.table,
            shape=model.shape,
            checkpoint=model.checkpoint,
            sized=msgspec.structs.replace(candidate.sized, settings=candidate.settings),
            traffic=traffic,
            words=checking.words(engine, model),
            model=candidate.checkpoint,
            reasons=candidate.settings_why,
            engine_flags=engine.flags(msgspec.structs.replace(candidate.settings, context_tokens=None, language_only=False)),
        )
    )


def _chosen(engine: Engine, model: Model, traffic: Traffic, candidate: Candidate) -> Chosen:
    made = launch_of(engine, model, traffic, candidate)
    return Chosen(
        engine=engine.label,
        parallel=candidate.parallel,
        command=shell.command(engine.name, made.model, made.flags, made.env),
        env=made.env,
        first_launch_command=shell.command(engine.name, made.model, made.first_launch, made.env),
        flags=made.flags,
        left_to_engine=made.left_to_engine,
    )


def _room(sized: Sized) -> int:
    """Bytes a GPU has left beside one request; negative where they are missing."""
    return sized.memory.kv_pool_bytes - sized.memory.excess_bytes - sized.capacity.request_bytes


def _ways(engines: tuple[Engine, ...], model: Model, fleet: Fleet, settings: Settings, found: Found, context: int) -> list[Msg]:
    """Ways out of the layout that came nearest on each engine."""
    ways: list[Msg] = []
    for engine in engines:
        tried = [
            c for c in found.candidates if c.engine == engine.name and c.sized and not [r for r in c.sized.resolved.refusals if r.code not in CAPACITY_CODES]
        ]
        nearest = max(tried, key=lambda c: _room(c.sized) if c.sized else 0, default=None)
        if nearest is not None:
            ways += ways_out(engine, model, fleet, msgspec.structs.replace(settings, parallel=nearest.parallel), context)
    return ways
