"""Fits `facts/calibration/vllm_memory.toml`: `python -m tools.fit_memory.vllm ../shared`.

Every error it prints comes from a fit that never saw the model. Few boots, few terms: each term is a physical quantity with one coefficient, found by
coordinate search on the relative error of the cache memory.
"""

import sys
from collections.abc import Iterable, Sequence
from math import log
from pathlib import Path
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from serveright.catalog.files import FACTS
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.vllm.capacity import capacity
from serveright.engines.vllm.memory import device_class, kind, reach, split
from serveright.engines.vllm.plan import Plan, plan
from serveright.types.engine import MemorySplit
from serveright.types.vllm import MemoryTerm, VllmMemory
from serveright.units import GIB, MIB
from tools.fit_memory.boots import Boot, read_boots

TARGET = FACTS / "calibration" / "vllm_memory.toml"
START = {
    "context.discrete": 0.3 * GIB,
    "context.unified": 0.3 * GIB,
    "collective.node": 0.5 * GIB,
    "collective.nodes": 1.0 * GIB,
    "logit_bytes.sorted": 38.4,
    "logit_bytes.threshold": 10.0,
    "forward.dense": 1.0,
    "forward.moe": 1.0,
    "forward.hybrid": 1.5,
    "forward.sparse_latent": 1.0,
    "graphs": 0.5 * GIB,
}
COUNTED = {"logit_bytes.sorted", "logit_bytes.threshold"}
"""Not fitted but counted: 16-bit logits, float32 copies, and for the sorting sampler their order and sums; the logs' own activation peaks agree."""
STEPS = (0.5, 0.7, 0.85, 0.93, 1.08, 1.18, 1.43, 2.0)
PRIOR = 0.003
"""Error that a factor e away from the start must earn back: what the boots do not decide stays where physics put it."""
CAP = 0.3
"""An error counts at most this much, so that one odd log cannot bend the fit."""


class Case(Struct, frozen=True):
    """A boot with its plan."""

    boot: Boot
    plan: Plan


class Guess(Struct, frozen=True, kw_only=True):
    """One boot predicted by a fit that never saw its model."""

    boot: Boot
    memory: MemorySplit
    available_error: float | None
    concurrency_error: float | None
    layout_error: float | None
    """Concurrency from the observed cache memory: what the layout alone misses."""


def cases(boots: Iterable[Boot]) -> list[Case]:
    """Plans of every boot."""
    found: list[Case] = []
    for boot in boots:
        behaviour = load_vllm_behaviour(boot.version)
        if boot.graphs_counted is not None:
            behaviour = replace(behaviour, graphs_counted=boot.graphs_counted)
        found.append(Case(boot, plan(boot.shape, boot.checkpoint, boot.gpu, behaviour, boot.settings)))
    return found


def usable(case: Case) -> bool:
    """The log gives weights, cache memory and the share, and the memory was profiled, not given."""
    boot = case.boot
    return (
        None not in (boot.weights, boot.available, boot.settings.mem_fraction)
        and boot.gpu.memory_bytes > 0
        and "kv-cache-memory-bytes" not in boot.settings.extra
    )


def trusted(case: Case) -> bool:
    """A build of the engine itself, without a separate draft model whose size nobody states."""
    return usable(case) and not case.boot.fork and not case.boot.draft


def fit(rows: Sequence[Case]) -> VllmMemory:
    """Coefficients with the least capped relative error over `rows`."""
    values = dict(START)
    best = _loss(rows, values)
    for _ in range(4):
        for name in [n for n in values if n not in COUNTED]:
            for step in STEPS:
                trial = {**values, name: values[name] * step}
                loss = _loss(rows, trial)
                if loss < best - 1e-9:
                    values, best = trial, loss
    return _calibration(values, rows)


def _loss(rows: Sequence[Case], values: dict[str, float]) -> float:
    calibration = _calibration(values, rows)
    errors = [min(abs(_available(c, calibration) / (c.boot.available or 1) - 1), CAP) for c in rows]
    return sum(errors) / max(1, len(errors)) + PRIOR * sum(abs(log(values[name] / START[name])) for name in values)


def _available(case: Case, calibration: VllmMemory) -> int:
    boot = case.boot
    return split(boot.shape, case.plan, boot.weights or 0, boot.gpu, calibration, boot.settings).kv_pool_bytes


def _calibration(values: dict[str, float], rows: Sequence[Case]) -> VllmMemory:
    def term(name: str) -> MemoryTerm:
        return MemoryTerm(value=values[name], n=sum(1 for c in rows if _touches(c, name)))

    def table(prefix: str) -> dict[str, MemoryTerm]:
        return {name.split(".")[1]: term(name) for name in values if name.startswith(f"{prefix}.")}

    return VllmMemory(
        source="public vLLM start-up logs, fitted by tools/fit_memory",
        as_of="2026-11-29",
        rows=len(rows),
        context=table("context"),
        collective=table("collective"),
        logit_bytes=table("logit_bytes"),
        forward=table("forward"),
        graphs=term("graphs"),
        spread=(0.0, 0.0),
    )


