"""What a plan says beside its choice: every question of `analysis.answers` that this model and traffic raise, in a sentence and in numbers."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from serveright.analysis import answers, generation, images, layouts
from serveright.analysis.answers import Asked
from serveright.analysis.disaggregation import Disaggregated, Pools, best_pools
from serveright.analysis.loop import Load
from serveright.analysis.speculation import Speculation, draft_s
from serveright.analysis.traffic import accepted_of, mean
from serveright.types.answers import Answer
from serveright.types.design import Estimate
from serveright.types.engine import Parallel
from serveright.types.hardware import Fleet
from serveright.types.model import ModelShape
from serveright.types.text import msg
from serveright.types.traffic import Traffic

PAYS = 1.05
"""Separate prefill and decode are worth a second kind of deployment above this gain."""
LONG = 1_048_576


class Chosen(Struct, frozen=True, kw_only=True):
    """The design the questions are about. `asked` holds its layout with all replicas; `drafting` False where the engine cannot draft with this model."""

    asked: Asked
    estimate: Estimate
    shape: ModelShape
    fleet: Fleet
    drafted_tokens: int = 0
    shapes: Sequence[Parallel] = ()
    """Single deployments that fit, the fastest of each size: what pools could be built of."""
    rooms: Sequence[float] = ()
    """Requests one deployment of each shape holds."""


def questions(chosen: Chosen) -> Iterator[Answer]:
    """In the order a reader asks them; silent where a question does not arise."""
    yield from _images(chosen)
    yield from _prefix(chosen)
    yield from _rate(chosen)
    yield _doubled(chosen)
    yield from _drafting(chosen)
    yield from _indexer(chosen)
    yield from _apart(chosen)


def _images(chosen: Chosen) -> Iterator[Answer]:
    traffic = chosen.asked.traffic
    if not traffic.images_per_request:
        return
    tower = images.vision(chosen.shape)
    if tower is None or tower.image is None:
        text = msg("images: how many tokens one becomes is not in the files at hand, so prompts are priced without them")
        yield Answer(code="images", text=text, values={"tokens_per_image": None})
        return
    per_image = images.image_tokens(tower.image, *traffic.image_pixels)
    grown = images.amplification(round(mean(traffic.input_tokens)), traffic.images_per_request, per_image)
    text = msg(
        "images: {n:g} of {w} x {h} are {tokens:n} tokens each; a prompt of {before:n} becomes {after:n}, {factor:.1f} times the prefill",
        n=traffic.images_per_request,
        w=traffic.image_pixels[0],
        h=traffic.image_pixels[1],
        tokens=per_image,
        before=grown.text_tokens,
        after=grown.total_tokens,
        factor=grown.factor,
    )
    values: dict[str, float | str | None] = {
        "tokens_per_image": per_image, "text_tokens": grown.text_tokens, "total_tokens": grown.total_tokens, "factor": grown.factor,
    }  # fmt: skip
    yield Answer(code="images", text=text, values=values)


def _prefix(chosen: Chosen) -> Iterator[Answer]:
    traffic = chosen.asked.traffic
    if not traffic.shared_prefix_tokens:
        return
    gain = answers.prefix_gain(chosen.asked)
    text = msg("shared prefix: {n:n} tokens taken from the cache make {gain:.2f} times the output", n=traffic.shared_prefix_tokens, gain=gain)
    yield Answer(code="prefix-gain", text=text, values={"shared_prefix_tokens": traffic.shared_prefix_tokens, "throughput_factor": gain})


def _rate(chosen: Chosen) -> Iterator[Answer]:
    rate = chosen.asked.traffic.rate_per_s
    if rate is None:
        return
    parallel = chosen.asked.parallel
    copies = answers.replicas_for_rate(chosen.asked, rate)
    if copies is None:
        text = msg("rate: no number of such deployments meets the targets at {rate:g} requests a second", rate=rate)
        yield Answer(code="gpus-for-rate", text=text, values={"rate_per_s": rate, "gpus": None})
        return
    gpus = copies * parallel.gpus
    text = msg(
        "rate: {rate:g} requests a second need {gpus} GPUs ({copies} x {layout}); {have} are here",
        rate=rate,
        gpus=gpus,
        copies=copies,
        layout=layouts.name(structs.replace(parallel, replicas=1)),
        have=chosen.fleet.count,
    )
    yield Answer(code="gpus-for-rate", text=text, values={"rate_per_s": rate, "gpus": gpus, "replicas": copies})


def _doubled(chosen: Chosen) -> Answer:
    before, after = answers.doubled_prompt(chosen.asked)
    text = msg(
        "prompts twice as long: {less:pct} less output, {tpot:s} a token instead of {now:s}",
        less=1 - after.output_tokens_per_s / before.output_tokens_per_s,
        tpot=after.tpot_s,
        now=before.tpot_s,
    )
    values: dict[str, float | str | None] = {
        "output_factor": after.output_tokens_per_s / before.output_tokens_per_s,
        "tpot_factor": after.tpot_s / before.tpot_s,
    }
    return Answer(code="doubled-prompt", text=text, values=values)


def _drafting(chosen: Chosen) -> Iterator[Answer]:
    if not chosen.drafted_tokens:
        return
    plain = structs.replace(chosen.asked, given=structs.replace(chosen.asked.given, speculation=None))
    until = answers.drafting_pays_until(plain, Speculation(tokens=chosen.drafted_tokens))
    if until == 0:
        text = msg("MTP: drafting never makes tokens 5 % faster here")
    elif until >= answers.LOADS[-1]:
        text = msg("MTP: drafting pays at every concurrency up to {until:n} (acceptance assumed; measure it)", until=until)
    else:
        text = msg("MTP: drafting pays up to about {until:n} requests at once (acceptance assumed; measure it)", until=until)
    yield Answer(code="drafting-pays-until", text=text, values={"concurrency": until, "drafted_tokens": chosen.drafted_tokens})


def _indexer(chosen: Chosen) -> Iterator[Answer]:
    tokens = chosen.asked.traffic.context_tokens or LONG
    found = answers.index_share(chosen.shape, chosen.asked.work, tokens)
    if found is None:
        return
    values: dict[str, float | str | None] = {
        "context_tokens": tokens, "index_scores": found.scores, "unshared_index_scores": found.unshared_scores, "flops_ratio": found.flops_ratio,
    }  # fmt: skip
    if found.scoring_layers == found.sparse_layers:
        text = msg(
            "indexer: {layers} layers score {scores:n} keys for a token at {context:n} tokens; this grows with length while attention does not",
            layers=found.sparse_layers,
            scores=round(found.scores),
            context=tokens,
        )
    else:
        text = msg(
            "indexer: {own} of {layers} sparse layers score, the others reuse their picks: {scores:n} keys for a token at {context:n} tokens "
            "instead of {unshared:n}, {ratio:.1f} times fewer FLOPs a token",
            own=found.scoring_layers,
            layers=found.sparse_layers,
            scores=round(found.scores),
            context=tokens,
            unshared=round(found.unshared_scores),
            ratio=found.flops_ratio,
        )
    yield Answer(code="index-share", text=text, values=values)


def _apart(chosen: Chosen) -> Iterator[Answer]:
    """Separate pools against the chosen layout, same GPUs, same concurrency, neither corrected by anchors."""
    traffic = chosen.asked.traffic
    if traffic.concurrency is None or chosen.fleet.count < 2:
        return
    best = _best_pools(chosen)
    if best is None:
        return
    pools, got = best
    together = structs.replace(chosen.asked, given=structs.replace(chosen.asked.given, correction=None)).estimate()
    output = got.requests_per_s * mean(traffic.output_tokens)
    gain = output / together.output_tokens_per_s
    rescued = _late(together.tpot_s, together.ttft_median_s, traffic) and not _late(got.tpot_s, got.ttft_s, traffic)
    names = {"front": layouts.name(pools.prefill), "back": layouts.name(pools.decode)}
    values: dict[str, float | str | None] = {
        "prefill": names["front"], "decode": names["back"], "output_factor": gain, "tpot_s": got.tpot_s, "ttft_s": got.ttft_s, "limited_by": got.limited_by,
    }  # fmt: skip
    if gain > PAYS or rescued:
        text = msg(
            "prefill and decode apart ({front} before {back}) would pay: {gain:.2f} times the output, {tpot:s} a token, {ttft:s} to the first",
            **names, gain=gain, tpot=got.tpot_s, ttft=got.ttft_s,
        )  # fmt: skip
    else:
        text = msg(
            "prefill and decode apart does not pay here: the best split ({front} before {back}) makes {gain:.2f} times the output at {tpot:s} a token",
            **names, gain=gain, tpot=got.tpot_s,
        )  # fmt: skip
    yield Answer(code="disaggregation", text=text, values=values)


def _late(tpot_s: float, ttft_s: float, traffic: Traffic) -> bool:
    return bool((traffic.tpot_target_s and tpot_s > traffic.tpot_target_s) or (traffic.ttft_target_s and ttft_s > traffic.ttft_target_s))


def _best_pools(chosen: Chosen) -> tuple[Pools, Disaggregated] | None:
    asked, traffic = chosen.asked, chosen.asked.traffic
    engine, _ = generation.pace(asked.calibration, asked.given.engine, asked.gpu, asked.work)
    engine = structs.replace(engine, slowdown=engine.slowdown * math.exp(engine.age_per_year * asked.given.age_years))
    prompt, shared = mean(traffic.input_tokens), float(traffic.shared_prefix_tokens)
    load = Load(
        concurrency=float(traffic.concurrency or 1), input_tokens=max(prompt - shared, 1.0), output_tokens=mean(traffic.output_tokens),
        cached_tokens=min(shared, prompt - 1), accepted=accepted_of(asked.given, asked.calibration), drafted=float(asked.given.speculation.tokens) if asked.given.speculation else 0.0,
    )  # fmt: skip
    best: tuple[Pools, Disaggregated] | None = None
    spec = asked.given.speculation
    for back, room in zip(chosen.shapes, chosen.rooms, strict=True):
        drafting = draft_s(asked.work, asked.gpu, back, spec, asked.calibration, min(load.concurrency, room) / back.dp) if spec else 0.0
        here = structs.replace(load, room=room, draft_s=drafting)
        for front in chosen.shapes:
            found = best_pools(asked.work, asked.gpu, front, back, chosen.fleet.count, engine, asked.calibration, here, asked.given.kv_itemsize)
            if found is not None and (best is None or _order(found, traffic) > _order(best, traffic)):
                best = found
    return best


def _order(found: tuple[Pools, Disaggregated], traffic: Traffic) -> tuple[bool, float]:
    return not _late(found[1].tpot_s, found[1].ttft_s, traffic), found[1].requests_per_s
