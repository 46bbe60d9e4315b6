"""Step 6: does reality agree? A running server under known requests against the derivation and the engine's own words."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

from serveright.analysis import live
from serveright.api.loading import load_model
from serveright.errors import NetworkError, UserError
from serveright.readers.http import fetch
from serveright.readers.metrics import read_metrics
from serveright.types.diagnosis import MeasureReport, Pair, Sample, Scrape, Tokens
from serveright.types.model import ModelShape
from serveright.types.text import Msg, msg


def measure(
    base_url: str,
    *,
    model: str | None = None,
    kv_dtype: str = "auto",
    requests: int = 8,
    input_tokens: int | None = None,
    seconds: float = 300,
    tell: Callable[[Msg], None] | None = None,
    stop: threading.Event | None = None,
) -> MeasureReport:
    """Ramps requests until a limit, or until `stop` is set (then the report holds what was measured). Raises NetworkError and UserError.

    `model` is what the derivation reads; by default the name the server serves, and without a config only measured figures are given.
    """
    from serveright.probes.client import Server
    from serveright.probes.ramp import Limits, ramp

    stop = stop or threading.Event()
    say = tell or _silent
    server = Server(base_url)
    page = _metrics(server.base)
    pool = live.pool_of(page.info, page.total) if page else None
    shape = _shape(model or server.model, say)
    limits = Limits(requests=requests, input_tokens=input_tokens, seconds=seconds)
    samples: list[Sample] = []
    try:
        samples.extend(ramp(server, pool.unit_tokens if pool else None, limits, say, stop))
    except KeyboardInterrupt:
        stop.set()
    context = server.max_tokens or (shape.max_context_tokens if shape and shape.max_context_tokens else 4096)
    return _report(server.base, server.model, page, pool, shape, samples, context, kv_dtype, interrupted=stop.is_set())


def _report(
    url: str, name: str, page: Scrape | None, pool: live.Pool | None, shape: ModelShape | None, samples: list[Sample], context: int, kv_dtype: str, *,
    interrupted: bool,
) -> MeasureReport:  # fmt: skip
    pairs: dict[str, Pair | Tokens] = {
        "bytes_per_token": Pair(),
        "state_bytes": Pair(),
        "block_tokens": Pair(),
        "capacity_tokens": Tokens(),
        "concurrency": Tokens(),
    }
    agreement = "unknown"
    if pool is not None:
        grown = live.growth(_rungs(samples, pool), pool.unit_tokens)
        wanted = live.expected(shape, kv_dtype, pool, context) if shape is not None else None
        pairs = live.figures(pool, grown, wanted, context)
        agreement = live.agreement(pairs, pool, context)
    return MeasureReport(
        url=url,
        model=name,
        engine=page.engine if page else None,
        version=_version(url),
        bytes_per_token=_pair(pairs["bytes_per_token"]),
        state_bytes=_pair(pairs["state_bytes"]),
        block_tokens=_pair(pairs["block_tokens"]),
        capacity_tokens=_tokens(pairs["capacity_tokens"]),
        concurrency=_tokens(pairs["concurrency"]),
        curves=live.curves(samples),
        agreement=agreement,
        findings=(*_findings(page, pool, shape, samples), *_extrapolated(_tokens(pairs["concurrency"]), samples, context)),
        samples=tuple(samples),
        interrupted=interrupted,
    )


def _rungs(samples: list[Sample], pool: live.Pool) -> list[live.Rung]:
    """What single requests held. The last token of an answer is never stored."""
    usable = pool.units - live.NULL_BLOCKS * (pool.unit_tokens != 1)
    return [
        live.Rung(requests=s.requests, tokens=s.input_tokens + s.output_tokens - 1, units=round(s.usage * usable))
        for s in samples
        if s.requests == 1 and s.usage and not s.failed
    ]


def _findings(page: Scrape | None, pool: live.Pool | None, shape: ModelShape | None, samples: list[Sample]) -> list[Msg]:
    found: list[Msg] = []
    if page is None:
        found.append(msg("the server shows no /metrics page: only times were measured"))
    elif pool is None:
        found.append(msg("the metrics page says nothing about the size of the cache"))
    if shape is None:
        found.append(msg("without the model's config nothing can be compared (--config MODEL)"))
    if any(sample.preemptions for sample in samples):
        found.append(msg("requests were preempted during the ramp: the cache is smaller than the load"))
    if any(sample.failed for sample in samples):
        found.append(msg("some requests were refused or gave nothing"))
    return found


def _extrapolated(limit: Tokens, samples: list[Sample], context: int) -> Iterator[Msg]:
    """Says how far the limit of concurrent requests was seen, and from where on it is computed."""
    if limit.measured is None:
        return
    together = max((s.requests for s in samples), default=0)
    longest = max((s.input_tokens + s.output_tokens for s in samples), default=0)
    if together < limit.measured or longest < context:
        yield msg(
            "the limit of {n:.1f} requests of {context:n} tokens is computed from what single requests held; "
            "at most {together:n} ran at once, of at most {longest:n} tokens",
            n=limit.measured, context=context, together=together, longest=longest,
        )  # fmt: skip


def _metrics(url: str) -> Scrape | None:
    try:
        page = read_metrics(url)
    except UserError:
        return None
    return page if page.engine else None


def _version(url: str) -> str | None:
    """vLLM tells its version; SGLang in its server information."""
    import json

    for path in ("/version", "/get_server_info"):
        try:
            told: Any = json.loads(fetch(url + path, 5, 1 << 20))
        except (NetworkError, ValueError):
            continue
        version = cast("dict[str, Any]", told).get("version") if isinstance(told, dict) else None
        if isinstance(version, str):
            return version
    return None


def _shape(name: str, say: Callable[[Msg], None]) -> ModelShape | None:
    try:
        return load_model(name).shape
    except UserError as error:
        say(error.message)
        return None


def _silent(_text: Msg) -> None:
    """Nobody listens."""


def _pair(value: Pair | Tokens) -> Pair:
    return value if isinstance(value, Pair) else Pair()


def _tokens(value: Pair | Tokens) -> Tokens:
    return value if isinstance(value, Tokens) else Tokens()
