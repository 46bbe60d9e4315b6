"""The questions beside the plan, asked about its chosen design; and the same design simulated."""

import msgspec

from serveright.analysis import traffic as service
from serveright.analysis.answers import Asked, expert_share
from serveright.analysis.balancing import Group, expert_balance
from serveright.analysis.generation import pace
from serveright.analysis.layout import split
from serveright.analysis.questions import Chosen, questions
from serveright.analysis.search import Found, Question, conditions
from serveright.analysis.simulate import Drafting, Request, StepTimes, closed, poisson, simulate
from serveright.analysis.speculation import Speculation, draft_s
from serveright.analysis.work import ModelWork
from serveright.readers.expert_load import ExpertLoad
from serveright.types.answers import Answer, ExpertBalance, Simulated
from serveright.types.design import Candidate
from serveright.types.engine import Parallel
from serveright.types.model import ModelShape
from serveright.types.traffic import Traffic

REQUESTS_PER_SEAT = 10
FEWEST, MOST = 500, 20_000
"""Requests of a simulation: enough for a 99th percentile, few enough for a second or two."""
MOST_SHAPES = 3


def asked_of(question: Question, work: ModelWork, candidate: Candidate, released: str = "") -> Asked:
    """The candidate as the service model sees it. `candidate.sized` must be there."""
    if candidate.sized is None:
        raise ValueError("only a sized candidate can be asked about")
    tokens = candidate.settings.speculative_tokens
    drafted = Speculation(tokens=tokens) if tokens else None
    given = conditions(question, candidate.engine, candidate.sized, drafted, released)
    return Asked(work=work, gpu=question.fleet.gpu, parallel=candidate.parallel, traffic=question.traffic, calibration=question.calibration, given=given)


def answers(
    question: Question, shape: ModelShape, work: ModelWork, best: Candidate, found: Found, drafted_tokens: int, released: str = ""
) -> tuple[Answer, ...]:
    """Every question this model and traffic raise."""
    if best.estimate is None:
        return ()
    singles = _singles(question, best, found)
    chosen = Chosen(
        asked=asked_of(question, work, best, released),
        estimate=best.estimate,
        shape=shape,
        fleet=question.fleet,
        drafted_tokens=drafted_tokens,
        shapes=tuple(singles),
        rooms=tuple(singles.values()),
    )
    return tuple(questions(chosen))


def _singles(question: Question, best: Candidate, found: Found) -> dict[Parallel, float]:
    """The best fitting deployment of each size that leaves GPUs for another one, as a single instance, with its room."""
    sizes: dict[int, tuple[Parallel, float]] = {}
    for candidate in found.candidates:
        gpus = candidate.parallel.gpus
        usable = candidate.fits and candidate.sized and candidate.engine == best.engine and candidate.checkpoint == best.checkpoint
        if usable and candidate.sized and gpus < question.fleet.count and gpus not in sizes and candidate.parallel.dcp == 1:
            sizes[gpus] = (msgspec.structs.replace(candidate.parallel, replicas=1), service.room(candidate.sized, question.traffic))
    return dict(sorted(sizes.values(), key=lambda item: item[0].gpus)[-MOST_SHAPES:])


def simulated(question: Question, work: ModelWork, best: Candidate, released: str = "", seed: int = 0) -> Simulated | None:
    """One deployment of the chosen design under its share of the traffic, step by step; None where no request fits its cache."""
    if best.sized is None:
        return None
    asked, traffic = asked_of(question, work, best, released), question.traffic
    capacity = best.sized.capacity
    longest = min(traffic.context_tokens or capacity.tokens, capacity.tokens)
    table, _ = pace(question.calibration, best.engine, question.fleet.gpu, work)
    cut = split(work, question.fleet.gpu, best.parallel, question.calibration, asked.given.kv_itemsize, engine=best.engine)
    seats = best.sized.resolved.max_num_seqs * best.parallel.dp
    if capacity.state_slots is not None:
        seats = min(seats, capacity.state_slots * best.parallel.dp)
    alive = max(1, round((traffic.concurrency or 1) / best.parallel.replicas))
    return simulate(
        StepTimes(cut, question.calibration.hardware, table, asked.given.age_years, _drafting(asked, alive)),
        [_clipped(request, longest, traffic.shared_prefix_tokens) for request in _requests(traffic, best.parallel, alive, seed)],
        seats=max(seats, 1),
        capacity_tokens=float(capacity.tokens),
        budget_tokens=best.sized.resolved.token_budget,
        concurrency=alive if traffic.concurrency else None,
        ttft_target_s=traffic.ttft_target_s or float("inf"),
        tpot_target_s=traffic.tpot_target_s or float("inf"),
    )


def _requests(traffic: Traffic, parallel: Parallel, alive: int, seed: int) -> list[Request]:
    if traffic.rate_per_s is not None:
        return poisson(traffic.rate_per_s / parallel.replicas, MOST // 4, traffic.input_tokens, traffic.output_tokens, seed)
    return closed(max(FEWEST, min(MOST, REQUESTS_PER_SEAT * alive)), traffic.input_tokens, traffic.output_tokens, seed)


def _clipped(request: Request, longest: int, shared: int) -> Request:
    """No request longer than what is served; a shared prefix costs no prefill."""
    output = max(1, min(request.output_tokens, longest - 1))
    prompt = max(1, min(request.input_tokens, longest - output))
    return Request(request.arrival_s, max(1, prompt - shared), output)


def _drafting(asked: Asked, running: float) -> Drafting:
    spec = asked.given.speculation
    if spec is None:
        return Drafting(imbalance=asked.given.imbalance)
    return Drafting(
        drafted=float(spec.tokens),
        accepted=service.accepted_of(asked.given, asked.calibration),
        draft_s=draft_s(asked.work, asked.gpu, asked.parallel, spec, asked.calibration, running / asked.parallel.dp),
        imbalance=asked.given.imbalance,
    )


def balance(question: Question, shape: ModelShape, work: ModelWork, load: ExpertLoad, found: Found) -> ExpertBalance | None:
    """On the best fitting layout that keeps whole experts; None where there is none, or the loads name no experts."""
    best = next((c for c in found.candidates if c.fits and c.parallel.ep > 1), None)
    if best is None or best.sized is None or not load.rows or not work.experts:
        return None
    block = work.experts[0]
    moe = next((ffn for layer in shape.layers for ffn in layer.ffns if ffn.kind == "moe"), None)
    group = Group(
        gpus=best.parallel.ep,
        engine=best.engine,
        nodes=max(1, best.parallel.ep // question.fleet.per_node),
        expert_groups=(moe.expert_groups if moe else None) or 1,
        expert_bytes=block.bytes / block.layers / block.experts,
        expert_share=expert_share(asked_of(question, work, best)),
        free_bytes=float(best.sized.memory.kv_pool_bytes - best.sized.capacity.request_bytes),
    )
    return expert_balance(load.rows, group)
