"""The ranges behind the pictures: cache and users over length, token time over concurrency, the roofline of a step. Same functions as the steps, asked repeatedly."""

from collections.abc import Iterable, Sequence

import msgspec

from serveright.analysis import traffic as service
from serveright.analysis.cache import logical_cache
from serveright.analysis.describe import NAMES
from serveright.analysis.images import vision
from serveright.analysis.layout import Split, split
from serveright.analysis.layouts import name as layout_name
from serveright.analysis.roofline import distinct_share, rows_read
from serveright.analysis.search import Found, Question, conditions
from serveright.analysis.speculation import Speculation
from serveright.analysis.work import ModelWork
from serveright.api.engines import Engine
from serveright.api.estimating import work_of
from serveright.api.loading import Model
from serveright.api.sized import size_on
from serveright.catalog.calibration import load_performance
from serveright.errors import UserError
from serveright.types.calibration import Hardware
from serveright.types.curves import Curves, Line, Roof, RoofPart
from serveright.types.design import Candidate, Estimate
from serveright.types.engine import Settings
from serveright.types.hardware import Fleet
from serveright.types.text import Msg
from serveright.types.traffic import Traffic

SHORTEST, USUAL_LONGEST = 256, 131072
CONCURRENCIES = tuple(2**power for power in range(11))
MOST_LINES = 4


def lengths(longest: int | None, step: int = 2) -> tuple[int, ...]:
    """Powers of `step` from `SHORTEST` below `longest`, then `longest` itself."""
    end = max(longest or USUAL_LONGEST, SHORTEST)
    found: list[int] = []
    length = SHORTEST
    while length < end:
        found.append(length)
        length *= step
    return (*found, end)


def cache_line(model: Model, name: Msg | str, dtype: str = "auto", longest: int | None = None) -> Line:
    """Bytes of one sequence of the whole model, from the config alone."""
    x = lengths(min(longest or model.shape.max_context_tokens or USUAL_LONGEST, model.shape.max_context_tokens or USUAL_LONGEST))
    return Line(name=name, x=x, y=tuple(float(logical_cache(model.shape, tokens, dtype).bytes) for tokens in x))


def cache_lines(models: Iterable[Model]) -> tuple[Line, ...]:
    """One line a model, each to its own longest context."""
    return tuple(cache_line(model, model.files.id) for model in models)


def cache_parts(model: Model, dtype: str = "auto") -> tuple[Line, ...]:
    """One model: the whole, and its parts where it has several kinds of cache."""
    x = lengths(model.shape.max_context_tokens)
    cells = [logical_cache(model.shape, tokens, dtype) for tokens in x]
    whole = Line(name=model.files.id, x=x, y=tuple(float(cell.bytes) for cell in cells))
    kinds = list(dict.fromkeys(part.mixer for part in cells[-1].parts))
    if len(kinds) < 2:
        return (whole,)
    parts = tuple(
        Line(name=NAMES[kind], x=x, y=tuple(float(sum(p.bytes for p in cell.parts if p.mixer == kind)) for cell in cells), dashed=True) for kind in kinds
    )
    return (whole, *parts)


def users_lines(engines: Iterable[Engine], model: Model, fleet: Fleet, settings: Settings) -> tuple[Line, ...]:
    """Requests at once over the length of each, an engine a line; lengths at which nothing fits are left out."""
    found: list[Line] = []
    for engine in engines:
        pairs: list[tuple[float, float]] = []
        for tokens in lengths(model.shape.max_context_tokens, 4):
            try:
                sized = size_on(engine, model, fleet, settings, tokens)
            except UserError:
                continue
            if sized.fits:
                pairs.append((float(tokens), sized.capacity.max_concurrency * sized.settings.parallel.replicas))
        if pairs:
            found.append(Line(name=f"{engine.name} {engine.version}", x=tuple(x for x, _ in pairs), y=tuple(y for _, y in pairs)))
    return tuple(found)


def plan_curves(model: Model, fleet: Fleet, traffic: Traffic, engines: Sequence[Engine], found: Found) -> Curves:
    """What the pictures of a design need, from the candidates the search kept."""
    work = work_of(model)
    best = next((c for c in found.candidates if c.fits), None)
    if best is None or best.estimate is None:
        return Curves(cache=cache_parts(model))
    question = Question(shape=model.shape, fleet=fleet, traffic=traffic, calibration=load_performance(), vision=vision(model.shape))
    of_best = [engine for engine in engines if engine.name == best.engine]
    return Curves(
        cache=cache_parts(model),
        users=users_lines(of_best, model, fleet, best.settings),
        tpot=tuple(_tpot_line(question, work, candidate) for candidate in _rivals(found, best)),
        roof=roof(work, fleet, best, best.estimate, traffic),
    )