def _touches(case: Case, name: str) -> bool:
    group, _, part = name.partition(".")
    behaviour = case.plan.site.behaviour
    match group:
        case "context":
            return device_class(case.boot.gpu) == part
        case "forward":
            return kind(case.boot.shape) == part
        case "logit_bytes":
            return behaviour.sampler == part
        case "graphs":
            return behaviour.graphs_counted and not case.boot.settings.eager
        case _:
            return case.boot.settings.parallel.gpus > 1 and reach(case.boot.gpu, case.boot.settings) == part


def left_out(all_cases: Sequence[Case]) -> list[Guess]:
    """Every boot predicted from a fit without its model."""
    rows = [c for c in all_cases if trusted(c)]
    fits = {name: fit([c for c in rows if c.boot.model != name]) for name in {c.boot.model for c in all_cases}}
    return [_guess(c, fits[c.boot.model]) for c in all_cases]


def _guess(case: Case, calibration: VllmMemory) -> Guess:
    boot = case.boot
    memory = split(boot.shape, case.plan, boot.weights or 0, boot.gpu, calibration, boot.settings)
    context = boot.settings.context_tokens or 1
    seen = replace(memory, kv_pool_bytes=boot.available or 0)
    predicted, exact = capacity(case.plan, memory, context), capacity(case.plan, seen, context)
    good = usable(case)
    return Guess(
        boot=boot,
        memory=memory,
        available_error=memory.kv_pool_bytes / boot.available - 1 if good and boot.available else None,
        concurrency_error=predicted.per_rank_concurrency / boot.concurrency - 1 if good and boot.concurrency else None,
        layout_error=_layout(exact.per_rank_concurrency, exact.per_rank_tokens, boot) if boot.available else None,
    )


def _layout(concurrency: float, tokens: int, boot: Boot) -> float | None:
    if boot.concurrency:
        return concurrency / boot.concurrency - 1
    return tokens / boot.tokens - 1 if boot.tokens else None


def write(calibration: VllmMemory, guesses: Sequence[Guess]) -> None:
    """The calibration with its spread, as TOML."""
    shares = sorted(1 + (g.memory.kv_pool_bytes - (g.boot.available or 0)) / g.memory.overhead_bytes for g in guesses if g.available_error is not None)
    low, high = min(1.0, shares[len(shares) // 10]), max(1.0, shares[-1 - len(shares) // 10])
    lines = [
        "# Written by tools/fit_memory; not edited by hand. Bytes, or multiples as types/vllm.py VllmMemory says.",
        f'source = "{calibration.source}"',
        f'as_of = "{calibration.as_of}"',
        f"rows = {calibration.rows}",
        f"spread = [{low:.4f}, {high:.4f}]",
    ]
    lines += ["\n[graphs]", *_term(calibration.graphs)]
    tables = {"context": calibration.context, "collective": calibration.collective, "logit_bytes": calibration.logit_bytes, "forward": calibration.forward}
    for name, table in tables.items():
        for part, term in table.items():
            lines += [f"\n[{name}.{part}]", *_term(term)]
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _term(term: MemoryTerm) -> list[str]:
    value = f"{term.value / MIB:.0f} MiB" if term.value > MIB else ""
    return [f"value = {term.value:.6g}" + (f" # {value}" if value else ""), f"n = {term.n}"]


def summary(errors: Sequence[float]) -> str:
    """`median 2.1 %, p90 8.0 %, n 12`."""
    if not errors:
        return "n 0"
    ordered = sorted(abs(e) for e in errors)
    return f"median {median(ordered):.1%}, p90 {ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]:.1%}, n {len(ordered)}"


def main() -> None:
    """Fit on everything, evaluate without each model, write the data."""
    boots, left = read_boots(Path(sys.argv[1]))
    everything = cases(boots)
    guesses = left_out(everything)
    for guess in guesses:
        parts = [f"{e:+.1%}" if e is not None else "-" for e in (guess.available_error, guess.concurrency_error, guess.layout_error)]
        print(f"{guess.boot.id:28} {guess.boot.version:10} {guess.boot.confidence:6} available {parts[0]:>8} concurrency {parts[1]:>8} layout {parts[2]:>8}")
    for line in left:
        print("left out:", line)
    report(guesses)
    write(fit([c for c in everything if trusted(c)]), [g for g in guesses if not g.boot.fork and not g.boot.draft])


def report(guesses: Sequence[Guess]) -> None:
    """The error table: builds of the engine itself first, forks and unknown draft models apart."""
    high = [g for g in guesses if g.boot.confidence == "high"]
    own = [g for g in high if not g.boot.fork and not g.boot.draft]
    for name, rows in (("high confidence, the engine's own builds", own), ("high confidence, all", high)):
        print(f"{name}: cache memory {summary([g.available_error for g in rows if g.available_error is not None])}")
        print(f"{name}: concurrency {summary([g.concurrency_error for g in rows if g.concurrency_error is not None])}")
    seen = [g for g in guesses if not g.boot.draft and g.layout_error is not None]
    print(f"concurrency from the observed cache memory: {summary([g.layout_error for g in seen if g.layout_error is not None])}")


if __name__ == "__main__":
    main()
