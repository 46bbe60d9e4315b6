"""Prefill and decode on separate GPUs: no request is held up by another's prompt, and each cache crosses the network once.

Closed form: the slower pool sets the rate; a token takes a plain decode step; the first one prefill, waiting for a prefill instance, and the transfer.
"""

from msgspec import Struct

from serveright.analysis import comms, layout, loop
from serveright.analysis.work import ModelWork, Rows
from serveright.types.calibration import Calibration, Scheduling
from serveright.types.engine import Parallel
from serveright.types.hardware import Gpu

TRANSFER_SHARE = 0.7
"""Share of a network card that a cache transfer reaches (assumed)."""
SPLITS = 8
"""About so many splits of the GPUs are tried."""


class Pools(Struct, frozen=True, kw_only=True):
    """Instances of each kind; `parallel` of one instance, `replicas` how many."""

    prefill: Parallel
    decode: Parallel


class Disaggregated(Struct, frozen=True, kw_only=True):
    """`limited_by` prefill | decode names the pool that sets the rate at this concurrency."""

    tpot_s: float
    ttft_s: float
    requests_per_s: float
    output_tokens_per_s_per_gpu: float
    transfer_s: float
    limited_by: str


def disaggregated(
    work: ModelWork, gpu: Gpu, pools: Pools, engine: Scheduling, calibration: Calibration, load: loop.Load, kv_itemsize: float = 2.0
) -> Disaggregated:
    """Service of `load` (its concurrency is the total, its `room` that of one decode instance) on two pools."""
    hw = calibration.hardware
    front = layout.split(work, gpu, pools.prefill, calibration, kv_itemsize)
    back = layout.split(work, gpu, pools.decode, calibration, kv_itemsize)
    rank, group = loop.prefill_cost(front, hw, load, engine.slowdown)
    ceiling = pools.prefill.replicas / (rank / pools.prefill.dp + group)
    transfer = _cache_bytes(work, load.input_tokens + load.cached_tokens, kv_itemsize) / pools.prefill.tp / (network(gpu) * TRANSFER_SHARE)
    running = load.concurrency / pools.decode.replicas
    ttft = rate = tpot = 0.0
    for _ in range(loop.ITERATIONS):
        tpot = loop.decode_step(back, hw, load, max(running, 1.0), engine.slowdown, engine.kernels) / load.accepted
        busy = min(rate / ceiling, loop.FULLEST)
        ttft = engine.request_s + rank + group + busy / (1 - busy) / 2 / ceiling + transfer
        seats = min(load.concurrency, load.room * pools.decode.replicas)
        rate = min(ceiling, seats / (ttft + load.output_tokens * tpot))
        running = (running + rate * load.output_tokens * tpot / pools.decode.replicas) / 2
    queued = load.concurrency / rate - ttft - load.output_tokens * tpot
    gpus = pools.prefill.gpus * pools.prefill.replicas + pools.decode.gpus * pools.decode.replicas
    return Disaggregated(
        tpot_s=tpot,
        ttft_s=ttft + max(queued, 0.0),
        requests_per_s=rate,
        output_tokens_per_s_per_gpu=rate * load.output_tokens / gpus,
        transfer_s=transfer,
        limited_by="prefill" if rate >= ceiling * 0.999 else "decode",
    )


def network(gpu: Gpu) -> float:
    """Bytes/s of one GPU's way out of its node."""
    return gpu.interconnect.network_bytes_per_s or comms.DEFAULT_NETWORK


def _cache_bytes(work: ModelWork, tokens: float, kv_itemsize: float) -> float:
    """What one request's cache weighs when its prompt is done. Windows keep their last rows; a top-k cap limits reads, not what is stored."""
    stored = 0.0
    for rows in work.rows:
        kept = kept_rows(rows, tokens)
        stored += rows.layers * rows.width * (kv_itemsize if rows.itemsize is None else rows.itemsize) * kept
    return stored + work.state_bytes


def kept_rows(rows: Rows, tokens: float) -> float:
    """Rows of one sequence that stay stored."""
    return min(rows.per_token * tokens, rows.cap) if rows.window else rows.per_token * tokens


def best_pools(
    work: ModelWork,
    gpu: Gpu,
    prefill: Parallel,
    decode: Parallel,
    gpus: int,
    engine: Scheduling,
    calibration: Calibration,
    load: loop.Load,
    kv_itemsize: float = 2.0,
) -> tuple[Pools, Disaggregated] | None:
    """The split of `gpus` into instances of the two given shapes with the most throughput; None where not even one of each fits."""
    best: tuple[Pools, Disaggregated] | None = None
    most = (gpus - decode.gpus) // prefill.gpus
    for fronts in range(1, most + 1, max(1, most // SPLITS)):
        backs = (gpus - fronts * prefill.gpus) // decode.gpus
        if not backs:
            break
        pools = Pools(prefill=_copies(prefill, fronts), decode=_copies(decode, backs))
        got = disaggregated(work, gpu, pools, engine, calibration, load, kv_itemsize)
        if best is None or got.requests_per_s > best[1].requests_per_s:
            best = pools, got
    return best


def _copies(parallel: Parallel, count: int) -> Parallel:
    return Parallel(tp=parallel.tp, pp=parallel.pp, dp=parallel.dp, ep=parallel.ep, dcp=parallel.dcp, replicas=count)
