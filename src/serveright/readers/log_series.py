"""Periodic figures of both engines' serving logs (running, waiting, cache usage, hit rate, ...) as series of constant size."""

import re
from collections.abc import Iterator

from serveright.types.diagnosis import Series

_NUMBER = rb"(\d+(?:\.\d+)?)"
_VLLM = re.compile(rb"Avg prompt throughput: [^\n]*")
_SGLANG = re.compile(rb"(?:Decode|Prefill) batch[^\n]*")
_DRAFT = re.compile(rb"SpecDecoding metrics: [^\n]*")
_RANK = re.compile(rb"(?:Engine (\d+): Avg prompt|\bDP(\d+)\b)")
_FIELDS: dict[str, tuple[re.Pattern[bytes], float]] = {
    "running": (re.compile(rb"(?:Running: |#running-req: )" + _NUMBER), 1),
    "waiting": (re.compile(rb"(?:Waiting: |#queue-req: )" + _NUMBER), 1),
    "deferred": (re.compile(rb"Deferred: " + _NUMBER), 1),
    "preemptions": (re.compile(rb"Preemptions: " + _NUMBER), 1),
    "kv_usage": (re.compile(rb"KV cache usage: " + _NUMBER + rb"%"), 0.01),
    "token_usage": (re.compile(rb"(?<!mamba )(?:full )?token usage: " + _NUMBER), 1),
    "state_usage": (re.compile(rb"mamba usage: " + _NUMBER), 1),
    "hit_rate": (re.compile(rb"(?<!External p)(?<!MM )[Pp]refix cache hit rate: " + _NUMBER + rb"%"), 0.01),
    "cached_tokens": (re.compile(rb"#cached-token: " + _NUMBER), 1),
    "new_tokens": (re.compile(rb"#new-token: " + _NUMBER), 1),
    "generation_tokens_per_s": (re.compile(rb"(?:Avg generation throughput: |gen throughput \(token/s\): )" + _NUMBER), 1),
    "acceptance_rate": (re.compile(rb"(?:Avg Draft acceptance rate: )" + _NUMBER + rb"%"), 0.01),
    "acceptance_length": (re.compile(rb"(?:Mean acceptance length: |accept len: )" + _NUMBER), 1),
}

_USUAL = re.compile(
    rb"Avg prompt throughput: [\d.]+ tokens/s, Avg generation throughput: ([\d.]+) tokens/s, "
    rb"Running: (\d+) reqs, Waiting: (\d+) reqs, GPU KV cache usage: ([\d.]+)%, Prefix cache hit rate: ([\d.]+)%(?=\n|$)"
)
"""vLLM's line as it mostly is: one search instead of one a field."""


def _usual(line: re.Match[bytes]) -> Iterator[tuple[str, float]]:
    generated, running, waiting, usage, hits = line.groups()
    yield "running", float(running)
    yield "waiting", float(waiting)
    yield "kv_usage", float(usage) * 0.01
    yield "hit_rate", float(hits) * 0.01
    yield "generation_tokens_per_s", float(generated)


def _figures(line: bytes) -> Iterator[tuple[str, float]]:
    for name, (field, factor) in _FIELDS.items():
        match = field.search(line)
        if match is not None:
            yield ("kv_usage" if name == "token_usage" else name), float(match[1]) * factor


def periodic(text: bytes) -> Iterator[tuple[str, float]]:
    """Name and value of every figure of every periodic line."""
    for pattern, mark in ((_VLLM, b"Avg prompt"), (_SGLANG, b" batch"), (_DRAFT, b"SpecDec")):
        if mark not in text:
            continue
        for line in pattern.finditer(text):
            usual = _USUAL.match(line[0]) if pattern is _VLLM else None
            load = 0.0
            for name, value in _figures(line[0]) if usual is None else _usual(usual):
                load += value if name in ("running", "waiting") else 0
                yield name, value
            # what stands before the figures is cut out, not matched: a pattern that begins with a gap is tried at every byte of the log
            before = max(text.rfind(b"\n", 0, line.start()) + 1, line.start() - 200)
            if rank := _RANK.search(text, before, line.end()):
                yield f"load {(rank[1] or rank[2]).decode()}", load


class SeriesOf:
    """A series while it grows."""

    def __init__(self) -> None:
        self.first = self.last = self.low = self.high = self.sum = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        """One more value."""
        if not self.count:
            self.first = self.low = self.high = value
        self.last = value
        self.low, self.high = min(self.low, value), max(self.high, value)
        self.sum += value
        self.count += 1

    def done(self) -> Series:
        """The series."""
        return Series(first=self.first, last=self.last, low=self.low, high=self.high, mean=self.sum / self.count if self.count else 0.0, count=self.count)
