"""Fits `facts/calibration/vllm_memory.toml`: `python -m tools.fit_memory.vllm ../shared`.

Every error it prints comes from a fit that never saw the model. Few boots, few terms: each term is a physical quantity with one coefficient, found by
coordinate search on the relative error of the cache memory.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from math import ceil, log
from pathlib import Path
from statistics import median, quantiles

from msgspec import Struct
from msgspec.structs import replace

from serveright.catalog.files import FACTS
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.vllm.capacity import capacity
from serveright.engines.vllm.memory import load_of, split
from serveright.engines.vllm.plan import Plan, plan
from serveright.engines.vllm.profile import Load, graph_bytes, graph_count, price
from serveright.types.engine import MemorySplit
from serveright.types.vllm import MemoryTerm, VllmMemory
from serveright.units import GIB, MIB
from tools.fit_memory.boots import Boot, read_boots

TARGET = FACTS / "calibration" / "vllm_memory.toml"
START = {
    "context.discrete": 0.3 * GIB,
    "context.rocm": 1.0 * GIB,
    "context.unified": 0.5 * GIB,
    "collective.pcie": 0.3 * GIB,
    "collective.node": 0.8 * GIB,
    "collective.nodes": 1.0 * GIB,
    "logit_bytes.sorted": 38.4,
    "logit_bytes.threshold": 10.0,
    "forward.dense": 1.0,
    "forward.moe": 1.0,
    "forward.hybrid": 1.5,
    "forward.sparse_latent": 1.0,
    "encoder": 0.8,
    "host_patch": 45_000.0,
    "graphs.first": 0.25 * GIB,
    "graphs.single": 0.25 * MIB,
    "graphs.several": 0.35 * MIB,
    "graphs.sparse": 0.6 * MIB,
}
COUNTED = {"logit_bytes.sorted", "logit_bytes.threshold"}
"""Not fitted but counted: 16-bit logits, float32 copies, and for the sorting sampler their order and sums; the logs' own activation peaks agree."""
TABLES = ("context", "collective", "logit_bytes", "forward", "graphs")
STEPS = (0.5, 0.7, 0.85, 0.93, 1.08, 1.18, 1.43, 2.0)
PRIOR = 0.006
"""Error that a factor e away from the start must earn back: what the boots do not decide stays where physics put it."""
CAP = 0.3
"""An error counts at most this much, so that one odd log cannot bend the fit."""


class Case(Struct, frozen=True):
    """A boot with its plan and what it handles."""

    boot: Boot
    plan: Plan
    load: Load
    budget: int
    captured: int
    """Layers of graphs, counted or not: what the printed estimate was made for."""


UNKNOWN_ROWS = ("kv_dtype_unknown", "v4_cache_dtype", "layout_unknown")
"""Refusals of ours that say: these rows are not known."""


class Guess(Struct, frozen=True, kw_only=True):
    """One boot predicted by a fit that never saw its model."""

    boot: Boot
    memory: MemorySplit
    refused: bool
    """The predicted memory does not hold one request of the asked length."""
    available_error: float | None
    concurrency_error: float | None
    layout_error: float | None
    """Concurrency from the observed cache memory: what the layout alone misses."""
    weights_error: float | None
    """Weights by the config against the log's."""
    alone_error: float | None
    """Cache memory with nothing taken from the log."""


def cases(boots: Iterable[Boot]) -> list[Case]:
    """Plans of every boot."""
    found: list[Case] = []
    for boot in boots:
        behaviour = load_vllm_behaviour(boot.version)
        if boot.graphs_counted is not None:
            behaviour = replace(behaviour, graphs_counted=boot.graphs_counted)
        made = plan(boot.shape, boot.checkpoint, boot.gpu, behaviour, boot.settings)
        made = made if boot.second_runner is None else replace(made, second_runner=boot.second_runner)
        budget = ceil(boot.gpu.memory_bytes * (boot.settings.mem_fraction or behaviour.mem_fraction))
        load = load_of(boot.shape, made, boot.gpu, boot.settings)
        found.append(Case(boot, made, load, budget, len(boot.shape.layers) * graph_count(made)))
    return found


def usable(case: Case) -> bool:
    """The log gives weights, cache memory and the share, and the memory was profiled, not given."""
    return case.boot.weights is not None and profiled(case.boot)


def profiled(boot: Boot) -> bool:
    """The log gives the cache memory and the share it was left by, on a device whose memory is known."""
    stated = None not in (boot.available, boot.settings.mem_fraction) and (boot.available or 0) > 0
    return stated and boot.gpu.memory_bytes > 0 and "kv-cache-memory-bytes" not in boot.settings.extra