def _rivals(found: Found, best: Candidate) -> list[Candidate]:
    """The chosen layout, those it flips with, then the Pareto front; same engine and same drafting, so that only the layout differs."""
    alike = [c for c in found.candidates if c.fits and c.engine == best.engine and c.settings.speculative_tokens == best.settings.speculative_tokens]
    flipping = {name for flip in found.flips for name in (flip.origin, flip.to)}
    front = {layout_name(c.parallel) for c in found.pareto}
    ordered = sorted(alike, key=lambda c: (c is not best, layout_name(c.parallel) not in flipping, layout_name(c.parallel) not in front))
    return ordered[:MOST_LINES]


def _tpot_line(question: Question, work: ModelWork, candidate: Candidate) -> Line:
    sized = candidate.sized
    if sized is None:
        raise ValueError("only a sized candidate has a token time")
    drafted = candidate.settings.speculative_tokens
    given = conditions(question, candidate.engine, sized, Speculation(tokens=drafted) if drafted else None)
    made: list[Estimate] = []
    for concurrency in CONCURRENCIES:
        asked = msgspec.structs.replace(question.traffic, concurrency=concurrency, rate_per_s=None)
        made.append(service.estimate(work, question.fleet.gpu, candidate.parallel, asked, question.calibration, given))
    ranges = [estimate.range.get("tpot_s", (estimate.tpot_s, estimate.tpot_s)) for estimate in made]
    return Line(
        name=layout_name(candidate.parallel),
        x=CONCURRENCIES,
        y=tuple(estimate.tpot_s for estimate in made),
        low=tuple(low for low, _ in ranges),
        high=tuple(high for _, high in ranges),
    )


def roof(work: ModelWork, fleet: Fleet, best: Candidate, estimate: Estimate, traffic: Traffic) -> Roof | None:
    """FLOPs a byte and FLOP/s of the parts that read memory, at the load the estimate settles at; None for a candidate that was not sized."""
    if best.sized is None:
        return None
    calibration, gpu = load_performance(), fleet.gpu
    cut = split(work, gpu, best.parallel, calibration, best.sized.resolved.kv_itemsize, engine=best.engine)
    peak = gpu.flops.get("bf16") or gpu.flops.get("fp16") or max(gpu.flops.values())
    running = estimate.output_tokens_per_s * estimate.tpot_s / best.parallel.replicas / best.parallel.dp
    context = service.mean(traffic.input_tokens) + service.mean(traffic.output_tokens) / 2
    work_s = _work_seconds(cut, calibration.hardware, running, context)
    parts = tuple(
        RoofPart(
            name=name,
            intensity=flop_s * peak / (bytes_s * gpu.bandwidth_bytes_per_s),
            flop_per_s=flop_s * peak / estimate.parts[name],
            seconds=estimate.parts[name],
        )
        for name, (flop_s, bytes_s) in work_s.items()
        if bytes_s > 0 and flop_s > 0 and estimate.parts.get(name, 0) > 0
    )
    return Roof(peak_flop_per_s=peak, bandwidth_bytes_per_s=gpu.bandwidth_bytes_per_s, parts=parts)


def _work_seconds(cut: Split, hardware: Hardware, running: float, context: float) -> dict[str, tuple[float, float]]:
    """(seconds of arithmetic at peak, seconds of reading at full bandwidth) of each part of one step."""
    tokens = running * cut.dp
    experts = sum(block.bytes_s * distinct_share(block.share, tokens, hardware.routing_spread) for block in cut.experts)
    rows = [(r, rows_read(r.per_token, r.cap, context) / cut.dcp) for r in cut.rows]
    return {
        "dense": (cut.rank_flop_s * running + cut.group_flop_s * tokens, cut.dense_bytes_s),
        "experts": (sum(block.flop_s for block in cut.experts) * tokens, experts),
        "cache": (sum(running * n * r.flop_s for r, n in rows), sum(running * n * r.bytes_s for r, n in rows) + running * cut.state_s),
    }
