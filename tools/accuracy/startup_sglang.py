"""`python -m tools.accuracy.startup_sglang ../shared [--fit]`: SGLang's free memory and tokens at start-up against public logs.

Only `observed` figures of `cases/startup_logs.jsonl` are read. Every error comes from terms that never saw the model. `--fit` rewrites the calibration.
A log whose free memory before loading is far below the machine's shared it with other programs: it counts only where that figure is taken from the log.
"""

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.weights import per_gpu_bytes, weight_need
from serveright.catalog.files import FACTS
from serveright.catalog.gpus import load_gpu
from serveright.catalog.sglang import load_sglang_behaviour, load_sglang_memory
from serveright.engines.sglang import settings_from_flags, size
from serveright.engines.sglang.split import machine
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import MemorySplit, Parallel, Settings
from serveright.types.hardware import Gpu
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.sglang import SglangMemory, SglangTerm
from serveright.units import GIB
from tools.fit_memory.boots import model_files, rows, unknown_gpu

WORDS = tomllib.loads(Path(__file__).with_name("sglang_logs.toml").read_text(encoding="utf-8"))
TARGET = FACTS / "calibration" / "sglang_memory.toml"
ALONE = 0.8
"""Least share of the machine's memory that is free before loading where nothing else runs."""
FEW = 3


class Boot(Struct, frozen=True, kw_only=True):
    """One start-up; sizes are bytes, None where the log does not say."""

    id: str
    model: str
    version: str
    gpu: Gpu
    shape: ModelShape
    checkpoint: Checkpoint
    settings: Settings
    context: int
    weights: int | None
    """By the config, where it is the checkpoint's own."""
    taken: int | None
    """What loading took, by the log."""
    before: int | None
    available: int | None
    tokens: int

    @property
    def kind(self) -> str:
        return machine(self.gpu, self.settings.parallel.gpus)

    @property
    def alone(self) -> bool:
        return self.before is None or self.before > ALONE * self.gpu.memory_bytes


def read_boots(shared: Path | None) -> list[Boot]:
    """Every SGLang row."""
    return [_boot(row, shared) for row in rows("sglang", shared)]


def _boot(row: dict[str, Any], shared: Path | None) -> Boot:
    seen, settings = row["observed"], _settings(row)
    files = model_files(row, shared, WORDS)
    shape, checkpoint = read_model(files), read_checkpoint(files)
    taken, after = _bytes(seen.get("weights_gib_per_gpu")), _bytes(seen.get("avail_after_load_gb"))
    before = _bytes(seen.get("avail_before_load_gb"))
    if before is None and taken is not None and after is not None:
        before = after + taken
    return Boot(
        id=row["id"],
        model=row["model"],
        version=WORDS["versions"][row["engine_version"]],
        gpu=_gpu(row["gpu"]),
        shape=shape,
        checkpoint=checkpoint,
        settings=settings,
        context=row["max_model_len"] or shape.max_context_tokens or 1,
        weights=sum(per_gpu_bytes(weight_need(shape, checkpoint), settings.parallel).values()) if row.get("config") in (None, "inline", row["model"]) else None,
        taken=taken,
        before=before,
        available=_sum(_bytes(seen.get("available_kv_gib")), _bytes(seen.get("state_gib"))),
        tokens=seen["kv_tokens"],
    )


def _gpu(name: str) -> Gpu:
    key = WORDS["gpus"][name]
    return load_gpu(key) if key else unknown_gpu(name, "nvidia")


def _settings(row: dict[str, Any]) -> Settings:
    pairs = (flag.split(" ")[:2] for flag in row["command_flags"] if not flag.endswith("(auto)"))
    given = settings_from_flags({pair[0]: pair[1] if len(pair) > 1 else None for pair in pairs})
    asked = None if row["kv_cache_dtype"] == "auto" else row["kv_cache_dtype"]
    parallel = Parallel(tp=row["tp"], pp=row["pp"], dp=row["dp"])
    return replace(given, parallel=parallel, kv_dtype=asked, mem_fraction=row["mem_fraction_static"])


def _sum(rows_bytes: int | None, states: int | None) -> int | None:
    """What the pool holds in all: rows, and states where the model has them."""
    return None if rows_bytes is None else rows_bytes + (states or 0)


def _bytes(value: float | None) -> int | None:
    return None if value is None else round(value * GIB)


HOST_TAKES = [(total - free) * GIB for total, free in ((119.63, 112.26), (121.63, 112.77), (121.63, 112.01), (121.63, 113.15))]
"""What other programs of a GB10 held when vLLM's own start-up logs measured it: the same machine before the same weights, whichever engine asks."""


def fit(boots: Sequence[Boot]) -> SglangMemory:
    """Medians by kind of machine, with the lowest and highest boot; a kind without a boot takes what all cards of their own memory lose."""
    kinds = ("cuda", "cuda_many", "unified", "rocm")
    known = [b for b in boots if b.gpu.memory_bytes]
    lost = {kind: [float(b.gpu.memory_bytes - b.before) for b in known if b.kind == kind and b.before is not None and b.alone] for kind in kinds}
    lost["unified"] += HOST_TAKES
    apart = lost["cuda"] + lost["cuda_many"] + lost["rocm"]
    lost |= {kind: lost[kind] or apart for kind in ("cuda", "cuda_many", "rocm")}
    load = [float(b.taken - b.weights) for b in known if b.taken is not None and b.weights is not None]
    before = {kind: _term(found) for kind, found in lost.items()}
    return SglangMemory(source="", as_of="", rows=len(boots), before=_widened(before, lost), load=_term(load))