def trusted(case: Case) -> bool:
    """A build of the engine itself in a log that leaves nothing to be guessed, without a separate draft model whose size nobody states."""
    return usable(case) and case.boot.confidence == "high" and not case.boot.fork and not case.boot.draft


def fit(rows: Sequence[Case]) -> VllmMemory:
    """Coefficients with the least capped relative error over `rows`: graphs on the estimates that logs print, then all others on the cache memory."""
    graph_terms = [name for name in START if name.startswith("graphs.")]
    values = _search(dict(START), graph_terms, lambda trial: _graph_loss(rows, trial))
    others = [name for name in START if name not in COUNTED and name not in graph_terms]
    return _calibration(_search(values, others, lambda trial: _loss(rows, trial)), rows)


def _search(values: dict[str, float], names: Sequence[str], loss: Callable[[dict[str, float]], float]) -> dict[str, float]:
    best = loss(values)
    for _ in range(4):
        for name in names:
            for step in STEPS:
                trial = {**values, name: values[name] * step}
                error = loss(trial)
                if error < best - 1e-9:
                    values, best = trial, error
    return values


def _graph_loss(rows: Sequence[Case], values: dict[str, float]) -> float:
    """Mean absolute logarithm of predicted over printed estimate, and what leaving the start costs."""
    calibration = _calibration(values, rows)
    errors = [abs(log(graph_bytes(c.captured, calibration, c.load.graph_kind) / c.boot.graphs_estimated)) for c in rows if c.boot.graphs_estimated]
    return sum(errors) / max(1, len(errors)) + PRIOR * sum(abs(log(values[name] / START[name])) for name in values)


def _loss(rows: Sequence[Case], values: dict[str, float]) -> float:
    calibration = _calibration(values, rows)
    errors = [min(abs(_available(c, calibration) / (c.boot.available or 1) - 1), CAP) for c in rows]
    return sum(errors) / max(1, len(errors)) + PRIOR * sum(abs(log(values[name] / START[name])) for name in values)


def _available(case: Case, calibration: VllmMemory) -> int:
    return max(0, case.budget - (case.boot.weights or 0) - sum(price(case.load, calibration).values()))


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
        graphs=table("graphs"),
        encoder=term("encoder"),
        host_patch=term("host_patch"),
        spread={"released": (1.0, 1.0), "built": (1.0, 1.0)},
    )


def _touches(case: Case, name: str) -> bool:
    group, _, part = name.partition(".")
    load = case.load
    match group:
        case "context":
            return load.device == part
        case "forward":
            return load.kind == part
        case "logit_bytes":
            return load.sampler == part
        case "graphs":
            return bool(case.boot.graphs_estimated) and part in ("first", load.graph_kind)
        case "encoder":
            return load.patches > 0
        case "host_patch":
            return load.patches > 0 and load.device == "unified"
        case _:
            return load.reach == part


def left_out(all_cases: Sequence[Case]) -> list[Guess]:
    """Every boot predicted from a fit without its model, in whatever number format."""
    rows = [c for c in all_cases if trusted(c)]
    fits = {base: fit([c for c in rows if c.boot.base != base]) for base in {c.boot.base for c in all_cases}}
    return [guess(c, fits[c.boot.base]) for c in all_cases]


def guess(case: Case, calibration: VllmMemory) -> Guess:
    """One boot predicted with a calibration."""
    boot = case.boot
    memory = split(boot.shape, case.plan, boot.weights or boot.computed or 0, boot.gpu, calibration, boot.settings)
    alone = split(boot.shape, case.plan, boot.computed or 0, boot.gpu, calibration, boot.settings).kv_pool_bytes
    context = boot.settings.context_tokens or 1
    seen = replace(memory, kv_pool_bytes=boot.available or 0)
    predicted, exact = capacity(case.plan, memory, context), capacity(case.plan, seen, context)
    good = usable(case)
    return Guess(
        boot=boot,
        memory=memory,
        refused=bool(predicted.refusals),
        available_error=memory.kv_pool_bytes / boot.available - 1 if good and boot.available else None,
        concurrency_error=predicted.per_rank_concurrency / boot.concurrency - 1 if good and boot.concurrency else None,
        weights_error=boot.computed / boot.weights - 1 if boot.computed and boot.weights else None,
        alone_error=alone / boot.available - 1 if boot.computed and profiled(boot) and boot.available else None,
        layout_error=_layout(exact.per_rank_concurrency, exact.per_rank_tokens, boot) if boot.available and laid_out(case) else None,
    )


