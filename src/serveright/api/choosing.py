"""Hardware, then workload, then needs, then rank: the steps over the whole catalogue. Every model that falls keeps its reason."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from serveright.analysis import choosing as rules
from serveright.analysis.cache import logical_cache
from serveright.analysis.traffic import mean
from serveright.analysis.weights import held_bytes
from serveright.api.engines import load_engines
from serveright.api.estimating import Served
from serveright.api.hosting import Hosted, Question, Standing, Subject, host, speed, subject_of, with_context
from serveright.api.loading import Model
from serveright.api.needs import need_reasons, parse_needs
from serveright.catalog.calibration import load_performance
from serveright.catalog.gpus import parse_gpu_spec
from serveright.catalog.models import Listed, list_models, load
from serveright.errors import UnknownName, UserError
from serveright.readers.model import read_model_files
from serveright.readers.scores import read_scores
from serveright.types.choosing import Because, Choice, ChooseReport, StepReason
from serveright.types.hardware import Fleet
from serveright.types.reports import GpuCount
from serveright.types.source import ModelFiles
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

SHOWN_COMMANDS = 10
"""Commands are written for the first so many."""
STEPS = ("shape", "hardware", "workload", "needs", "quality")


def choose(
    gpu: str,
    traffic: Traffic | None = None,
    *,
    gpus: int | None = None,
    nodes: int | None = None,
    engine: str = "both",
    needs: Sequence[str] = (),
    scores: str | Mapping[str, float] | None = None,
    because: Because | None = None,
    origin: str | None = None,
    extra_models: Sequence[str | ModelFiles] = (),
    among: Sequence[str] | None = None,
) -> ChooseReport:
    """Every model of the catalogue (of those in `among`, and `extra_models`), best first, the rejected ones after with their reasons. Raises UserError."""
    fleet = parse_gpu_spec(gpu, gpus, nodes)
    asked = with_context(traffic or Traffic(concurrency=32))
    question = Question(
        fleet=fleet,
        traffic=asked,
        engines=load_engines(engine),
        needs=parse_needs(needs),
        scores=read_scores(scores) if isinstance(scores, str) else scores or {},
    )
    standing: list[Standing] = []
    rejected: list[Choice] = []
    wanted = None if among is None else {name.lower() for name in among}
    known = {name.lower() for listed in list_models() for name in (listed.id, *listed.aliases)}
    for name in among or ():
        if name.lower() not in known:
            raise UnknownName(msg("model of the catalogue"), name, known, "serveright facts model")
    for listed in list_models():
        if wanted is not None and wanted.isdisjoint((listed.id.lower(), *listed.aliases)):
            continue
        _sort(judge(load(listed.id), listed, question), standing, rejected)
    for extra in extra_models:
        files = read_model_files(extra) if isinstance(extra, str) else extra
        _sort(judge(files, Listed(id=files.id), question), standing, rejected)
    ranked = rank(standing, question)
    report = ChooseReport(
        gpu=GpuCount(key=fleet.gpu.key, count=fleet.count, nodes=fleet.nodes),
        traffic=asked,
        needs=question.needs,
        candidates=(*(s.choice for s in ranked), *sorted(rejected, key=lambda c: (STEPS.index(c.reasons[-1].step), c.model))),
        funnel=_funnel(rejected, len(ranked)),
        left_open=tuple(_left_open(question, fleet)),
    )
    if because is None:
        return report
    from serveright.api.because import because_of

    return msgspec.structs.replace(report, because=because_of(because, origin, question, ranked))


def _sort(result: Standing | Choice, standing: list[Standing], rejected: list[Choice]) -> None:
    if isinstance(result, Standing):
        standing.append(result)
    else:
        rejected.append(result)


def judge(files: ModelFiles, listed: Listed, question: Question) -> Standing | Choice:
    """One model through the steps, in order; the first step it falls at ends it."""
    try:
        subject = subject_of(files)
    except UserError as error:
        return fallen(files.id, [StepReason(step="shape", code="unreadable", text=error.message, against=True)])
    if against := list(_shape_reasons(subject)):
        return fallen(files.id, against, subject)
    result = host(subject, question)
    if not isinstance(result, Hosted):
        return fallen(files.id, result, subject)
    reasons = [*result.reasons, *workload(result.model, result.served, question)]
    if not any(r.against for r in reasons):
        reasons += need_reasons(result.model, listed, result.served.engine, question.needs)
    if any(r.against for r in reasons):
        kept = [r for r in reasons if r.against] or reasons
        return fallen(files.id, kept, subject)
    return Standing(choice=_choice(files.id, result, reasons, question), model=result.model, served=result.served)


def fallen(model: str, reasons: Sequence[StepReason], subject: Subject | None = None) -> Choice:
    """A rejected model with what is known of it."""
    known: dict[str, Any] = {}
    if subject is not None:
        known = {"family": subject.family.name, "checkpoint_format": subject.checkpoint.format, "parameters": sum(w.elements for w in subject.shape.weights)}
    return Choice(model=model, checkpoint=model, verdict="rejected", reasons=tuple(reasons), **known)


def _shape_reasons(subject: Subject) -> Iterator[StepReason]:
    if subject.family.name == "encoder":
        yield StepReason(step="shape", code="does-not-generate", text=msg("an encoder: it embeds or ranks, and generates nothing"), against=True)
    elif subject.family.name == "unknown":
        text = msg("layers of {architecture} that no reader knows: its cache cannot be derived", architecture=subject.shape.architecture)
        yield StepReason(step="shape", code="layers-unknown", text=text, against=True)


def workload(model: Model, served: Served, question: Question) -> Iterator[StepReason]:
    """For and against this model under this traffic."""
    traffic = question.traffic
    estimate = served.candidate.estimate
    tower = sum(group.bytes for group in model.need.groups if group.part == "vision")
    yield from rules.image_reasons(model.shape, traffic, tower)
    users = traffic.concurrency
    length = round(mean(traffic.input_tokens) + mean(traffic.output_tokens))
    cache = logical_cache(model.shape, min(length, model.shape.max_context_tokens or length))
    if users is not None and served.room < users:
        text = msg("{users} requests of {n:n} tokens are asked for at once, {room:.1f} find room", users=users, n=length, room=served.room)
        yield StepReason(step="workload", code="users-do-not-fit", text=text, against=True)
        return
    if estimate is not None:
        yield from rules.target_reasons(estimate, traffic)
    yield from rules.cache_reasons(model.shape, cache, served.pool_bytes, traffic)
    yield from rules.expert_reasons(model.shape, traffic, load_performance().hardware.routing_spread)


def _choice(name: str, hosted: Hosted, reasons: Sequence[StepReason], question: Question) -> Choice:
    model, candidate = hosted.model, hosted.served.candidate
    return Choice(
        model=name,
        checkpoint=model.files.id,
        verdict="fits",
        reasons=tuple(reasons),
        estimate=candidate.estimate,
        family=model.family.name,
        parameters=model.need.total_elements,
        active_parameters=model.need.active_elements,
        checkpoint_format=model.checkpoint.format,
        checkpoint_assumed=hosted.assumed,
        weights_bytes=held_bytes(model.need),
        engine=hosted.served.engine.label,
        parallel=candidate.parallel,
        cost_per_million_tokens=candidate.cost_per_million_tokens,
        score=_score(question.scores, name, model.files.id),
    )


def _score(scores: Mapping[str, float], *names: str) -> float | None:
    folded = {name.lower(): value for name, value in scores.items()}
    return next((folded[name.lower()] for name in names if name.lower() in folded), None)


def rank(standing: Sequence[Standing], question: Question) -> list[Standing]:
    """Frontier first: of models of a size (or score), the one that serves more comes before; larger first inside a tier."""
    scored = bool(question.scores)

    def size(item: Standing) -> float:
        return (item.choice.score if item.choice.score is not None else float("-inf")) if scored else float(item.choice.parameters)

    ordered = sorted(standing, key=lambda s: s.choice.model)
    out: list[Standing] = []
    for number, tier in enumerate(rules.tiers(ordered, size, lambda s: speed(s.served)), 1):
        for item in sorted(tier, key=lambda s: (-size(s), -speed(s.served), s.choice.model)):
            place = len(out) + 1
            command = _command(item, question.traffic) if place <= SHOWN_COMMANDS else None
            out.append(msgspec.structs.replace(item, choice=msgspec.structs.replace(item.choice, rank=place, tier=number, command=command)))
    return out


def _command(item: Standing, traffic: Traffic) -> str:
    from serveright.api.planning import launch_of
    from serveright.outputs import shell

    made = launch_of(item.served.engine, item.model, traffic, item.served.candidate)
    return shell.command(made.engine, made.model, made.flags, made.env)


def _funnel(rejected: Sequence[Choice], fits: int) -> dict[str, int]:
    counts = Counter(next(r.step for r in choice.reasons if r.against) for choice in rejected)
    return {"asked": len(rejected) + fits, **{step: counts[step] for step in STEPS if counts[step]}, "fits": fits}


def _left_open(question: Question, fleet: Fleet) -> Iterator[Msg]:
    if question.scores:
        missing = sum(1 for m in list_models() if _score(question.scores, m.id, *m.checkpoints) is None)
        yield msg("quality is taken from the scores given; {n} models have none and come last", n=missing)
    else:
        yield msg("quality is left open: no published score was read. Size stands in for nothing but size; give --scores FILE with results on your own task")
    if fleet.gpu.price_usd_per_hour is None:
        yield msg("cost is left open: no sourced price for {gpu}", gpu=fleet.gpu.name)
    else:
        source = fleet.gpu.sources.get("price_usd_per_hour")
        yield msg("price: {price} USD an hour and GPU ({source})", price=fleet.gpu.price_usd_per_hour, source=source.text if source else "?")
    yield msg("one layout a model was priced, the fewest GPUs a copy that hold it; `serveright plan MODEL` searches all of them")
