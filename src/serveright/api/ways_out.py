"""What would make one request fit where it does not: tried one by one on the same engine, in the order that keeps most of what was asked."""

from collections.abc import Iterator

import msgspec

from serveright.api.engines import Engine
from serveright.api.loading import Model
from serveright.catalog.gpus import load_gpu
from serveright.errors import UserError
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.text import Msg, msg

LARGER_GPUS = ("h200-sxm", "b200-sxm", "b300-sxm", "mi355x")
"""Tried in this order; only those with more memory than the GPU at hand count."""
MOST_NODES = 4


def ways_out(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    """Sentences, each of a change under which the engine's own arithmetic holds one request of that length."""
    yield from _precision(engine, model, fleet, settings, context_tokens)
    yield from _shared_context(engine, model, fleet, settings, context_tokens)
    yield from _more_nodes(engine, model, fleet, settings, context_tokens)
    yield from _larger_gpu(engine, model, fleet, settings, context_tokens)
    yield from _shorter(engine, model, fleet, settings, context_tokens)


def _try(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Sized | None:
    """The answer when the request fits, else None; a combination the engine cannot be asked about is no way out."""
    from serveright.api.sizing import size_on

    try:
        sized = size_on(engine, model, fleet, settings, context_tokens)
    except UserError:
        return None
    return sized if sized.fits else None


def _changed(settings: Settings, **parallel: int) -> Settings:
    return msgspec.structs.replace(settings, parallel=msgspec.structs.replace(settings.parallel, **parallel))


def _users(sized: Sized) -> float:
    return round(sized.capacity.max_concurrency, 2)


def _precision(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    if settings.kv_dtype not in (None, "auto"):
        return
    for word in ("fp8", "fp8_e4m3"):
        if sized := _try(engine, model, fleet, msgspec.structs.replace(settings, kv_dtype=word), context_tokens):
            yield msg(
                "{engine}: --kv-cache-dtype {word} ({layout}): {users:n} such requests",
                engine=engine.name,
                word=word,
                layout=sized.layout.name,
                users=_users(sized),
            )
            return


def _shared_context(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    tp = settings.parallel.tp
    for dcp in (n for n in (2, 4, 8, 16) if n <= tp and tp % n == 0 and settings.parallel.dcp < n):
        if sized := _try(engine, model, fleet, _changed(settings, dcp=dcp), context_tokens):
            yield msg(
                "{engine}: decode context parallel {dcp} on the same GPUs: each holds 1/{dcp} of a sequence; {users:n} such requests",
                engine=engine.name,
                dcp=dcp,
                users=_users(sized),
            )
            return


def _more_nodes(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    one: Parallel = settings.parallel
    for nodes in range(fleet.nodes + 1, MOST_NODES + 1):
        factor = nodes / fleet.nodes
        if factor != int(factor):
            continue
        larger = msgspec.structs.replace(fleet, count=fleet.count * int(factor), nodes=nodes)
        for words, changed in (("pp", {"pp": one.pp * int(factor)}), ("tp", {"tp": one.tp * int(factor)})):
            if sized := _try(engine, model, larger, _changed(settings, **changed), context_tokens):
                yield msg(
                    "{engine}: {nodes} nodes with {words} {n}: {users:n} such requests",
                    engine=engine.name,
                    nodes=nodes,
                    words=words,
                    n=changed[words],
                    users=_users(sized),
                )
                return


def _larger_gpu(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    for key in LARGER_GPUS:
        gpu = load_gpu(key)
        if gpu.memory_bytes <= fleet.gpu.memory_bytes or gpu.vendor != fleet.gpu.vendor:
            continue
        if sized := _try(engine, model, msgspec.structs.replace(fleet, gpu=gpu), settings, context_tokens):
            yield msg("{engine}: {count} x {gpu} instead: {users:n} such requests", engine=engine.name, count=fleet.count, gpu=gpu.name, users=_users(sized))
            return


def _shorter(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    """Bisection over lengths in steps of 1,024 tokens."""
    low, high = 0, context_tokens // 1024
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _try(engine, model, fleet, settings, middle * 1024) else (low, middle - 1)
    if low:
        yield msg("{engine}: a shorter context: {n:n} tokens still fit", engine=engine.name, n=low * 1024)
    else:
        yield msg("{engine}: no context length fits on these GPUs; the weights alone are too large", engine=engine.name)
