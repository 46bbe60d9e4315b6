"""Models with traffic and a stock of GPUs -> the least costly placement under latency targets, and what is short."""

from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from serveright.analysis.layouts import name as layout_name
from serveright.analysis.placement import place as solve
from serveright.api.engines import Engine, load_engines
from serveright.api.estimating import Served, serve, work_of
from serveright.api.loading import Model, load_model
from serveright.catalog.gpus import load_gpu
from serveright.catalog.own import read_own_toml
from serveright.catalog.traffic import own_traffic
from serveright.errors import InputError, UsageError
from serveright.types.hardware import Fleet, Gpu
from serveright.types.placing import Offer, PlaceReport, Shelf, Wish
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

HEADROOM = 0.8
"""Share of a copy's rate that is planned; bursts need the rest."""
MOST_REQUESTS_PER_S = 1_000_000
"""A rate above this is a slip of the pen: no service has it."""
CONCURRENCIES = tuple(2**power for power in range(10))
USUAL_CONTEXT = 32768


def place(wishes: Sequence[Wish], shelves: Sequence[Shelf], *, engine: str = "both", headroom: float = HEADROOM) -> PlaceReport:
    """The placement. Raises UserError, and InputError where SciPy is missing."""
    _solver()
    if not wishes or not shelves:
        raise UsageError(msg("place needs models and a stock of GPUs"), msg("See docs/how-to/place-models.md for the file's form."))
    _sane(wishes, shelves)
    engines = load_engines(engine)
    offers = [offer for wish in wishes for offer in _best_of(wish, shelves, engines)]
    found, short = solve(wishes, offers, shelves, headroom)
    used = {shelf.gpu: sum(item.offer.gpus * item.copies for item in found.placed if item.offer.gpu == shelf.gpu) for shelf in shelves}
    priced = all(item.usd_per_hour is not None for item in found.placed)
    unpriced = [shelf.gpu for shelf in shelves if shelf.usd_per_gpu_hour is None]
    notes: tuple[Msg, ...] = (msg("no price is known for {gpus}: counted as one a GPU", gpus=", ".join(unpriced)),) if unpriced else ()
    return PlaceReport(
        placed=found.placed,
        short=short,
        usd_per_hour=sum(item.usd_per_hour or 0.0 for item in found.placed) if priced else None,
        used=used,
        left={shelf.gpu: shelf.count - used[shelf.gpu] for shelf in shelves},
        proved=found.proved,
        headroom=headroom,
        offers=tuple(offers),
        notes=notes,
    )


def _sane(wishes: Sequence[Wish], shelves: Sequence[Shelf]) -> None:
    """What the solver cannot take. Raises UsageError naming the entry."""
    for shelf in shelves:
        price = shelf.usd_per_gpu_hour
        if shelf.count < 0 or (price is not None and not (isfinite(price) and price >= 0)):
            raise UsageError(msg("{gpu}: counts and prices are at least 0", gpu=shelf.gpu), msg("See docs/how-to/place-models.md for the file's form."))
    for wish in wishes:
        if not (isfinite(wish.rate_per_s) and 0 < wish.rate_per_s <= MOST_REQUESTS_PER_S):
            raise UsageError(
                msg(
                    "{model}: rate_per_s is {rate:n}, not a number above 0 and up to {most:n}", model=wish.model, rate=wish.rate_per_s, most=MOST_REQUESTS_PER_S
                ),
                msg("See docs/how-to/place-models.md for the file's form."),
            )


def read_question(file: Path) -> tuple[list[Wish], list[Shelf]]:
    """Models and stock from a TOML file: `[[model]]` tables with `id`, `rate_per_s` and traffic keys, `[stock]` kind = count, `[price]` kind = US dollars an hour.

    Raises InputError naming file and key.
    """
    fix = msg("See docs/how-to/place-models.md for the file's form.")
    try:
        asked = msgspec.convert(read_own_toml(file, fix), _Question)
        wishes = [_wish(file, entry) for entry in asked.model]
    except msgspec.ValidationError as error:
        raise InputError(msg("{path}: {why}", path=str(file), why=str(error)[:300]), fix) from error
    shelves: list[Shelf] = []
    for name, count in asked.stock.items():
        gpu = load_gpu(name)
        shelves.append(Shelf(gpu=gpu.key, count=count, usd_per_gpu_hour=asked.price.get(name, gpu.price_usd_per_hour)))
    return wishes, shelves


