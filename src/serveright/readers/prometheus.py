"""Scrapes, oldest first: one `/metrics` page, or an answer of the Prometheus HTTP API (`query` or `query_range`)."""

from msgspec import DecodeError, Struct
from msgspec.json import decode

from serveright.catalog.own import read_own
from serveright.errors import InputError
from serveright.readers.http import fetch
from serveright.readers.metrics import MAX_BYTES, read_metrics, sample, scrape
from serveright.types.diagnosis import Scrape
from serveright.types.text import Msg, msg


class _Series(Struct, frozen=True):
    metric: dict[str, str]
    values: tuple[tuple[float, str], ...] = ()
    value: tuple[float, str] | None = None


class _Data(Struct, frozen=True):
    result: tuple[_Series, ...]


class _Answer(Struct, frozen=True):
    data: _Data


MOST = 64
"""Scrapes that are kept: evenly spaced over the range."""


def read_scrapes(where: str) -> tuple[Scrape, ...]:
    """A `/metrics` page, or the series of an API answer from a file or URL. Raises InputError and NetworkError."""
    if where.startswith(("http://", "https://")):
        return scrapes(fetch(where, 10, MAX_BYTES), where) if "/api/v1/query" in where else (read_metrics(where),)
    raw = read_own(where, msg("Give a saved /metrics page or its URL."), MAX_BYTES)
    return scrapes(raw.decode("utf-8", "replace"), where) if is_answer(raw[:4096]) else (read_metrics(where),)


def is_answer(head: bytes) -> bool:
    """Whether a file begins as an API answer does."""
    return head.lstrip().startswith(b"{") and b'"resultType"' in head


def scrapes(text: str, source: str) -> tuple[Scrape, ...]:
    """Scrapes by time. Raises InputError where the answer is an error or no answer."""
    try:
        result = decode(text, type=_Answer).data.result
    except DecodeError as error:
        raise _no_answer(source, str(error)[:200]) from error
    points = [
        (at, series.metric.get("__name__", ""), series.metric, _number(value, source))
        for series in result
        for at, value in series.values or ((series.value,) if series.value else ())
    ]
    times = sorted({at for at, *_ in points})
    step = max(1, -(-len(times) // MOST))
    kept = times[::step]
    return tuple(scrape(tuple(sample(name, labels, value) for at, name, labels, value in points if at == time), source, time) for time in kept)


def _number(text: str, source: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise _no_answer(source, msg("{cell} is no number", cell=text[:40])) from error


def _no_answer(source: str, why: str | Msg) -> InputError:
    return InputError(
        msg("{source} is not an answer of the Prometheus API ({why})", source=source, why=why),
        msg("Ask /api/v1/query_range for the vllm: or sglang: series and save the JSON."),
    )
