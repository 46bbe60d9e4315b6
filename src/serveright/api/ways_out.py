"""What would make one request fit where it does not: tried one by one on the same engine, in the order that keeps most of what was asked."""

from collections.abc import Iterator

import msgspec

from serveright.analysis.choosing import assumed_checkpoint
from serveright.api.engines import Engine
from serveright.api.loading import Model
from serveright.api.sized import size_on
from serveright.catalog.gpus import load_gpu
from serveright.errors import UserError
from serveright.types.design import Check
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.model import ModelShape, UnknownMixer
from serveright.types.text import Msg, msg

LARGER_GPUS = ("h200-sxm", "b200-sxm", "b300-sxm", "mi355x")
"""Tried in this order; only those with more memory than the GPU at hand count."""
MOST_NODES = 4


def ways_out(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    """Sentences, each of a change under which the engine's own arithmetic holds one request of that length."""
    unknown = sum(isinstance(mixer, UnknownMixer) for layer in model.shape.layers for mixer in layer.mixers)
    if unknown:
        yield msg("{engine}: the cache of {count:n} layers is unknown, so nobody can say what would fit", engine=engine.name, count=unknown)
        return
    yield from _precision(engine, model, fleet, settings, context_tokens)
    yield from _narrower_weights(engine, model, fleet, settings, context_tokens)
    yield from _shared_context(engine, model, fleet, settings, context_tokens)
    yield from _more_nodes(engine, model, fleet, settings, context_tokens)
    yield from _larger_gpu(engine, model, fleet, settings, context_tokens)
    yield from _shorter(engine, model, fleet, settings, context_tokens)


def past_a_block(check: Check, shape: ModelShape) -> Iterator[Msg]:
    """What remains where the engine's version has no class for the model: later releases, plugins, the model's own code, and what can be derived anyway."""
    if all(reason.code != "architecture-unknown" for reason in check.reasons):
        return
    if shape.remote_code and check.engine == "vllm":
        yield msg(
            "vllm: the repository brings code of its own; --trust-remote-code with --model-impl transformers runs it where it is written for that backend"
        )
    yield msg(
        "{engine}: wait for a release that has {name}, or register the class by a plugin; until then `serveright size` shows memory and users as the engine would count them",
        engine=check.engine,
        name=shape.architecture,
    )


def _asked(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Sized | None:
    """The engine's answer; None for a combination it cannot be asked about."""
    try:
        return size_on(engine, model, fleet, settings, context_tokens)
    except UserError:
        return None


def _try(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Sized | None:
    """The answer when the request fits, else None."""
    sized = _asked(engine, model, fleet, settings, context_tokens)
    return sized if sized is not None and sized.fits else None


def _changed(settings: Settings, **parallel: int) -> Settings:
    return msgspec.structs.replace(settings, parallel=msgspec.structs.replace(settings.parallel, **parallel))


def _users(sized: Sized) -> float:
    return round(sized.capacity.max_concurrency, 2)


def _precision(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    if settings.kv_dtype not in (None, "auto"):
        return
    plain = _asked(engine, model, fleet, settings, context_tokens)
    tried: list[Sized] = []
    for word in ("fp8", "fp8_e4m3"):
        sized = _asked(engine, model, fleet, msgspec.structs.replace(settings, kv_dtype=word), context_tokens)
        if sized is None or sized.resolved.refusals:
            continue
        if sized.fits:
            yield msg(
                "{engine}: --kv-cache-dtype {word} ({layout}): {users:n} such requests",
                engine=engine.name,
                word=word,
                layout=sized.layout.name,
                users=_users(sized),
            )
            return
        if plain is None or sized.layout.name != plain.layout.name:
            tried.append(sized)
    for narrow in tried[:1]:
        yield msg(
            "{engine}: 8-bit cache ({layout}) does not suffice: one request takes {need:gib} of a GPU, and {pool:gib} is left beside {weights:gib} of weights",
            engine=engine.name,
            layout=narrow.layout.name,
            need=narrow.capacity.request_bytes,
            pool=max(0, narrow.memory.kv_pool_bytes),
            weights=narrow.memory.weights_bytes,
        )


def _narrower_weights(engine: Engine, model: Model, fleet: Fleet, settings: Settings, context_tokens: int) -> Iterator[Msg]:
    """The widest quantised checkpoint that would do, where the one at hand is not quantised; heads, tables and towers stay as they are."""
    if model.checkpoint.method != "none":
        return
    for precision in ("fp8", "int4"):
        checkpoint = assumed_checkpoint(precision, model.checkpoint.dtype)
        if checkpoint is None:
            continue
        narrow = Model(files=model.files, shape=model.shape, checkpoint=checkpoint, family=model.family)
        if sized := _try(engine, narrow, fleet, settings, context_tokens):
            yield msg(
                "{engine}: a checkpoint in {format} ({weights:gib} of weights a GPU): {users:n} such requests",
                engine=engine.name,
                format=checkpoint.format,
                weights=sized.memory.weights_bytes,
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
        return
    sized = _asked(engine, model, fleet, settings, 1024)
    if sized is None or sized.memory.kv_pool_bytes > 0:
        yield msg("{engine}: no shorter context helps", engine=engine.name)
    else:
        yield msg("{engine}: no context length fits on these GPUs; the weights alone are too large", engine=engine.name)
