"""Requests of known length, few at first, while the cache's usage is watched. Bounded in number, tokens and time; stops cleanly when told."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from serveright.errors import UserError
from serveright.probes.client import Answer, Server
from serveright.readers.metrics import read_metrics
from serveright.types.diagnosis import Sample
from serveright.types.text import Msg, msg

POLL_S = 0.04
OUTPUT_TOKENS = 64
MOST_REQUESTS = 64
LONGEST_INPUT = 32_768
SAFE_USAGE = 0.9
"""Rungs that would fill more of the cache than this are not climbed."""
MOST_TRIES = 4
"""Tries for a single request where no page was read while it was answering: what it holds in full was not seen."""
WATCHED = ("kv_usage", "running", "waiting")


class Limits(Struct, frozen=True, kw_only=True):
    """How far to go."""

    requests: int = 8
    input_tokens: int | None = None
    seconds: float = 300


class _Watcher:
    """Polls the metrics page in a thread; keeps the highest figures, and when which number of requests was running."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.high: dict[str, float] = {}
        self.running: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "_Watcher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(15)

    def _run(self) -> None:
        while not self._stop.is_set():
            asked = time.monotonic()
            try:
                page = read_metrics(self.url)
            except UserError:  # a busy server may miss a poll
                self._stop.wait(0.5)
                continue
            self.running.append((asked, page.total.get("running", 0.0)))
            for name in WATCHED:
                if name in page.total:
                    self.high[name] = max(self.high.get(name, 0.0), page.total[name])
            self._stop.wait(POLL_S)

    def saw(self, count: int, since: float) -> bool:
        """Whether some page asked for at or after `since` shows `count` requests running; True where the server has no page at all."""
        return not self.running or any(asked >= since and running >= count for asked, running in self.running)


def lengths(limit: int | None, block: float | None, most: int | None) -> tuple[int, ...]:
    """Input lengths of the single requests, shortest first: a few tokens into a block each, up to nine tenths of the window."""
    top = min(int((limit or 4096) * 0.9) - OUTPUT_TOKENS, most or LONGEST_INPUT)
    step = block or 1
    wanted = (max(16, top // 6), top // 2, top)
    found = [max(8, int(tokens // step * step) + 8 if tokens >= step else tokens) for tokens in wanted]
    return tuple(sorted({min(tokens, max(8, top)) for tokens in found}))


def ramp(server: Server, block: float | None, limits: Limits, tell: Callable[[Msg], None], stop: threading.Event) -> Iterator[Sample]:
    """Single requests of growing length, then more and more of the middle one at once."""
    deadline = time.monotonic() + limits.seconds
    single = lengths(server.max_tokens, block, limits.input_tokens)
    usage = 0.0
    for tokens in single:
        if stop.is_set() or time.monotonic() > deadline:
            return
        tell(msg("1 request of {tokens:n} tokens", tokens=tokens))
        sample = _rung(server, 1, tokens, stop)
        usage = max(usage, sample.usage or 0.0)
        yield sample
    middle = single[len(single) // 2]
    count = 2
    while count <= min(limits.requests, MOST_REQUESTS) and not stop.is_set() and time.monotonic() < deadline:
        if usage * count > SAFE_USAGE:
            tell(msg("stopping at {n:n} requests: more would fill the cache", n=count // 2))
            return
        tell(msg("{n:n} requests of {tokens:n} tokens at once", n=count, tokens=middle))
        yield _rung(server, count, middle, stop)
        count *= 2


_SEED = [0]


def prompt_of(tokens: int) -> list[int]:
    """Token ids no earlier prompt began with, so that no cached prefix helps."""
    _SEED[0] += 1
    seed = _SEED[0]
    return [3 + (seed * 131 + i * (7 + seed % 13) + i // 17) % 400 for i in range(tokens)]


def _rung(server: Server, count: int, tokens: int, stop: threading.Event) -> Sample:
    """One rung; a single request, which tells what a token takes, is repeated until it was seen at its fullest. The last try stands."""
    for _ in range(MOST_TRIES - 1 if count == 1 else 0):
        sample, seen = _try(server, count, tokens, stop)
        if seen or sample.failed or stop.is_set():
            return sample
    return _try(server, count, tokens, stop)[0]


def _try(server: Server, count: int, tokens: int, stop: threading.Event) -> tuple[Sample, bool]:
    before = _preemptions(server)
    began = time.monotonic()
    with _Watcher(server.base) as watcher, ThreadPoolExecutor(count) as pool:
        jobs = [pool.submit(server.complete, prompt_of(tokens), OUTPUT_TOKENS, stop, extra_body={"ignore_eos": True}) for _ in range(count)]
        answers = [job.result() for job in jobs]
    good = [answer for answer in answers if answer.status == 200 and answer.output_tokens]
    sample = Sample(
        requests=count,
        input_tokens=_tokens(good, tokens),
        output_tokens=OUTPUT_TOKENS,
        usage=watcher.high.get("kv_usage"),
        running=watcher.high.get("running"),
        waiting=watcher.high.get("waiting"),
        preemptions=max(0.0, _preemptions(server) - before),
        ttft_s=sum(answer.first_s for answer in good) / len(good) if good else 0.0,
        tpot_s=sum((a.total_s - a.first_s) / max(1, a.output_tokens - 1) for a in good) / len(good) if good else 0.0,
        failed=count - len(good),
    )
    return sample, watcher.saw(len(good), began + max((answer.first_s for answer in good), default=0.0))


def _tokens(good: list[Answer], asked: int) -> int:
    return good[0].prompt_tokens if good and good[0].prompt_tokens else asked


def _preemptions(server: Server) -> float:
    try:
        return read_metrics(server.base).total.get("preemptions", 0.0)
    except UserError:
        return 0.0
