"""The best layout for a traffic: size and price every feasible one, rank by the objective, say why each loser lost and where the choice flips."""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct, structs

from serveright.analysis import layouts
from serveright.analysis import traffic as service
from serveright.analysis.anchors import Correction
from serveright.analysis.generation import age_years
from serveright.analysis.speculation import Speculation
from serveright.analysis.work import ModelWork
from serveright.types.calibration import Calibration
from serveright.types.design import Candidate, Estimate, Flip, Reason
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.engine_table import EngineName
from serveright.types.hardware import Fleet
from serveright.types.model import ModelShape, Tower
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

Objective = Literal["cost", "latency", "context", "users"]
Size = Callable[[EngineName, Settings], Sized]
"""Step 2 of one engine with model, GPU and version bound."""
FLIP_STEPS = tuple(2**power for power in range(11))
CLEAR_WIN = 1.02
"""A layout must beat the ruling one by this much before the choice is said to flip."""
NEAR = 0.93
"""Two estimates of one model on one GPU that lie nearer than this cannot be told apart (layouts left out of the fit: 8 % median error)."""
SECONDS_PER_HOUR = 3600


class Option(Struct, frozen=True, kw_only=True):
    """One engine with one checkpoint in the search; `work` counted from that checkpoint, `cuts` bound to it."""

    engine: EngineName
    version: str
    checkpoint: str
    work: ModelWork
    cuts: layouts.Cuts
    size: Size
    settings: Settings = Settings()
    """What the user fixed; the search fills in the layout."""
    speculation: tuple[Speculation | None, ...] = (None,)
    exchanges: frozenset[str] = frozenset()
    """All-to-all backends this version's flag takes."""
    exchange_default: str | None = None
    released: str = ""
    """Release date of the version, where known."""


def _even(ep: int) -> float:
    return 1.0


def _uncorrected(engine: EngineName) -> Correction | None:
    return None


class Question(Struct, frozen=True, kw_only=True):
    """What the search is asked."""

    shape: ModelShape
    fleet: Fleet
    traffic: Traffic
    calibration: Calibration
    objective: Objective = "cost"
    correction: Callable[[EngineName], Correction | None] = _uncorrected
    vision: Tower | None = None
    imbalance: Callable[[int], float] = _even
    """Expert-parallel GPUs -> load of the hottest over the mean."""


class Found(Struct, frozen=True, kw_only=True):
    """Candidates best first; the feasible ones no other beats in both cost and token time; where the choice flips."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[tuple[str, Reason], ...]
    pareto: tuple[Candidate, ...]
    flips: tuple[Flip, ...]
    priced: int


class _Priced(Struct, frozen=True, kw_only=True):
    option: Option
    candidate: Candidate
    speculation: Speculation | None
    given: service.Conditions | None


def search(question: Question, options: Sequence[Option]) -> Found:
    """Price everything. An empty `candidates[0].fits` means no layout is feasible."""
    priced: list[_Priced] = []
    rejected: dict[tuple[str, str], tuple[Reason, set[str]]] = {}
    for option in options:
        good, bad = layouts.layouts(question.shape, question.fleet, option.engine, option.cuts)
        for title, reason in bad:
            rejected.setdefault((title, reason.code), (reason, set()))[1].add(option.engine)
        for parallel in good:
            priced += _price(question, option, parallel)
    ranked = sorted(priced, key=lambda item: rank(item.candidate, question.traffic, question.objective))
    best = ranked[0].candidate if ranked and ranked[0].candidate.fits else None
    candidates = tuple(_judged(item.candidate, best, question) for item in ranked)
    return Found(
        candidates=candidates,
        rejected=tuple((_on(title, by, options), reason) for (title, _), (reason, by) in rejected.items()),
        pareto=pareto(candidates),
        flips=flips(question, ranked) if best else (),
        priced=len(priced),
    )


def _on(title: str, engines: set[str], options: Sequence[Option]) -> str:
    """A layout's name, with the engine where another asked for does not refuse it for this reason."""
    return title if engines == {option.engine for option in options} else f"{title} ({', '.join(sorted(engines))})"


def _price(question: Question, option: Option, parallel: Parallel) -> list[_Priced]:
    exchange, why = exchange_of(question, option, parallel)
    settings = structs.replace(option.settings, parallel=parallel, all2all_backend=option.settings.all2all_backend or exchange)
    out: list[_Priced] = []
    for spec in option.speculation:
        wished = structs.replace(settings, speculative_method=spec.method, speculative_tokens=spec.tokens) if spec else settings
        sized = option.size(option.engine, wished)
        given = estimate = None
        if sized.fits:
            given = conditions(question, option.engine, sized, spec, option.released)
            estimate = service.estimate(option.work, question.fleet.gpu, parallel, question.traffic, question.calibration, given)
        candidate = Candidate(
            engine=option.engine,
            version=option.version,
            checkpoint=option.checkpoint,
            parallel=parallel,
            settings=sized.settings,
            fits=sized.fits,
            sized=sized,
            estimate=estimate,
            cost_per_million_tokens=cost(question.fleet, estimate) if estimate else None,
            settings_why=why,
        )
        out.append(_Priced(option=option, candidate=candidate, speculation=spec, given=given))
    return out


