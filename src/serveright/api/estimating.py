"""One sensible layout of a model on given GPUs, for verbs that look at many models: the fewest GPUs a copy that hold weights and users, copies on the rest.

`plan` searches all layouts; this asks for a tenth of the time, and says so.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from serveright.analysis import traffic as service
from serveright.analysis.divisibility import divisibility
from serveright.analysis.images import vision
from serveright.analysis.launch import AITER
from serveright.analysis.layouts import replicated_cache
from serveright.analysis.search import cost
from serveright.analysis.weights import held_bytes
from serveright.analysis.work import ModelWork, model_work
from serveright.api.engines import Engine
from serveright.api.loading import Model
from serveright.api.sized import size_on, weights_on
from serveright.catalog.calibration import load_performance
from serveright.formats.resolve import in_memory, resolver
from serveright.types.design import Candidate, Reason
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.text import msg
from serveright.types.traffic import Traffic

CAPACITY = frozenset({"kv-does-not-fit", "weights-do-not-fit", "no-memory", "context-does-not-fit"})


class Served(Struct, frozen=True, kw_only=True):
    """A layout with its estimate on one engine. `room`: requests of mean length held at once, all copies together."""

    engine: Engine
    candidate: Candidate
    sized: Sized
    room: float
    pool_bytes: float
    """KV pools of all GPUs of all copies."""


def work_of(model: Model) -> ModelWork:
    """What one step of the model has to do, at the formats its weights are held in: a float32 checkpoint is loaded in 16 bits."""
    return model_work(model.shape, resolver(in_memory(model.checkpoint)))


def with_kernels(engine: Engine, fleet: Fleet, settings: Settings) -> Settings:
    """AMD's own kernels switched on where vLLM leaves them off (ARCH09): Instinct only, and only where this version knows the variable."""
    if AITER not in engine.table.environment or not fleet.gpu.architecture.upper().startswith(("CDNA3", "CDNA4")):
        return settings
    return msgspec.structs.replace(settings, extra={AITER: "1", **settings.extra})


def serve(engine: Engine, model: Model, fleet: Fleet, traffic: Traffic, work: ModelWork) -> Served | Reason:
    """The layout and its estimate, or why there is none. `traffic.context_tokens` must be set."""
    context = traffic.context_tokens or 0
    best: Served | None = None
    last: Reason | None = None
    for parallel in _layouts(model, fleet):
        text_only = bool(model.shape.towers) and not traffic.images_per_request
        settings = with_kernels(engine, fleet, Settings(parallel=parallel, context_tokens=context, language_only=text_only))
        weights = sum(weights_on(model, settings).values())
        if weights >= fleet.gpu.memory_bytes:
            last = Reason(code="weights-do-not-fit", text=msg("{weights:gib} of weights a GPU of {memory:gib}", weights=weights, memory=fleet.gpu.memory_bytes))
            continue
        fatal = next((cut for cut in divisibility(model.shape, model.checkpoint, parallel.tp, parallel.ep) if cut.fatal), None)
        if fatal is not None:
            last = Reason(code="does-not-divide", text=fatal.text)
            continue
        sized = size_on(engine, model, fleet, settings, context)
        if not sized.fits:
            last = unfit(sized)
            if last.code not in CAPACITY and last.code != "does-not-fit":
                return last
            continue
        served = _priced(engine, model, fleet, traffic, work, sized)
        if best is None or served.room > best.room:
            best = served
        if served.room >= (traffic.concurrency or 1):
            break
    return best or last or Reason(code="no-layout", text=msg("no layout of this model divides over these GPUs"))


def unfit(sized: Sized) -> Reason:
    """Why a sized layout does not serve one request: the engine's refusal, or the arithmetic of memory."""
    refusals = (*sized.resolved.refusals, *sized.capacity.refusals)
    if refusals and refusals[0].code not in CAPACITY:
        return Reason(code=refusals[0].code, text=refusals[0].why, source=refusals[0].source)
    text = msg(
        "{weights:gib} of weights leave {pool:gib} a GPU for the cache, and one request of {context:n} tokens needs {request:gib}",
        weights=sized.memory.weights_bytes,
        pool=max(sized.memory.kv_pool_bytes, 0),
        context=sized.capacity.context_tokens,
        request=sized.capacity.request_bytes,
    )
    return Reason(code="does-not-fit", text=text)


def _layouts(model: Model, fleet: Fleet) -> Iterator[Parallel]:
    """Tensor parallelism inside a node, fewest GPUs first; stages over nodes where one is not enough; then data-parallel attention where shards would hold copies."""
    node = fleet.per_node
    experts = any(f.kind == "moe" for layer in model.shape.layers for f in layer.ffns)
    for tp in (n for n in range(1, node + 1) if node % n == 0):
        if held_bytes(model.need) / tp < fleet.gpu.memory_bytes * 1.5:
            yield Parallel(tp=tp, ep=tp if experts and tp > 1 else 1, replicas=fleet.count // tp)
    for pp in (n for n in range(2, fleet.nodes + 1) if fleet.nodes % n == 0):
        yield Parallel(tp=node, pp=pp, ep=node if experts else 1, replicas=fleet.nodes // pp)
    if experts and node > 1 and replicated_cache(model.shape, node):
        yield Parallel(tp=1, dp=node, ep=node, replicas=fleet.count // node)


def _priced(engine: Engine, model: Model, fleet: Fleet, traffic: Traffic, work: ModelWork, sized: Sized) -> Served:
    parallel = sized.settings.parallel
    given = service.Conditions(
        engine=engine.name,
        room=service.room(sized, traffic),
        kv_itemsize=sized.resolved.kv_itemsize,
        token_budget=sized.resolved.token_budget,
        vision=vision(model.shape),
    )
    estimate = service.estimate(work, fleet.gpu, parallel, traffic, load_performance(), given)
    candidate = Candidate(
        engine=engine.name,
        version=engine.version,
        checkpoint=model.files.id,
        parallel=parallel,
        settings=msgspec.structs.replace(sized.settings),
        fits=True,
        sized=sized,
        estimate=estimate,
        cost_per_million_tokens=cost(fleet, estimate),
    )
    pool = float(sized.memory.kv_pool_bytes) * parallel.gpus * parallel.replicas
    return Served(engine=engine, candidate=candidate, sized=sized, room=given.room * parallel.replicas, pool_bytes=pool)
