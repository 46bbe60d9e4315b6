"""An answer of the Prometheus HTTP API (`query` or `query_range`) -> scrapes, oldest first."""

from typing import Any, cast

from msgspec import DecodeError
from msgspec.json import decode

from serveright.errors import InputError
from serveright.readers.metrics import sample, scrape
from serveright.types.diagnosis import Scrape
from serveright.types.text import msg

MOST = 64
"""Scrapes that are kept: evenly spaced over the range."""


def is_answer(head: bytes) -> bool:
    """Whether a file begins as an API answer does."""
    return head.lstrip().startswith(b"{") and b'"resultType"' in head


def scrapes(text: str, source: str) -> tuple[Scrape, ...]:
    """Scrapes by time. Raises InputError where the answer is an error or no answer."""
    try:
        answer: Any = decode(text)
        result = cast("list[dict[str, Any]]", answer["data"]["result"])
        points = [
            (float(at), str(series["metric"].get("__name__", "")), dict(series["metric"]), float(value))
            for series in result
            for at, value in (series.get("values") or [series["value"]])
        ]
    except (DecodeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            msg("{source} is not an answer of the Prometheus API ({why})", source=source, why=str(error)[:200]),
            msg("Ask /api/v1/query_range for the vllm: or sglang: series and save the JSON."),
        ) from error
    times = sorted({at for at, *_ in points})
    step = max(1, -(-len(times) // MOST))
    kept = times[::step]
    return tuple(scrape(tuple(sample(name, labels, value) for at, name, labels, value in points if at == time), source, time) for time in kept)
