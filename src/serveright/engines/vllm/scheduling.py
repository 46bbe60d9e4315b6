"""vLLM's scheduler defaults: token budget, running requests, tokens in flight, graph sizes. Follows `engine/arg_utils.py` and `config/vllm.py`."""

from msgspec import Struct

from serveright.types.engine import Settings
from serveright.types.hardware import Gpu
from serveright.types.model import ModelShape
from serveright.types.vllm import VllmBehaviour

BATCHED_EXPERT_BACKENDS = ("deepep_low_latency", "nixl_ep")
BATCHED_EXPERT_BUDGET = 256
V1_ONLY_METHODS = ("suffix", "custom_class")
POOLING_ENDINGS = (
    "ForTextEncoding",
    "EmbeddingModel",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForAudioClassification",
    "ForImageClassification",
    "ForVideoClassification",
    "ClassificationModel",
    "ForRewardModeling",
    "RewardModel",
    "Gemma3TextModel",
)
"""Class names of models that answer with vectors or scores (config/model.py _SUFFIX_TO_DEFAULTS); a bare `...Model` is served as a decoder where its folder has no pooling file."""


class Schedule(Struct, frozen=True, kw_only=True):
    """Tokens per step, running requests, tokens that may be scheduled but unsettled, and the widest captured graph."""

    token_budget: int
    max_num_seqs: int
    async_scheduling: bool
    in_flight_tokens: int
    max_graph_batch: int


def schedule(shape: ModelShape, gpu: Gpu, behaviour: VllmBehaviour, settings: Settings) -> Schedule:
    """The scheduler's numbers for `vllm serve`."""
    context = settings.context_tokens or shape.max_context_tokens or 0
    tier = next(t for t in behaviour.batch_tiers if t.admits(gpu.memory_bytes, gpu.name, gpu.sm))
    batched_experts = settings.parallel.dp > 1 and settings.all2all_backend in BATCHED_EXPERT_BACKENDS
    budget = settings.token_budget or (BATCHED_EXPERT_BUDGET if batched_experts else tier.token_budget)
    seqs = settings.max_num_seqs or tier.max_num_seqs
    if settings.token_budget is None:
        item = behaviour.prefix_item_tokens.get(shape.architecture, 0)
        budget = max(budget, item) if shape.image_prefix and not settings.language_only else budget
        budget = min(seqs * context, budget) if context else budget
        budget = budget if shape.causal else max(budget, context)  # a prompt that is seen both ways cannot be cut
    if settings.max_num_seqs is None:
        seqs = min(seqs, budget)
    overlapped = _async(shape, behaviour, settings)
    return Schedule(
        token_budget=budget,
        max_num_seqs=seqs,
        async_scheduling=overlapped,
        in_flight_tokens=budget * _batches(behaviour, settings, overlapped) if behaviour.in_flight else budget,
        max_graph_batch=_graphs(shape, gpu, behaviour, settings, seqs),
    )


def pools(shape: ModelShape, settings: Settings) -> bool:
    """The engine serves vectors or scores: `--runner`, else an encoder or a class named so."""
    runner = settings.extra.get("runner", "auto")
    return runner == "pooling" if runner != "auto" else not shape.causal or shape.architecture.endswith(POOLING_ENDINGS)


def _async(shape: ModelShape, behaviour: VllmBehaviour, settings: Settings) -> bool:
    if settings.async_scheduling is not None:
        return settings.async_scheduling
    if not behaviour.async_scheduling or pools(shape, settings):
        return False
    v2 = behaviour.v2_runner and settings.speculative_method not in V1_ONLY_METHODS
    return v2 or not (settings.parallel.pp > 1 or settings.speculative_method in ("ngram", "suffix"))


def _batches(behaviour: VllmBehaviour, settings: Settings, overlapped: bool) -> int:
    """Steps in flight at once: the pipeline's stages, one more with overlapped scheduling."""
    stages = settings.parallel.pp
    if not overlapped:
        return stages
    return stages + 1 if behaviour.v2_runner else max(2, stages) if stages <= 1 else stages


def _graphs(shape: ModelShape, gpu: Gpu, behaviour: VllmBehaviour, settings: Settings, seqs: int) -> int:
    if settings.eager:
        return 0
    if settings.max_graph_batch is not None:
        return settings.max_graph_batch
    own = behaviour.graph_batch_by_architecture.get(shape.architecture)
    if own:
        return own
    ceiling = behaviour.max_graph_batch_sm10 if gpu.capability and gpu.capability[0] == 10 else behaviour.max_graph_batch
    return min(seqs * (1 + settings.speculative_tokens) * 2, ceiling)
