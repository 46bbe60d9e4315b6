"""Which ways of splitting this model over these GPUs are worth pricing, and why the others are not."""

from collections.abc import Callable, Iterator
from math import isqrt

from serveright.types.design import Reason
from serveright.types.engine import Parallel
from serveright.types.engine_table import EngineName
from serveright.types.hardware import Fleet, Gpu
from serveright.types.model import Attention, Latent, ModelShape, Recurrent
from serveright.types.text import Msg, msg
from serveright.types.weights import Indivisible
from serveright.units import parse_whole

Cuts = Callable[[int, int], tuple[Indivisible, ...]]
"""(tp, ep) -> what does not divide (`analysis.divisibility` with shape and checkpoint bound)."""
NORMAL_MODE_TOKENS = 256
"""Tokens per rank from which the high-throughput exchange overtakes the low-latency one on a Hopper node (kernel table: DeepEP rows)."""

EXCHANGE_SM = 90


def name(parallel: Parallel) -> str:
    """`4xTP2`, `TP8+EP8`, `DP8+EP8`, `TP8+PP2`: the words people use."""
    words = [f"TP{parallel.tp}"] if parallel.tp > 1 or parallel.dp == 1 else []
    words += [f"{label}{value}" for label, value in (("DP", parallel.dp), ("EP", parallel.ep), ("PP", parallel.pp), ("DCP", parallel.dcp)) if value > 1]
    copies = f"{parallel.replicas}x" if parallel.replicas > 1 else ""
    return copies + "+".join(words)


def layouts(shape: ModelShape, fleet: Fleet, engine: EngineName, cuts: Cuts) -> tuple[list[Parallel], list[tuple[str, Reason]]]:
    """(layouts to size and price, layouts that fell with their reason). Every layout uses all GPUs that its deployments divide into."""
    good: list[Parallel] = []
    bad: list[tuple[str, Reason]] = []
    seen: dict[tuple[int, int], Reason | None] = {}
    for parallel in _candidates(fleet):
        cut = (parallel.tp, parallel.ep)
        if cut not in seen:
            seen[cut] = _uncuttable(cuts(*cut))
        reason = _forbidden(shape, fleet, engine, parallel) or seen[cut]
        if reason is None:
            good.append(parallel)
        else:
            bad.append((name(parallel), reason))
    return good, bad


def _candidates(fleet: Fleet) -> Iterator[Parallel]:
    for gpus in _deployments(fleet):
        replicas = fleet.count // gpus
        stages = gpus // fleet.per_node if gpus > fleet.per_node else 1
        for pp in sorted({1, stages}):
            width = gpus // pp
            for tp in _divisors(width):
                dp = width // tp
                for ep in sorted({1, width}):
                    yield Parallel(tp=tp, dp=dp, pp=pp, ep=ep, replicas=replicas)
                if dp == 1 and pp == 1:
                    for dcp in _divisors(tp)[1:]:
                        yield Parallel(tp=tp, dcp=dcp, replicas=replicas)


def _deployments(fleet: Fleet) -> list[int]:
    inside = [size for size in _divisors(fleet.count) if size <= fleet.per_node and fleet.per_node % size == 0]
    return inside + [size for size in _divisors(fleet.count) if size > fleet.per_node and size % fleet.per_node == 0]


