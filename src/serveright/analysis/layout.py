"""One model's work split over the GPUs of one layout: seconds at datasheet rates, messages, rows. No efficiency factors yet.

`Split` holds plain numbers so that `analysis.roofline` can price thousands of layouts a second; `tools/fit` puts arrays in the same fields.
"""

from msgspec import Struct

from serveright.analysis import expert_kernels
from serveright.analysis.work import RANK_PARTS, Bundle, Experts, ModelWork
from serveright.types.calibration import Calibration, ExpertKernel
from serveright.types.engine import Parallel
from serveright.types.hardware import Gpu


class SplitExperts(Struct, frozen=True, kw_only=True):
    """`bytes_s`: reading all expert weights of one GPU; `flop_s`: one token's expert products on this GPU's share, both at datasheet speed; `share` = k / E.
    `bandwidth` and `compute` are the shares of that speed and `floor_s` the fixed cost of all its layers that the isolated kernel has."""

    bytes_s: float
    flop_s: float
    share: float
    bandwidth: float
    compute: float
    floor_s: float


class SplitRows(Struct, frozen=True, kw_only=True):
    """`bytes_s`, `flop_s`, `prefill_flop_s` per row (and query token), all its layers, one GPU."""

    bytes_s: float
    flop_s: float
    prefill_flop_s: float
    per_token: float
    cap: float


class Split(Struct, frozen=True, kw_only=True):
    """Per GPU. Times are at full datasheet bandwidth; FLOP times at the rate large GEMMs of that format reach, attention and experts at peak."""

    dense_bytes_s: float
    rank_flop_s: float
    """Per token of one attention rank."""
    group_flop_s: float
    """Per token of the whole deployment."""
    experts: tuple[SplitExperts, ...]
    rows: tuple[SplitRows, ...]
    state_s: float
    width: float
    """Hidden size against 4096."""
    plain_kernels: float
    latent_kernels: float
    recurrent_kernels: float
    expert_kernels: float
    grouped_kernels: float
    reduces: float
    """All-reduces of a step."""
    reduce_latency_s: float
    reduce_byte_s: float
    """Per token: all its all-reduces at bus speed."""
    exchanges: float
    exchange_latency_s: float
    exchange_byte_s: float
    dp: float
    dcp: float
    pp: float
    hop_s: float
    """Passing activations to the next pipeline stage, all stages."""


def split(work: ModelWork, gpu: Gpu, parallel: Parallel, calibration: Calibration, kv_itemsize: float, *, engine: str = "") -> Split:
    """Split over one deployment. Dense FFNs and LM head are split over all ranks by SGLang and TensorRT-LLM, per rank by vLLM; an `engine` nobody
    measured runs the usual expert kernels."""
    hbm = gpu.bandwidth_bytes_per_s
    shared_dense = engine != "vllm"
    width = parallel.tp * parallel.dp
    dense_bytes = rank_flop_s = group_flop_s = 0.0
    for bundle in work.bundles:
        of_rank = bundle.part in RANK_PARTS or not shared_dense
        shards = _shards(bundle, parallel.tp if of_rank else width)
        dense_bytes += bundle.bytes / shards
        flop_s = 2 * bundle.elements / shards / gemm_rate(gpu, bundle.activation_bits, calibration)
        if of_rank:
            rank_flop_s += flop_s
        else:
            group_flop_s += flop_s
    experts = tuple(_experts(block, gpu, width, expert_kernels.kernel(calibration, engine, gpu, block)) for block in work.experts)
    k = work.kernels
    messages = _messages(work, gpu, parallel, calibration, shared_dense=shared_dense)
    return Split(
        dense_bytes_s=dense_bytes / hbm,
        rank_flop_s=rank_flop_s,
        group_flop_s=group_flop_s,
        experts=experts,
        rows=_rows(work, gpu, parallel, kv_itemsize),
        state_s=2 * work.state_bytes / parallel.tp / hbm,
        width=work.hidden / 4096,
        plain_kernels=float(k.plain),
        latent_kernels=float(k.latent),
        recurrent_kernels=float(k.recurrent),
        expert_kernels=float(k.expert),
        grouped_kernels=float(k.grouped),
        dp=float(parallel.dp),
        dcp=float(parallel.dcp),
        pp=float(parallel.pp),
        **messages,
    )