def exchange_of(question: Question, option: Option, parallel: Parallel) -> tuple[str | None, dict[str, Msg]]:
    """The all-to-all backend to name in the command (None: the engine's own default), and the reason of either."""
    running = question.traffic.concurrency or _running(question, option, parallel)
    rank_tokens = running / parallel.replicas / parallel.dp
    chosen = layouts.all_to_all(option.engine, question.fleet.gpu, parallel, rank_tokens)
    if chosen is None or chosen[0] not in option.exchanges:
        return None, {}
    return (None if chosen[0] == option.exchange_default else chosen[0]), {"all2all_backend": chosen[1]}


def _running(question: Question, option: Option, parallel: Parallel) -> float:
    """Requests being decoded where only a rate is asked for: arrivals times the time their tokens take (Little's law), on the engine's default exchange."""
    if parallel.ep == 1 or parallel.dp == 1:
        return 1.0
    sized = option.size(option.engine, structs.replace(option.settings, parallel=parallel))
    if not sized.fits:
        return 1.0
    given = conditions(question, option.engine, sized, None, option.released)
    found = service.estimate(option.work, question.fleet.gpu, parallel, question.traffic, question.calibration, given)
    return max(1.0, found.requests_per_s * service.mean(question.traffic.output_tokens) * found.tpot_s)


def conditions(question: Question, engine: EngineName, sized: Sized, spec: Speculation | None, released: str = "") -> service.Conditions:
    """The engine's side of the estimate from what step 2 found."""
    return service.Conditions(
        engine=engine,
        room=service.room(sized, question.traffic),
        kv_itemsize=sized.resolved.kv_itemsize,
        token_budget=sized.resolved.token_budget,
        eager=sized.settings.eager,
        speculation=spec,
        correction=question.correction(engine),
        vision=question.vision,
        age_years=age_years(question.calibration, released),
        imbalance=question.imbalance(sized.settings.parallel.ep) if sized.settings.parallel.ep > 1 else 1.0,
    )


def cost(fleet: Fleet, estimate: Estimate) -> float | None:
    """US dollars per million output tokens with all GPUs of the fleet paid, None without a price."""
    price = fleet.gpu.price_usd_per_hour
    if price is None or estimate.output_tokens_per_s <= 0:
        return None
    return price * fleet.count / SECONDS_PER_HOUR / estimate.output_tokens_per_s * 1e6


def misses(estimate: Estimate, asked: Traffic) -> float:
    """How far the worse target is missed, as a factor; 1 where both are met."""
    ratios = [1.0]
    if asked.tpot_target_s:
        ratios.append(estimate.tpot_s / asked.tpot_target_s)
    if asked.ttft_target_s:
        ratios.append(estimate.ttft_median_s / asked.ttft_target_s)
    return max(ratios)


def rank(candidate: Candidate, asked: Traffic, objective: Objective) -> tuple[float, ...]:
    """Sort key, smaller is better: feasible first, then targets met, then the objective, then its natural tie-break."""
    estimate = candidate.estimate
    if estimate is None or candidate.sized is None:
        return (1.0,)
    capacity = candidate.sized.capacity
    users = capacity.max_concurrency * candidate.parallel.replicas
    keys = {
        "cost": (-estimate.output_tokens_per_s, estimate.tpot_s),
        "latency": (estimate.tpot_s + estimate.ttft_median_s / max(asked.output_tokens[0], 1), -estimate.output_tokens_per_s),
        "context": (-float(capacity.per_rank_tokens), estimate.tpot_s),
        "users": (-users, estimate.tpot_s),
    }
    return (0.0, misses(estimate, asked), *keys[objective], float(candidate.parallel.gpus))


def _judged(candidate: Candidate, best: Candidate | None, question: Question) -> Candidate:
    if best is None or candidate.estimate is None or best.estimate is None:
        return structs.replace(candidate, lost_because=_unfit(candidate))
    if candidate.engine == best.engine and candidate.settings == best.settings and candidate.checkpoint == best.checkpoint:
        return candidate
    return structs.replace(candidate, lost_because=_lost(candidate, candidate.estimate, best.estimate, question))


def _unfit(candidate: Candidate) -> Reason:
    sized = candidate.sized
    if sized is None:
        return Reason(code="not-sized", text=msg("The engine's memory could not be derived."))
    refusals = (*sized.resolved.refusals, *sized.capacity.refusals)
    if refusals:
        return Reason(code=refusals[0].code, text=refusals[0].why, source=refusals[0].source)
    return Reason(
        code="does-not-fit",
        text=msg(
            "{weights:gib} of weights on each GPU leave {pool:gib} for the cache; one request of {context:n} tokens needs {request:gib}.",
            weights=sized.memory.weights_bytes,
            pool=max(sized.memory.kv_pool_bytes, 0),
            context=sized.capacity.context_tokens,
            request=sized.capacity.request_bytes,
        ),
    )


