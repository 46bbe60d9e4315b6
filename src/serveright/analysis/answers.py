"""Single questions about traffic, answered by asking the service model twice: drafting, a rate, a longer context, a shared prefix; and by counting: index sharing, expert share."""

from msgspec import Struct, structs

from serveright.analysis import layout
from serveright.analysis import traffic as service
from serveright.analysis.roofline import expert_product_s, prefill_group_s, prefill_rank_s, rows_read
from serveright.analysis.speculation import Speculation
from serveright.analysis.work import ModelWork
from serveright.types.calibration import Calibration
from serveright.types.derivation import Derivation
from serveright.types.design import Estimate
from serveright.types.engine import Parallel
from serveright.types.hardware import Gpu
from serveright.types.model import Attention, Latent, ModelShape
from serveright.types.traffic import Traffic

LOADS = tuple(2**power for power in range(11))
WORTH = 1.05
"""Drafting is worth its memory and code path above this gain."""
MOST_REPLICAS = 1024


class Asked(Struct, frozen=True, kw_only=True):
    """A model on one layout under a traffic: what every question here is about."""

    work: ModelWork
    gpu: Gpu
    parallel: Parallel
    traffic: Traffic
    calibration: Calibration
    given: service.Conditions

    def estimate(self) -> Estimate:
        """The service as asked."""
        return service.estimate(self.work, self.gpu, self.parallel, self.traffic, self.calibration, self.given)

    def derivation(self) -> tuple[Derivation, ...]:
        """How its TTFT and TPOT come about."""
        return service.derivation(self.work, self.gpu, self.parallel, self.traffic, self.calibration, self.given)


def drafting_pays_until(asked: Asked, drafted: Speculation) -> int:
    """The largest power-of-two concurrency at which drafting still makes tokens 5 % faster; 0 when never."""
    best = 0
    for concurrency in LOADS:
        plain = structs.replace(asked, traffic=structs.replace(asked.traffic, concurrency=concurrency, rate_per_s=None))
        fast = structs.replace(plain, given=structs.replace(asked.given, speculation=drafted))
        if plain.estimate().tpot_s > WORTH * fast.estimate().tpot_s:
            best = concurrency
    return best


def replicas_for_rate(asked: Asked, rate_per_s: float) -> int | None:
    """Fewest copies of the layout that serve `rate_per_s` and meet the targets; None when not even `MOST_REPLICAS` do."""
    low, high = 0, 1
    while not _serves(asked, rate_per_s, high):
        low, high = high, high * 2
        if high > MOST_REPLICAS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _serves(asked, rate_per_s, middle) else (middle, high)
    return high


def _serves(asked: Asked, rate_per_s: float, replicas: int) -> bool:
    wished = structs.replace(
        asked, parallel=structs.replace(asked.parallel, replicas=replicas), traffic=structs.replace(asked.traffic, rate_per_s=rate_per_s, concurrency=None)
    )
    got, targets = wished.estimate(), asked.traffic
    late = (targets.tpot_target_s and got.tpot_s > targets.tpot_target_s) or (targets.ttft_target_s and got.ttft_median_s > targets.ttft_target_s)
    return got.requests_per_s >= 0.99 * rate_per_s and not late


def doubled_prompt(asked: Asked) -> tuple[Estimate, Estimate]:
    """(as asked, with prompts twice as long): what doubling the context costs. Halve `given.room` where the cache is what binds."""
    prompt = asked.traffic.input_tokens
    longer = structs.replace(asked.traffic, input_tokens=(2 * prompt[0], 2 * prompt[1]))
    return asked.estimate(), structs.replace(asked, traffic=longer, given=structs.replace(asked.given, room=max(1.0, asked.given.room / 2))).estimate()


def prefix_gain(asked: Asked) -> float:
    """Throughput with the shared prefix cached over throughput without: 1 where nothing is shared."""
    without = structs.replace(asked, traffic=structs.replace(asked.traffic, shared_prefix_tokens=0))
    return asked.estimate().output_tokens_per_s / without.estimate().output_tokens_per_s


class IndexShare(Struct, frozen=True, kw_only=True):
    """Work of the indexers at one length, with and without sharing. `flops_ratio`: FLOPs of one token if every sparse layer scored for itself, over as it is."""

    sparse_layers: int
    scoring_layers: int
    scores: float
    """Keys one token is scored against, all layers."""
    unshared_scores: float
    flops_ratio: float


def index_share(shape: ModelShape, work: ModelWork, tokens: int) -> IndexShare | None:
    """Keys the indexers score at `tokens` of context, and what layers that reuse an earlier layer's picks save; None where nothing is indexed."""
    indexers = [m.indexer for layer in shape.layers for m in layer.mixers if isinstance(m, Attention | Latent) and m.indexer is not None]
    owners = [indexer for indexer in indexers if indexer.owns_keys]
    if not owners:
        return None
    scored = [tokens / indexer.compress_ratio for indexer in indexers]
    keys = sum(tokens / indexer.compress_ratio for indexer in owners)
    extra = sum(2.0 * i.heads * i.dim * n for i, n in zip(indexers, scored, strict=True) if not i.owns_keys)
    flops = token_flops(work, tokens)
    return IndexShare(
        sparse_layers=len(indexers), scoring_layers=len(owners), scores=keys, unshared_scores=sum(scored), flops_ratio=(flops + extra) / flops
    )  # fmt: skip


def token_flops(work: ModelWork, tokens: float) -> float:
    """FLOPs of one decode token of the whole model at `tokens` of context."""
    dense = 2.0 * sum(bundle.elements for bundle in work.bundles)
    experts = 2.0 * sum(block.elements * block.per_token / block.experts for block in work.experts)
    return dense + experts + sum(rows.layers * rows.decode_flops * rows_read(rows.per_token, rows.cap, tokens) for rows in work.rows)


def expert_share(asked: Asked, tokens: float = 8192.0) -> float:
    """Share of a balanced prefill of `tokens` on every attention rank that is expert work: what uneven experts can slow down."""
    split = layout.split(asked.work, asked.gpu, asked.parallel, asked.calibration, asked.given.kv_itemsize, engine=asked.given.engine)
    hardware = asked.calibration.hardware
    whole = tokens * split.dp
    experts = sum(expert_product_s(block, hardware) for block in split.experts) * whole
    return experts / (prefill_rank_s(split, hardware, tokens) + prefill_group_s(split, hardware, whole))