def gemm_rate(gpu: Gpu, activation_bits: int, calibration: Calibration) -> float:
    """FLOP/s large GEMMs reach with activations of this width. A GPU without the format computes in the next wider one it has."""
    name = expert_kernels.arithmetic(gpu, activation_bits)
    return gpu.flops[name] * calibration.gemm.get(name, calibration.gemm["bf16"])


def _experts(block: Experts, gpu: Gpu, width: int, kernel: ExpertKernel) -> SplitExperts:
    flops = 2 * block.elements * block.per_token / block.experts
    return SplitExperts(
        bytes_s=block.bytes / width / gpu.bandwidth_bytes_per_s,
        flop_s=flops / width / gpu.flops[expert_kernels.arithmetic(gpu, kernel.bits)],
        share=block.per_token / block.experts,
        bandwidth=kernel.bandwidth,
        compute=kernel.compute,
        floor_s=block.layers * kernel.floor_s,
    )


def _shards(bundle: Bundle, width: int) -> int:
    if bundle.shard == "replicated":
        return 1
    if bundle.shard == "kv_heads" and bundle.units:
        return min(width, bundle.units)
    return width


def _rows(work: ModelWork, gpu: Gpu, parallel: Parallel, kv_itemsize: float) -> tuple[SplitRows, ...]:
    peak = gpu.flops.get("bf16") or gpu.flops.get("fp16") or max(gpu.flops.values())
    out: list[SplitRows] = []
    for rows in work.rows:
        size = rows.width * (kv_itemsize if rows.itemsize is None else rows.itemsize)
        out.append(
            SplitRows(
                bytes_s=rows.layers * size / min(parallel.tp, rows.heads) / gpu.bandwidth_bytes_per_s,
                flop_s=rows.layers * rows.decode_flops / parallel.tp / peak,
                prefill_flop_s=rows.layers * rows.prefill_flops / parallel.tp / peak,
                per_token=rows.per_token,
                cap=rows.cap,
            )
        )
    return tuple(out)


def _messages(work: ModelWork, gpu: Gpu, parallel: Parallel, calibration: Calibration, *, shared_dense: bool) -> dict[str, float]:
    from serveright.analysis import comms

    vector = 2.0 * work.hidden
    reduce_latency = reduce_byte = reduces = 0.0
    if parallel.tp > 1:
        reduces += work.mixer_layers
        if parallel.dp == 1 or not shared_dense:
            reduces += work.dense_ffn_layers
        if parallel.dp == 1:
            reduces += work.moe_layers
        link = comms.link(gpu, parallel.tp, calibration)
        reduce_latency, reduce_byte = link.latency_s, reduces * vector * 2 * (parallel.tp - 1) / parallel.tp / link.bytes_per_s
    exchanges = exchange_latency = exchange_byte = 0.0
    width = parallel.tp * parallel.dp
    if parallel.dp > 1 and work.moe_layers:
        exchanges = 2.0 * (work.moe_layers + (work.dense_ffn_layers if shared_dense else 0))
        link = comms.link(gpu, width, calibration)
        copies = min(work.per_token, width) if parallel.ep > 1 else width
        exchange_latency, exchange_byte = link.latency_s, exchanges * vector * copies / link.bytes_per_s
    if parallel.dcp > 1:
        link = comms.link(gpu, parallel.dcp, calibration)
        rounds = 2.0 * work.mixer_layers
        row = sum(rows.decode_flops / 2 * rows.layers for rows in work.rows) / parallel.tp
        exchange_byte += 2.0 * row * (parallel.dcp - 1) / parallel.dcp / link.bytes_per_s
        exchanges, exchange_latency = exchanges + rounds, max(exchange_latency, link.latency_s)
    hop = 0.0
    if parallel.pp > 1:
        hop = (parallel.pp - 1) * comms.link(gpu, width * parallel.pp, calibration).latency_s
    return {
        "reduces": reduces,
        "reduce_latency_s": reduce_latency,
        "reduce_byte_s": reduce_byte,
        "exchanges": exchanges,
        "exchange_latency_s": exchange_latency,
        "exchange_byte_s": exchange_byte,
        "hop_s": hop,
    }
