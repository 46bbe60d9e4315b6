"""Why are you changing? What to try with the model at hand first, in figures of these GPUs, and which others the reason asks for."""

from collections.abc import Iterator, Sequence

import msgspec

from serveright.analysis import layout, roofline
from serveright.analysis.cache import logical_cache
from serveright.analysis.search import Found
from serveright.analysis.traffic import mean
from serveright.api import checking, planning
from serveright.api.estimating import Served, serve, work_of
from serveright.api.hosting import Question, Standing, host, speed, subject_of
from serveright.api.loading import Model, load_model
from serveright.catalog.calibration import load_performance
from serveright.errors import UsageError
from serveright.readers.model import read_model_files
from serveright.types.choosing import Advice, Because, BecauseReport
from serveright.types.design import Estimate, Reason
from serveright.types.engine import Settings
from serveright.types.text import msg
from serveright.types.traffic import Traffic

MILLION = 1_048_576
LIKE = 2.0
"""Models between 1/LIKE and LIKE times the parameters count as of comparable size."""
MORE_TRAFFIC = 10
SHOWN = 5


def because_of(reason: Because, origin: str | None, question: Question, ranked: Sequence[Standing]) -> BecauseReport:
    """The advice for one reason. Raises UsageError without `origin`, UserError where it cannot be read."""
    if origin is None:
        raise UsageError(msg("--because {reason} needs the model you have now", reason=reason), msg("Give it: --because {reason} --from MODEL", reason=reason))
    subject = subject_of(read_model_files(origin))
    hosted = host(subject, question)
    if isinstance(hosted, list):
        model, blocked = load_model(subject.files), tuple(Advice(code="does-not-run-here", text=r.text) for r in hosted)
    else:
        model, blocked = hosted.model, ()
    if reason == "context":
        advice = tuple(_context(model, subject.files.id, question, ranked))
    elif reason == "cost":
        advice = tuple(_cost(model, question, ranked))
    else:
        advice = tuple(_quality(model, question))
    return BecauseReport(reason=reason, model=subject.files.id, advice=(*blocked, *advice))


def _served(model: Model, question: Question, traffic: Traffic) -> Served | Reason:
    """The faster engine's answer for the model at hand."""
    work = work_of(model)
    answers = [serve(engine, model, question.fleet, traffic, work) for engine in question.engines]
    good = [a for a in answers if isinstance(a, Served)]
    return max(good, key=speed) if good else next(a for a in answers if isinstance(a, Reason))


# context: the cache first


def _context(model: Model, origin: str, question: Question, ranked: Sequence[Standing]) -> Iterator[Advice]:
    length = max(MILLION, question.traffic.context_tokens or 0)
    cache = logical_cache(model.shape, length)
    longest = model.shape.max_context_tokens
    if longest is not None and longest < length:
        text = msg("{model} reads {longest:n} tokens; beyond that no cache setting helps", model=model.files.id, longest=longest)
        yield Advice(code="context-limit", text=text, figures={"max_context_tokens": longest})
    text = msg(
        "first the cache: one request of {n:n} tokens takes {bytes:gib} of it ({family}, {token:n} bytes a token)",
        n=length,
        bytes=cache.bytes,
        family=model.family.name,
        token=cache.bytes_per_token,
    )
    yield Advice(code="cache-bytes", text=text, figures={"bytes": cache.bytes, "bytes_per_token": cache.bytes_per_token})
    small = logical_cache(model.shape, length, "fp8")
    text = msg("an FP8 cache takes {bytes:gib}; measure your own task before keeping it", bytes=small.bytes)
    yield Advice(code="kv-fp8", text=text, figures={"bytes": small.bytes})
    yield from _reuse(model, question, length, cache.bytes)
    yield from _families(model, origin, ranked, length)


def _reuse(model: Model, question: Question, length: int, cache_bytes: int) -> Iterator[Advice]:
    """Prefix caching and offload: reading a cache back against computing it again."""
    served = _served(model, question, question.traffic)
    if isinstance(served, Reason):
        yield Advice(code="does-not-run-here", text=served.text)
        return
    calibration, gpu, parallel = load_performance(), question.fleet.gpu, served.candidate.parallel
    split = layout.split(work_of(model), gpu, parallel, calibration, served.sized.resolved.kv_itemsize)
    again = roofline.prefill_s(split, calibration.hardware, float(length))
    link = (gpu.interconnect.pcie_bytes_per_s or 25e9) * parallel.tp
    back = cache_bytes / link
    text = msg(
        "prefix caching: computing {n:n} tokens again takes {again:s} on {gpus} GPUs; a request that shares its beginning pays only for what is new",
        n=length,
        again=again,
        gpus=parallel.gpus,
    )
    yield Advice(code="prefix-caching", text=text, figures={"prefill_s": again})
    text = msg(
        "offload: the same cache comes back from host memory in {back:s} over PCIe, {factor:.0f} times faster than computing it; it needs {bytes:gib} of host memory a request",
        back=back,
        factor=again / back,
        bytes=cache_bytes,
    )
    yield Advice(code="offload", text=text, figures={"reload_s": back, "factor": again / back})


