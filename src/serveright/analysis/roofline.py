"""Time of one decode step and of one request's prefill from a `Split` and the fitted factors.

Each part is bytes over bandwidth, FLOPs over rate, or messages, joined by a smooth maximum where two limits compete. Every function takes floats or
numpy arrays alike (`tools/fit` stacks all measured layouts), so only arithmetic and `least` are used, no branches on values.
"""

from serveright.analysis.layout import Split, SplitExperts
from serveright.types.calibration import Hardware


def least(a: float, b: float) -> float:
    """min(a, b) by arithmetic, for floats and arrays."""
    return (a + b - abs(a - b)) / 2


def slower(a: float, b: float) -> float:
    """Smooth maximum (a^4 + b^4)^(1/4): the longer of two times where they differ, 19 % more where they are equal."""
    return (((a * a) ** 2 + (b * b) ** 2) ** 0.5) ** 0.5


def most(a: float, b: float) -> float:
    """max(a, b) by arithmetic, for floats and arrays."""
    return (a + b + abs(a - b)) / 2


def rows_read(per_token: float, cap: float, context: float) -> float:
    """Rows of one sequence of `context` tokens that one decode token reads."""
    whole = least(per_token * context, 1e12)
    return least(whole, least(cap, 1e12))


def pairs(per_token: float, cap: float, tokens: float, before: float = 0.0) -> float:
    """Sum of rows read by `tokens` new tokens after `before` ones: a triangle until `cap` rows are there, then `cap` per token."""
    start, end = before, before + tokens
    full = least(cap / per_token, 1e9)
    head = least(end, full) ** 2 - least(start, full) ** 2
    tail = (end - least(end, full)) - (start - least(start, full))
    return per_token * (head / 2 + full * tail)


def distinct_share(share: float, tokens: float, spread: float) -> float:
    """Share of experts that `tokens` tokens touch when each picks `share` of them: 1 - (1 - k/E)^(tokens^spread). `spread` 1 is uniform routing;
    below, tokens tend to the same experts."""
    return 1 - (1 - least(share, 1 - 1e-9)) ** (tokens**spread)


def decode_parts(
    work: Split, hw: Hardware, batch: float, context: float, imbalance: float = 1.0, tokens_per_sequence: float = 1.0, launch: float = 1.0
) -> dict[str, float]:
    """Seconds by part of one decode step with `batch` sequences per attention rank at `context` tokens each (below one: some ranks idle).

    `tokens_per_sequence` > 1 verifies drafted tokens; `imbalance` is hottest GPU over mean in expert load; `launch` scales fixed costs (`Scheduling.kernels`).
    """
    whole = batch * work.dp
    sequences = most(batch, least(whole, 1)) / work.pp
    sequences = most(sequences, least(whole, 1))
    rank_tokens = sequences * tokens_per_sequence
    tokens = least(rank_tokens * work.dp, whole * tokens_per_sequence)
    compute = hw.dense_compute
    parts = {"dense": slower(work.dense_bytes_s / hw.dense_bandwidth, (work.rank_flop_s * rank_tokens + work.group_flop_s * tokens) / compute)}
    parts["experts"] = sum(
        slower(expert_read_s(block, hw) * distinct_share(block.share, tokens, hw.routing_spread), expert_product_s(block, hw) * tokens * imbalance)
        for block in work.experts
    )
    cache = attention = 0.0
    for rows in work.rows:
        count = rows_read(rows.per_token, rows.cap, context) / work.dcp
        cache = cache + sequences * count * rows.bytes_s
        attention = attention + rank_tokens * count * rows.flop_s
    parts["cache"] = slower((cache + sequences * work.state_s) / hw.cache_bandwidth, attention / hw.attention_compute)
    parts["messages"] = messages(work, hw, rank_tokens)
    parts["kernels"] = kernels(work, hw) * launch
    parts["host"] = hw.step_s + hw.sequence_s * batch * work.dp
    return parts


def expert_read_s(block: SplitExperts, hw: Hardware) -> float:
    """Seconds to read all experts of one GPU."""
    return block.bytes_s / (hw.expert_bandwidth * block.bandwidth)


def expert_product_s(block: SplitExperts, hw: Hardware) -> float:
    """Seconds of one token's expert products on one GPU."""
    return block.flop_s / (hw.expert_compute * block.compute)


def messages(work: Split, hw: Hardware, rank_tokens: float) -> float:
    """All-reduces, expert or rank exchanges and pipeline hops of a step."""
    reduce = work.reduces * work.reduce_latency_s * hw.collective_latency + work.reduce_byte_s * rank_tokens / hw.collective_bandwidth
    exchange = work.exchanges * work.exchange_latency_s * hw.collective_latency + work.exchange_byte_s * rank_tokens / hw.exchange_bandwidth
    return reduce + exchange + work.hop_s


def kernels(work: Split, hw: Hardware) -> float:
    """The floor that no layout removes: small kernels by class, dearer the wider the model, and the fixed part of grouped expert products."""
    count = work.plain_kernels + hw.latent_kernel * work.latent_kernels + hw.recurrent_kernel * work.recurrent_kernels + hw.expert_kernel * work.expert_kernels
    return hw.kernel_s * work.width**hw.kernel_width * count + expert_floor(work, hw)


def expert_floor(work: Split, hw: Hardware) -> float:
    """Fixed part of the grouped expert products of all layers."""
    return hw.expert_floor * sum(block.floor_s for block in work.experts)


def prefill_s(work: Split, hw: Hardware, tokens: float, cached: float = 0.0, imbalance: float = 1.0) -> float:
    """Seconds one rank spends on the prefill of `tokens` new tokens after `cached` ones, fixed costs counted at `prefill_fixed`."""
    return prefill_rank_s(work, hw, tokens, cached) + prefill_group_s(work, hw, tokens, imbalance)


def prefill_group_s(work: Split, hw: Hardware, tokens: float, imbalance: float = 1.0) -> float:
    """The part that occupies all ranks of the deployment: experts, and what else is split over data-parallel ranks."""
    experts = sum(expert_product_s(block, hw) for block in work.experts) * tokens * imbalance
    return work.group_flop_s * tokens / hw.dense_compute + experts


def prefill_rank_s(work: Split, hw: Hardware, tokens: float, cached: float = 0.0) -> float:
    """The part that other data-parallel ranks can do at the same time for their own requests."""
    attention = 0.0
    for rows in work.rows:
        attention = attention + pairs(rows.per_token, rows.cap, tokens, cached) * rows.prefill_flop_s / hw.attention_compute
    weights = work.dense_bytes_s / hw.dense_bandwidth + sum(expert_read_s(block, hw) for block in work.experts)
    fixed = hw.prefill_fixed * (weights + kernels(work, hw))
    return work.rank_flop_s * tokens / hw.dense_compute + attention + messages(work, hw, tokens) + fixed