def _lost(candidate: Candidate, mine: Estimate, best: Estimate, question: Question) -> Reason:
    asked, objective = question.traffic, question.objective
    if misses(mine, asked) > max(1.0, misses(best, asked)):
        if asked.tpot_target_s and mine.tpot_s / asked.tpot_target_s >= misses(mine, asked):
            return Reason(
                code="misses-tpot",
                text=msg("{mine:s} per token, {target:s} asked; most of it {why}", mine=mine.tpot_s, target=asked.tpot_target_s, why=_worse(mine, best)),
            )
        return Reason(code="misses-ttft", text=msg("{mine:s} to the first token, {target:s} asked", mine=mine.ttft_median_s, target=asked.ttft_target_s))
    if objective == "context" or objective == "users":
        room = candidate.sized.capacity.tokens * candidate.parallel.replicas if candidate.sized else 0
        return Reason(code="holds-less", text=msg("The cache holds {tokens:n} tokens in all.", tokens=room))
    if objective == "latency":
        return Reason(
            code="slower", text=msg("{mine:s} per token against {best:s}; more goes into {why}", mine=mine.tpot_s, best=best.tpot_s, why=_worse(mine, best))
        )
    if mine.output_tokens_per_s > NEAR * best.output_tokens_per_s:
        return Reason(
            code="nearly-equal",
            text=msg("{share:pct} of the winner's output: within the error of the estimate", share=mine.output_tokens_per_s / best.output_tokens_per_s),
        )
    return Reason(
        code="costs-more",
        text=msg(
            "{mine:n} output tokens per second against {best:n}; more time goes into {why}",
            mine=round(mine.output_tokens_per_s),
            best=round(best.output_tokens_per_s),
            why=_worse(mine, best),
        ),
    )


def _worse(mine: Estimate, best: Estimate) -> Msg:
    """The part whose share of a token's time grew most against the winner."""
    names = mine.parts.keys() & best.parts.keys()
    if not names:
        return msg("work the winner does not have")
    total, other = sum(mine.parts.values()), sum(best.parts.values())
    worst = max(sorted(names), key=lambda part: mine.parts[part] / total * mine.tpot_s - best.parts[part] / other * best.tpot_s)
    return service.PART_NAMES[worst]


def pareto(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Feasible candidates that no other beats in both token time and throughput, fastest token first."""
    alive = [candidate for candidate in candidates if candidate.estimate is not None]
    alive.sort(key=lambda c: (c.estimate.tpot_s, -c.estimate.output_tokens_per_s) if c.estimate else (0.0, 0.0))
    out: list[Candidate] = []
    best = -1.0
    for candidate in alive:
        if candidate.estimate and candidate.estimate.output_tokens_per_s > best:
            out.append(candidate)
            best = candidate.estimate.output_tokens_per_s
    return tuple(out)


def flips(question: Question, ranked: Sequence[_Priced]) -> tuple[Flip, ...]:
    """Concurrencies at which another layout of the chosen engine and checkpoint becomes the better one."""
    chosen = ranked[0]
    rivals = [item for item in ranked if item.given and item.option is chosen.option and (item.speculation is None) == (chosen.speculation is None)]
    out: list[Flip] = []
    ruling: _Priced | None = None
    for concurrency in FLIP_STEPS:
        asked = structs.replace(question.traffic, concurrency=concurrency, rate_per_s=None)
        scored = [(item, _at(question, item, asked)) for item in rivals if concurrency <= FLIP_STEPS[-1]]
        leader, value = min(scored, key=lambda pair: pair[1])
        if ruling is None:
            ruling = leader
        held = next(score for item, score in scored if item is ruling)
        if leader is not ruling and held[0] >= value[0] and (held[0] > value[0] or held[1] > value[1] * CLEAR_WIN):
            out.append(Flip(at_concurrency=concurrency, origin=layouts.name(ruling.candidate.parallel), to=layouts.name(leader.candidate.parallel)))
            ruling = leader
    return tuple(out)


def _at(question: Question, item: _Priced, asked: Traffic) -> tuple[float, float]:
    """(targets missed, seconds per token or per output token of the fleet): smaller is better, both positive."""
    if item.given is None:
        return (float("inf"), float("inf"))
    estimate = service.estimate(item.option.work, question.fleet.gpu, item.candidate.parallel, asked, question.calibration, item.given)
    if question.objective == "latency":
        return (misses(estimate, asked), estimate.tpot_s)
    return (misses(estimate, asked), 1 / estimate.output_tokens_per_s)