def _families(model: Model, origin: str, ranked: Sequence[Standing], length: int) -> Iterator[Advice]:
    """Per family, the model of comparable size that fits here with the smallest cache at this length, where it is smaller than the present one's."""
    own = logical_cache(model.shape, length).bytes
    best: dict[str, tuple[int, str, float]] = {}
    for item in ranked:
        share = item.choice.parameters / max(model.need.total_elements, 1)
        if not 1 / LIKE <= share <= LIKE or origin in (item.choice.model, item.choice.checkpoint) or (item.model.shape.max_context_tokens or length) < length:
            continue
        cache = logical_cache(item.model.shape, length)
        if cache.bytes >= own:
            continue
        entry = (cache.bytes, item.choice.model, cache.bytes_per_token)
        best[item.choice.family] = min(best.get(item.choice.family, entry), entry)
    for name, (size, other, token) in sorted(best.items(), key=lambda entry: entry[1]):
        text = msg("{family}: {model} takes {bytes:gib} ({token:n} bytes a token)", family=name, model=other, bytes=size, token=token)
        yield Advice(code=f"family-{name}", text=text, figures={"bytes": size, "bytes_per_token": token})
    if not best:
        text = msg("no model of comparable size that reads {n:n} tokens and keeps less for them fits these GPUs", n=length)
        yield Advice(code="no-alternative", text=text)


# cost: use what is there before changing or buying


def _cost(model: Model, question: Question, ranked: Sequence[Standing]) -> Iterator[Advice]:
    traffic = question.traffic
    served = _served(model, question, traffic)
    if isinstance(served, Reason):
        yield Advice(code="does-not-run-here", text=served.text)
        return
    users, now = traffic.concurrency or 1, speed(served)
    yield from _utilisation(model, question, served, users, now)
    if model.family.ffn != "dense":
        yield from _expert_parallel(model, question, users)
    yield from _more_traffic(question, ranked, model, users, now)


def _utilisation(model: Model, question: Question, served: Served, users: int, now: float) -> Iterator[Advice]:
    full = max(users, int(served.room))
    at_full = _served(model, question, msgspec.structs.replace(question.traffic, concurrency=full, rate_per_s=None))
    if isinstance(at_full, Reason) or full <= users:
        text = msg("{users} requests already fill the cache of these GPUs: there is no idle room to use first", users=users)
        yield Advice(code="utilisation", text=text, figures={"factor": 1.0})
        return
    slower = at_full.candidate.estimate.tpot_s if at_full.candidate.estimate else 0.0
    text = msg(
        "before new GPUs: the cache has room for {full:n} requests, {users} use it; full, the same GPUs give {factor:.1f} times the tokens at {tpot:s} a token",
        full=full,
        users=users,
        factor=speed(at_full) / now,
        tpot=slower,
    )
    yield Advice(code="utilisation", text=text, figures={"factor": speed(at_full) / now, "room": full})


def _expert_parallel(model: Model, question: Question, users: int) -> Iterator[Advice]:
    """The best layout with whole experts a GPU against the best without, now and at more traffic."""
    for concurrency in (users, users * MORE_TRAFFIC):
        asked = msgspec.structs.replace(question.traffic, concurrency=concurrency, rate_per_s=None)
        found = find(model, question, asked)
        whole, sliced = _best(found, whole_experts=True), _best(found, whole_experts=False)
        if whole is None or sliced is None:
            continue
        factor = whole.output_tokens_per_s / sliced.output_tokens_per_s
        text = msg(
            "{n:n} requests at once: the best layout with expert parallelism gives {factor:.2f} times the tokens of the best without",
            n=concurrency,
            factor=factor,
        )
        yield Advice(code="expert-parallelism", text=text, figures={"concurrency": concurrency, "factor": factor})


def find(model: Model, question: Question, traffic: Traffic) -> Found:
    """`plan`'s search for the model at hand."""
    settings = Settings(context_tokens=traffic.context_tokens, language_only=bool(model.shape.towers) and not traffic.images_per_request)
    return planning.find(model, question.fleet, traffic, settings, list(question.engines))


def _best(found: Found, *, whole_experts: bool) -> Estimate | None:
    return next((c.estimate for c in found.candidates if c.fits and c.estimate is not None and (c.parallel.ep > 1) is whole_experts), None)


