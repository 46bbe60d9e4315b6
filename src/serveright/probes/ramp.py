"""Requests of known length, few at first, while the cache's usage is watched. Bounded in number, tokens and time; stops cleanly when told."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from serveright.errors import UserError
from serveright.probes.client import Answer, Server
from serveright.readers.metrics import read_metrics
from serveright.types.diagnosis import Sample, Scrape
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
    """Polls the metrics page in a thread; keeps the highest figures, and the page on which a running request had most tokens by the server's own count."""

    def __init__(self, url: str, generated_before: float | None) -> None:
        self.url = url
        self.high: dict[str, float] = {}
        self.fullest: tuple[int, float] | None = None
        """Tokens generated and share of the cache held, of one page."""
        self._before = generated_before
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
            try:
                page = read_metrics(self.url)
            except UserError:  # a busy server may miss a poll
                self._stop.wait(0.5)
                continue
            self._keep(page.total)
            for name in WATCHED:
                if name in page.total:
                    self.high[name] = max(self.high.get(name, 0.0), page.total[name])
            self._stop.wait(POLL_S)

    def _keep(self, total: Mapping[str, float]) -> None:
        if self._before is None or "generation_tokens" not in total or not total.get("running"):
            return
        generated = round(total["generation_tokens"] - self._before)
        if 0 < generated <= OUTPUT_TOKENS and (self.fullest is None or generated > self.fullest[0]):
            self.fullest = generated, total.get("kv_usage", 0.0)


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
    """One rung; a single request, which tells what a token takes, is repeated until a page showed it running. The last try stands."""
    for _ in range(MOST_TRIES - 1 if count == 1 else 0):
        sample, seen = _try(server, count, tokens, stop)
        if seen or sample.failed or stop.is_set():
            return sample
    return _try(server, count, tokens, stop)[0]


def _try(server: Server, count: int, tokens: int, stop: threading.Event) -> tuple[Sample, bool]:
    """The sample, and whether its fill is known; of a single request on vLLM it is that of the page with most tokens, whose number stands for the output's."""
    before = _page(server)
    counted = before.total.get("generation_tokens") if count == 1 and before and before.engine == "vllm" else None
    with _Watcher(server.base, counted) as watcher, ThreadPoolExecutor(count) as pool:
        jobs = [pool.submit(server.complete, prompt_of(tokens), OUTPUT_TOKENS, stop, extra_body={"ignore_eos": True}) for _ in range(count)]
        answers = [job.result() for job in jobs]
    good = [answer for answer in answers if answer.status == 200 and answer.output_tokens]
    output, usage = watcher.fullest or (OUTPUT_TOKENS, watcher.high.get("kv_usage"))
    sample = Sample(
        requests=count,
        input_tokens=_tokens(good, tokens),
        output_tokens=output,
        usage=usage,
        running=watcher.high.get("running"),
        waiting=watcher.high.get("waiting"),
        preemptions=max(0.0, _preemptions(_page(server)) - _preemptions(before)),
        ttft_s=sum(answer.first_s for answer in good) / len(good) if good else 0.0,
        tpot_s=sum((a.total_s - a.first_s) / max(1, a.output_tokens - 1) for a in good) / len(good) if good else 0.0,
        failed=count - len(good),
    )
    return sample, counted is None or watcher.fullest is not None


def _tokens(good: list[Answer], asked: int) -> int:
    return good[0].prompt_tokens if good and good[0].prompt_tokens else asked


def _page(server: Server) -> Scrape | None:
    try:
        return read_metrics(server.base)
    except UserError:
        return None


def _preemptions(page: Scrape | None) -> float:
    return page.total.get("preemptions", 0.0) if page else 0.0