def laid_out(case: Case) -> bool:
    """Ours claims to know how the cache lies: no fork's own row format, which the release of that name refuses, and no code that is not rebuilt."""
    return not any(refusal.code in UNKNOWN_ROWS for refusal in case.plan.refusals)


def _layout(concurrency: float, tokens: int, boot: Boot) -> float | None:
    if boot.concurrency:
        return concurrency / boot.concurrency - 1
    return tokens / boot.tokens - 1 if boot.tokens else None


def spreads(guesses: Sequence[Guess]) -> dict[str, tuple[float, float]]:
    """What 80 % of the boots' observed over predicted overheads lie within: of the engine's own builds, and of all, forks included."""
    own = [g for g in guesses if not g.boot.fork and not g.boot.draft]
    return {"released": _inner(own), "built": _inner(guesses)}


def _inner(guesses: Sequence[Guess]) -> tuple[float, float]:
    shares = sorted(ratio(g) for g in guesses if g.available_error is not None)
    low, high = quantiles(shares, n=10)[0], quantiles(shares, n=10)[-1]
    return (min(1.0, low), max(1.0, high))


def ratio(guess: Guess) -> float:
    """Observed over predicted overhead."""
    return 1 + (guess.memory.kv_pool_bytes - (guess.boot.available or 0)) / guess.memory.overhead_bytes


def held(guesses: Sequence[Guess]) -> tuple[int, int]:
    """Boots whose overhead lies within a range made without their model, and how many were asked."""
    asked = [g for g in guesses if g.available_error is not None]
    inside = 0
    for guess in asked:
        others = spreads([g for g in guesses if g.boot.base != guess.boot.base])
        low, high = others["built" if guess.boot.fork or guess.boot.draft else "released"]
        inside += low <= ratio(guess) <= high
    return inside, len(asked)


def write(calibration: VllmMemory, guesses: Sequence[Guess]) -> None:
    """The calibration with its spread, as TOML."""
    lines = [
        "# Written by tools/fit_memory; not edited by hand. Bytes, or multiples as types/vllm.py VllmMemory says.",
        f'source = "{calibration.source}"',
        f'as_of = "{calibration.as_of}"',
        f"rows = {calibration.rows}",
        "\n[spread]",
        *(f"{name} = [{low:.4f}, {high:.4f}]" for name, (low, high) in spreads(guesses).items()),
    ]
    for name in TABLES:
        for part, term in table_of(calibration, name).items():
            lines += [f"\n[{name}.{part}]", *_term(term)]
    lines += ["\n[encoder]", *_term(calibration.encoder), "\n[host_patch]", *_term(calibration.host_patch)]
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table_of(calibration: VllmMemory, name: str) -> dict[str, MemoryTerm]:
    """One of the tables by its name."""
    return {
        "context": calibration.context,
        "collective": calibration.collective,
        "logit_bytes": calibration.logit_bytes,
        "forward": calibration.forward,
        "graphs": calibration.graphs,
    }[name]


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
    write(fit([c for c in everything if trusted(c)]), guesses)


def report(guesses: Sequence[Guess]) -> None:
    """The error table: builds of the engine itself first, forks and unknown draft models apart."""
    high = [g for g in guesses if g.boot.confidence == "high"]
    own = [g for g in high if not g.boot.fork and not g.boot.draft]
    for name, rows in (("high confidence, the engine's own builds", own), ("high confidence, all", high)):
        print(f"{name}: cache memory {summary([g.available_error for g in rows if g.available_error is not None])}")
        print(f"{name}: concurrency {summary([g.concurrency_error for g in rows if g.concurrency_error is not None])}")
    print(f"high confidence, the engine's own builds, weights by the config: {summary([g.weights_error for g in own if g.weights_error is not None])}")
    print(f"high confidence, the engine's own builds, nothing from the log: cache memory {summary([g.alone_error for g in own if g.alone_error is not None])}")
    for name, rows in (("the engine's own builds", [g for g in guesses if not g.boot.fork and not g.boot.draft]), ("all", guesses)):
        inside, asked = held(rows)
        print(f"within the range that says 80 %, {name}: {inside / max(1, asked):.0%} of {asked}")
    seen = [g for g in guesses if not g.boot.draft and g.layout_error is not None]
    print(f"concurrency from the observed cache memory: {summary([g.layout_error for g in seen if g.layout_error is not None])}")


if __name__ == "__main__":
    main()