def _more_traffic(question: Question, ranked: Sequence[Standing], model: Model, users: int, now: float) -> Iterator[Advice]:
    """Models that carry ten times the requests on the same GPUs."""
    asked = msgspec.structs.replace(question.traffic, concurrency=users * MORE_TRAFFIC, rate_per_s=None)
    text = msg(
        "{model} multiplies {active:n} parameters a token and gives {now:.0f} tokens/s to {users} requests",
        model=model.files.id,
        active=model.need.active_elements,
        now=now,
        users=users,
    )
    yield Advice(code="active-parameters", text=text, figures={"active": model.need.active_elements, "tokens_per_s": now})
    carried: list[tuple[float, Standing]] = []
    for item in ranked:
        if item.choice.active_parameters >= model.need.active_elements:
            continue
        answer = serve(item.served.engine, item.model, question.fleet, asked, work_of(item.model))
        if isinstance(answer, Served) and answer.room >= users * MORE_TRAFFIC:
            carried.append((speed(answer) / now, item))
    enough = sorted((entry for entry in carried if entry[0] >= MORE_TRAFFIC), key=lambda entry: -entry[1].choice.parameters)
    for factor, item in enough[:SHOWN]:
        text = msg(
            "{model} ({total:n} parameters, {active:n} active) carries {n:n} requests on the same GPUs: {factor:.1f} times the tokens",
            model=item.choice.model,
            total=item.choice.parameters,
            active=item.choice.active_parameters,
            n=users * MORE_TRAFFIC,
            factor=factor,
        )
        yield Advice(code="carries-ten-times", text=text, figures={"factor": factor, "active": item.choice.active_parameters})
    if not enough:
        most = max((factor for factor, _ in carried), default=0.0)
        text = msg("no model with fewer active parameters carries ten times the traffic on these GPUs; the most is {factor:.1f} times", factor=most)
        yield Advice(code="none-carries-ten-times", text=text, figures={"factor": most})


# quality: rule out serving before blaming the model


def _quality(model: Model, question: Question) -> Iterator[Advice]:
    files, traffic = model.files, question.traffic
    yield Advice(
        code="measure",
        text=msg("measure first: your own tasks, answers at temperature 0, the same prompts against the publisher's API; if both fail alike, it is the model"),
    )
    for engine in question.engines:
        words = checking.words(engine, model)
        text = msg(
            "{engine}: tool parser {tool}, reasoning parser {reasoning}; a wrong or missing one looks like a model that cannot call tools or thinks aloud",
            engine=engine.name,
            tool=words.tool_parser or msg("none known"),
            reasoning=words.reasoning_parser or msg("none known"),
        )
        yield Advice(code="parser", text=text)
    has = checking.template(files) is not None
    text = (
        msg("the chat template was found beside the config; compare what the engine renders with it, byte by byte")
        if has
        else msg("no chat template was at hand: check that the engine applies the publisher's, a plain prompt makes an instruction model babble")
    )
    yield Advice(code="template", text=text)
    yield from _precision(model, question)
    need = round(mean(traffic.input_tokens) + mean(traffic.output_tokens))
    longest = traffic.input_tokens[1] + traffic.output_tokens[1]
    text = msg(
        "truncation: a mean request has {need:n} tokens, the p95 {longest:n}, the command's limit is {context:n}, the model's {limit:n}; answers cut at the limit read like bad ones",
        need=need,
        longest=longest,
        context=traffic.context_tokens or 0,
        limit=model.shape.max_context_tokens or 0,
    )
    yield Advice(code="truncation", text=text, figures={"p95": longest, "limit": float(model.shape.max_context_tokens or 0)})


def _precision(model: Model, question: Question) -> Iterator[Advice]:
    served = _served(model, question, question.traffic)
    if isinstance(served, Reason):
        yield Advice(code="does-not-run-here", text=served.text)
        return
    kv = served.sized.resolved.kv_dtype
    if kv.startswith(("bf16", "fp16")):
        text = msg("KV precision is {kv} by default here: nothing is lost in the cache, unless the command asks for fp8", kv=kv)
    elif model.checkpoint.kv_dtype:
        text = msg("KV precision is {kv}, as the checkpoint asks and calibrated; compare with bf16 once", kv=kv)
    else:
        text = msg("KV precision is {kv} without scales from the checkpoint: compare with bf16 before blaming the model", kv=kv)
    yield Advice(code="kv-precision", text=text)
    if model.checkpoint.method != "none":
        text = msg("the weights are {format}: compare once with the unquantised checkpoint or the publisher's API", format=model.checkpoint.format)
        yield Advice(code="weight-precision", text=text)