def _widened(before: dict[str, SglangTerm], lost: dict[str, list[float]]) -> dict[str, SglangTerm]:
    """Kinds with fewer boots than `FEW` span what their vendor's other cards lose, or all cards: one boot has no spread, which does not make the next the same."""
    wider = dict(before)
    for kind in ("cuda", "cuda_many", "rocm"):
        near = lost["rocm"] if kind == "rocm" else lost["cuda"] + lost["cuda_many"]
        near = near if len(near) >= FEW else near + [loss for other in ("cuda", "cuda_many", "rocm") for loss in lost[other]]
        if before[kind].n < FEW and near:
            wider[kind] = replace(before[kind], low=round(min(near)), high=round(max(near)))
    return wider


def _term(found: Sequence[float]) -> SglangTerm:
    if not found:
        return SglangTerm(value=0, low=0, high=0, n=0)
    return SglangTerm(value=round(median(found)), low=round(min(found)), high=round(max(found)), n=len(found))


def predicted(boot: Boot, memory: SglangMemory, *, from_log: bool) -> tuple[MemorySplit, int]:
    """The split and the tokens of its pool; `from_log` takes the free memory before and after loading from the log."""
    gpu, weights = boot.gpu, boot.weights or 0
    if not gpu.memory_bytes:
        gpu = replace(gpu, memory_bytes=boot.before or 0)
    if from_log and boot.before is not None and boot.taken is not None:
        none = SglangTerm(value=0, low=0, high=0, n=0)
        memory = replace(memory, before={kind: replace(none, value=gpu.memory_bytes - boot.before) for kind in memory.before}, load=none)
        weights = boot.taken
    found = size(boot.shape, boot.checkpoint, weights, gpu, load_sglang_behaviour(boot.version), memory, boot.settings, boot.context)
    return found.memory, found.capacity.tokens


def report(title: str, boots: Sequence[Boot], everything: Sequence[Boot], *, from_log: bool) -> None:
    """One line a boot, then the figures."""
    print(title)
    memory_errors: list[float] = []
    token_errors: list[float] = []
    held: list[bool] = []
    for boot in boots:
        split, tokens = predicted(boot, fit([b for b in everything if b.model != boot.model]), from_log=from_log)
        token_errors.append(abs(tokens - boot.tokens) / boot.tokens)
        line = f"  {boot.id:28} tokens {tokens:>9} for {boot.tokens:>9} ({token_errors[-1]:6.1%})"
        if boot.available is not None:
            pool, (low, high) = split.kv_pool_bytes, split.kv_pool_range or (0, 0)
            memory_errors.append(abs(pool - boot.available) / boot.available)
            held.append(low <= boot.available <= high)
            line += f"  pool {pool / GIB:7.2f} for {boot.available / GIB:7.2f} GiB ({memory_errors[-1]:6.1%})"
            line += "" if from_log else f"  range {low / GIB:.2f} to {high / GIB:.2f}"
        print(line)
    for name, errors in (("KV memory", memory_errors), ("tokens", token_errors)):
        p90 = quantiles(errors, n=10, method="inclusive")[-1]
        print(f"  {name}: n {len(errors)}, median {median(errors):.1%}, p90 {p90:.1%}, models {len({b.model for b in boots})}")
    if not from_log:
        print(f"  within the range from the lowest to the highest boot: {sum(held)} of {len(held)}")


def write(memory: SglangMemory, boots: Sequence[Boot]) -> None:
    """The calibration file, from all boots."""
    models = len({b.model for b in boots})
    text = (
        "# What a rank of SGLang has lost before its weights are loaded, and what loading takes beyond them, in bytes: median, lowest and highest boot.\n"
        "# Written by `python -m tools.accuracy.startup_sglang ../shared --fit`. Few boots are public: one or two models per kind of machine.\n"
        f'source = "public SGLang start-up logs with `Load weight begin/end` lines ({len(boots)} boots of {models} models)"\nas_of = "2026-11-29"\nrows = {len(boots)}\n'
    )
    for name, term in {"load": memory.load, **{f"before.{kind}": term for kind, term in memory.before.items()}}.items():
        text += f"\n[{name}]\nvalue = {term.value:.0f}\nlow = {term.low:.0f}\nhigh = {term.high:.0f}\nn = {term.n}\n"
    TARGET.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """Print the errors; with `--fit` write the calibration too."""
    boots = read_boots(Path(next((a for a in arguments if not a.startswith("--")), "../shared")))
    whole = [b for b in boots if b.alone and b.weights is not None and b.gpu.memory_bytes]
    report("Config, GPU and flags only, model left out:", whole, boots, from_log=False)
    report("Free memory before and after loading from the log:", [b for b in boots if b.before is not None and b.taken is not None], boots, from_log=True)
    print(f"left out of the first figure, other programs held memory: {[b.id for b in boots if not b.alone]}")
    if "--fit" in arguments:
        write(fit(boots), boots)
        load_sglang_memory.cache_clear()


if __name__ == "__main__":
    main(sys.argv[1:])