class _Question(Struct, frozen=True, forbid_unknown_fields=True):
    model: list[dict[str, Any]] = []
    stock: dict[str, int] = {}
    price: dict[str, float] = {}


_KEYS = {"ttft_s": "ttft_target_s", "tpot_s": "tpot_target_s"}


def _wish(file: Path, entry: dict[str, Any]) -> Wish:
    model = entry.pop("id", None)
    if not isinstance(model, str) or "rate_per_s" not in entry:
        raise InputError(msg("{path}: every [[model]] needs id and rate_per_s", path=str(file)))
    given = {
        _KEYS.get(key, key): (value, value) if key in ("input_tokens", "output_tokens") and isinstance(value, int) else value for key, value in entry.items()
    }
    return Wish(model=model, traffic=own_traffic(given, f"{file}: [[model]] {model}"))


def _best_of(wish: Wish, shelves: Sequence[Shelf], engines: Sequence[Engine]) -> Iterator[Offer]:
    """For every kind and size of copy the engine that carries most; sizes that a smaller one beats per GPU on every count are left out."""
    model = load_model(wish.model)
    for shelf in shelves:
        gpu = load_gpu(shelf.gpu)
        best: float = 0.0
        for gpus in (size for size in range(1, gpu.gpus_per_node + 1) if gpu.gpus_per_node % size == 0 and size <= shelf.count):
            offers = [offer for engine in engines if (offer := best_offer(engine, model, gpu, gpus, wish.traffic, wish.model)) is not None]
            top = max(offers, key=lambda offer: offer.rate_per_s, default=None)
            if top is not None and top.rate_per_s / gpus > best * 0.5:
                best = max(best, top.rate_per_s / gpus)
                yield top


def best_offer(engine: Engine, model: Model, gpu: Gpu, gpus: int, traffic: Traffic, name: str, *, split: bool = False) -> Offer | None:
    """One copy on so many GPUs at the highest rate that keeps the targets; None where none does, and where fewer GPUs would do unless `split` lets the GPUs hold several."""
    fleet, work = Fleet(gpu=gpu, count=gpus), work_of(model)
    best: Offer | None = None
    for concurrency in CONCURRENCIES:
        served = serve(engine, model, fleet, _closed(traffic, concurrency, model), work)
        if not isinstance(served, Served) or (served.candidate.parallel.replicas > 1 and not split) or served.candidate.estimate is None:
            break
        estimate = served.candidate.estimate
        if not _keeps(traffic, estimate.ttft_median_s, estimate.tpot_s):
            break
        if best is not None and estimate.requests_per_s < best.rate_per_s * 1.01:
            break
        best = Offer(
            model=name,
            gpu=gpu.key,
            gpus=gpus,
            rate_per_s=estimate.requests_per_s,
            engine=engine.name,
            layout=layout_name(served.candidate.parallel),
            concurrency=concurrency,
        )
    return best


def _closed(traffic: Traffic, concurrency: int, model: Model) -> Traffic:
    request, window = traffic.input_tokens[1] + traffic.output_tokens[1], model.shape.max_context_tokens
    if window and request > window:
        raise UsageError(
            msg("{model}: requests of {n:n} tokens, but its window ends at {window:n}", model=model.files.id, n=request, window=window),
            msg("Shorten the requests, or name a model with a longer window."),
        )
    need = max(request, traffic.context_tokens or USUAL_CONTEXT)
    context = min(need, window or need)
    return msgspec.structs.replace(traffic, concurrency=concurrency, rate_per_s=None, context_tokens=context)


def _keeps(traffic: Traffic, ttft_s: float, tpot_s: float) -> bool:
    return (traffic.ttft_target_s is None or ttft_s <= traffic.ttft_target_s) and (traffic.tpot_target_s is None or tpot_s <= traffic.tpot_target_s)


def _solver() -> None:
    try:
        import scipy.optimize  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise InputError(msg("placing needs SciPy's solver"), msg("pip install 'serveright[place]'")) from error