def _divisors(count: int) -> list[int]:
    low = [size for size in range(1, isqrt(count) + 1) if count % size == 0]
    return low + [count // size for size in reversed(low) if size * size != count]


def replicated_cache(shape: ModelShape, tp: int) -> bool:
    """Whether `tp` attention shards would hold copies of the same cache rows: latent attention always, KV heads when there are fewer than shards."""
    mixers = [mixer for layer in shape.layers for mixer in layer.mixers]
    return any(isinstance(mixer, Latent) or (isinstance(mixer, Attention) and mixer.kv_heads < tp) for mixer in mixers)


def _forbidden(shape: ModelShape, fleet: Fleet, engine: EngineName, parallel: Parallel) -> Reason | None:
    experts = any(ffn.kind == "moe" for layer in shape.layers for ffn in layer.ffns)
    if parallel.ep > 1 and not experts:
        return Reason(code="ep-without-experts", text=msg("Expert parallelism needs experts; every feed-forward layer of this model is dense."))
    if parallel.dp > 1:
        if not experts:
            return Reason(code="dp-of-dense", text=msg("Data-parallel ranks of a dense model are replicas: they share nothing."))
        if not replicated_cache(shape, parallel.tp * parallel.dp):
            return Reason(
                code="dp-without-replication",
                text=msg("Plain tensor parallelism already splits this cache over {gpus} GPUs by its KV heads.", gpus=parallel.gpus),
            )
        if parallel.ep == 1 and engine == "vllm" and parallel.tp == 1:
            return Reason(
                code="dp-without-ep",
                text=msg("Data-parallel attention without expert parallelism gathers every token on every rank; with it only to its experts."),
            )
    if parallel.tp > fleet.per_node:
        return Reason(
            code="tp-across-nodes",
            text=msg(
                "{tp} tensor-parallel ranks span nodes of {gpus} GPUs: every layer would wait for the network twice.", tp=parallel.tp, gpus=fleet.per_node
            ),
        )
    if parallel.pp > 1 and parallel.pp > len(shape.layers):
        return Reason(code="pp-above-layers", text=msg("{pp} pipeline stages for {layers} layers", pp=parallel.pp, layers=len(shape.layers)))
    if parallel.dcp > 1:
        return _forbidden_dcp(shape, engine, parallel)
    return None


def _forbidden_dcp(shape: ModelShape, engine: EngineName, parallel: Parallel) -> Reason | None:
    if engine != "vllm":
        return Reason(code="dcp-vllm-only", text=msg("Decode context parallelism is a vLLM layout."))
    mixers = [mixer for layer in shape.layers for mixer in layer.mixers]
    if any(isinstance(mixer, Recurrent) or (isinstance(mixer, Attention | Latent) and mixer.window_tokens) for mixer in mixers):
        return Reason(code="dcp-needs-full-rows", text=msg("Windows and recurrent states cannot be split along the context."))
    heads = max((mixer.kv_heads for mixer in mixers if isinstance(mixer, Attention)), default=1)
    if parallel.tp // parallel.dcp < heads:
        return Reason(
            code="dcp-above-copies",
            text=msg("Only copies of the cache can be split along the context: {tp} shards of {heads} KV heads.", tp=parallel.tp, heads=heads),
        )
    return None


def _uncuttable(problems: tuple[Indivisible, ...]) -> Reason | None:
    fatal = next((problem for problem in problems if problem.fatal), None)
    return None if fatal is None else Reason(code="does-not-divide", text=fatal.text)


def all_to_all(engine: EngineName, gpu: Gpu, parallel: Parallel, rank_tokens: float, phase: str = "both") -> tuple[str, Msg] | None:
    """The exchange backend for an expert-parallel layout with data-parallel attention, and why; None where tokens need no exchange.

    `rank_tokens`: tokens of one rank in a step; `phase` prefill | decode | both.
    """
    if parallel.ep == 1 or parallel.dp == 1:
        return None
    wires = gpu.interconnect
    if gpu.vendor.lower() == "amd" and not (phase == "both" and parallel.gpus <= gpu.gpus_per_node):
        fast = phase == "prefill" or rank_tokens > NORMAL_MODE_TOKENS
        backend = ("mori_high_throughput" if fast else "mori_low_latency") if engine == "vllm" else "mori"
        return backend, msg("MORI is the exchange of AMD GPUs.")
    gathered = "allgather_reducescatter" if engine == "vllm" else "none"
    if wires.bus_bytes_per_s is None:
        return gathered, msg("Over PCIe no exchange kernel beats gathering.")
    if phase == "both" and parallel.gpus <= gpu.gpus_per_node:
        return gathered, msg("Inside one node gathering keeps CUDA graphs and needs no extra library.")
    if gpu.sm is not None and gpu.sm < EXCHANGE_SM:
        return gathered, msg("The exchange kernels need Hopper or newer.")
    if wires.domain_gpus >= parallel.gpus > gpu.gpus_per_node:
        return ("flashinfer_nvlink_one_sided" if engine == "vllm" else "flashinfer"), msg("All {gpus} GPUs share one NVLink domain.", gpus=parallel.gpus)
    if engine == "sglang":
        return "deepep", msg("DeepEP picks its mode by phase: normal for prefill, low latency for decode.")
    if phase == "prefill" or rank_tokens > NORMAL_MODE_TOKENS:
        return "deepep_high_throughput", msg(
            "{tokens:n} tokens per rank: the high-throughput exchange wins above {limit}.", tokens=round(rank_tokens), limit=NORMAL_MODE_TOKENS
        )
    if parallel.gpus <= gpu.gpus_per_node:
        return gathered, msg("Inside one node gathering keeps CUDA graphs and needs no extra library.")
    return "deepep_low_latency", msg("{tokens:n} tokens per rank over several nodes: latency decides.", tokens=round(rank_tokens))


_WORD = {"TP": "tp", "DP": "dp", "EP": "ep", "PP": "pp", "DCP": "dcp"}


def parse(text: str) -> Parallel | None:
    """`name` read backwards (`2xTP4+EP4`, in any case; EP without a number is the whole deployment); None where it is no layout."""
    copies, _, rest = text.strip().upper().rpartition("X")
    if copies and parse_whole(copies) is None:
        return None
    found: dict[str, int] = {}
    for word in rest.split("+"):
        letters = word.rstrip("0123456789")
        if letters not in _WORD or letters in found:
            return None
        number = word[len(letters) :]
        if not number and letters != "EP":
            return None
        found[letters] = parse_whole(number or "0") or 0
    sizes = {_WORD[letters]: value for letters, value in found.items()}
    whole = sizes.get("tp", 1) * sizes.get("dp", 1)
    sizes["ep"] = (sizes.get("ep", 1) or whole) if "ep" in sizes else 1
    parallel = Parallel(replicas=int(copies or 1), **sizes)
    return parallel if min(sizes.values()) > 0 and parallel.replicas > 0 and parallel.ep in (1, whole) else None
