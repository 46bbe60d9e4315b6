"""Step 2: how big is the cache, how many users fit?"""

import msgspec

from serveright.analysis.accounting import account
from serveright.analysis.cache import logical_cache
from serveright.api.engines import Engine, load_engines
from serveright.api.loading import Model, load_model
from serveright.api.sized import size_on, weights_held
from serveright.api.ways_out import ways_out
from serveright.catalog.gpus import parse_gpu_spec
from serveright.errors import UsageError
from serveright.types.curves import Curves
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.hardware import Fleet
from serveright.types.reports import CapacityReport, GpuCount, KvGroup, KvReport, MemoryReport, PerRank, SizeReport, SizeResult
from serveright.types.source import ModelFiles
from serveright.types.text import msg


def size(
    model: str | ModelFiles,
    gpu: str,
    *,
    gpus: int | None = None,
    nodes: int | None = None,
    engine: str = "both",
    settings: Settings | None = None,
    context_tokens: int | None = None,
    revision: str | None = None,
    curves: bool = False,
) -> SizeReport:
    """Cache, memory and capacity of a model on given GPUs, once per engine; `curves` adds what pictures need.

    `settings.parallel.tp` 0 means: as many as the GPUs allow. Raises UserError.
    """
    loaded = load_model(model, revision)
    fleet = parse_gpu_spec(gpu, gpus, nodes)
    settings = with_parallel(settings or Settings(parallel=Parallel(tp=0)), fleet)
    context = context_of(loaded, context_tokens)
    logical = logical_cache(loaded.shape, context, logical_dtype(loaded, settings))
    engines = load_engines(engine)
    results = tuple(result(e, loaded, size_on(e, loaded, fleet, settings, context)) for e in engines)
    return SizeReport(
        model=loaded.name,
        gpu=GpuCount(key=fleet.gpu.key, count=fleet.count, nodes=fleet.nodes),
        context_tokens=context,
        logical_bytes_per_sequence=logical.bytes,
        logical_parts={f"{part.kind} ({part.mixer})": part.bytes for part in logical.parts},
        unknown_layers=logical.unknown_layers,
        results=results,
        derivation=logical.derivation,
        ways_out=tuple(way for e, r in zip(engines, results, strict=True) if not r.fits for way in ways_out(e, loaded, fleet, settings, context)),
        curves=_curves(engines, loaded, fleet, settings) if curves else None,
    )


def _curves(engines: tuple[Engine, ...], model: Model, fleet: Fleet, settings: Settings) -> Curves:
    from serveright.api.curves import cache_parts, users_lines

    return Curves(cache=cache_parts(model, logical_dtype(model, settings)), users=users_lines(engines, model, fleet, settings))


def context_of(model: Model, asked: int | None) -> int:
    """The asked length, else the model's own longest (what an engine serves when nothing is said). Raises UsageError when neither is known."""
    if asked is not None:
        if asked < 1:
            raise UsageError(msg("--context {n}: a request has at least one token", n=asked))
        return asked
    if not model.shape.max_context_tokens:
        raise UsageError(msg("The config does not say how long a context may be"), msg("Give --context."))
    return model.shape.max_context_tokens


def logical_dtype(model: Model, settings: Settings) -> str:
    """The KV precision the logical figure is told in: the asked one, else the model's own."""
    return settings.kv_dtype if settings.kv_dtype not in (None, "auto") else model.shape.dtype


def with_parallel(settings: Settings, fleet: Fleet) -> Settings:
    """Fill in what was left open (tp 0: all GPUs of a replica; ep 0: one group over tp x dp) and refuse what the GPUs cannot hold."""
    asked = settings.parallel
    rest = asked.pp * asked.dp * asked.replicas
    tp = asked.tp or fleet.count // rest
    if tp < 1 or tp * rest > fleet.count:
        raise UsageError(
            msg("tp x pp x dp x replicas = {need} GPUs, and there are {count}", need=max(tp, 1) * rest, count=fleet.count),
            msg("Lower one of --tp, --pp, --dp, --replicas, or raise --gpus."),
        )
    parallel = msgspec.structs.replace(asked, tp=tp, ep=asked.ep or tp * asked.dp)
    return msgspec.structs.replace(settings, parallel=parallel)


def result(engine: Engine, model: Model, sized: Sized) -> SizeResult:
    """The contract's words for one engine's answer."""
    layout, memory, capacity = sized.layout, sized.memory, sized.capacity
    parallel = sized.settings.parallel
    return SizeResult(
        engine=engine.label,
        parallel=parallel,
        kv=KvReport(
            dtype=sized.resolved.kv_dtype,
            layout=layout.name,
            block_tokens=layout.block_tokens,
            stored_bytes_per_token_per_gpu=layout.stored_bytes_per_token,
            bytes_per_token_per_gpu=layout.padded_bytes_per_token,
            pool_bytes_per_token_per_gpu=layout.pool_bytes_per_token,
            fixed_bytes_per_sequence_per_gpu=layout.fixed_bytes_per_sequence,
            allocated_bytes_per_sequence_per_gpu=capacity.request_bytes,
            groups=tuple(KvGroup(kind=g.kind, layers=g.layers, block_tokens=g.block_tokens, bytes_per_block=g.bytes_per_block) for g in layout.groups),
        ),
        memory=MemoryReport(
            device_bytes=memory.device_bytes,
            budget_bytes=memory.budget_bytes,
            weights_bytes=memory.weights_bytes,
            overhead_bytes=memory.overhead_bytes,
            overhead_range_bytes=memory.overhead_range,
            kv_pool_bytes=memory.kv_pool_bytes,
            kv_pool_range_bytes=memory.kv_pool_range,
            overhead_parts_bytes=memory.overhead_parts,
        ),
        capacity=CapacityReport(
            tokens=capacity.tokens * parallel.replicas,
            max_concurrency=capacity.max_concurrency * parallel.replicas,
            per_rank=PerRank(tokens=capacity.per_rank_tokens, max_concurrency=capacity.per_rank_concurrency),
            state_slots=capacity.state_slots,
            limited_by=capacity.limited_by,
        ),
        engine_log_line=capacity.log_line,
        fits=sized.fits,
        refusals=(*sized.resolved.refusals, *capacity.refusals),
        choices=sized.resolved.choices,
        derivation=(*layout.derivation, *memory.derivation, *capacity.derivation, *account(sized, weights_held(model, sized))),
    )
