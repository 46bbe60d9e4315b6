"""What vLLM's profile run holds at its peak: buffers shared by layers, the widest moment of the forward pass, images, sampling, and graphs.

Sizes of buffers are the engine's own arithmetic (files named at each); what a kernel keeps alive is a fitted multiple of what its tensors weigh.
"""

from msgspec import Struct

from serveright.engines.vllm.plan import Plan
from serveright.engines.vllm.runner import graphs_counted, request_tables
from serveright.types.engine import Settings
from serveright.types.hardware import Gpu
from serveright.types.model import Attention, Ffn, Latent, Layer, Mixer, ModelShape, Recurrent, Tower
from serveright.types.vllm import VllmMemory

COMPRESSED = ("deepseek_v4", "deepseek_v41")
"""Backend families that score and gather compressed rows."""
OWN_SPARSE = ("minimax_m3", "qsa")
"""Backend families with index buffers of their own, which are not rebuilt here."""
_GATHER_FACTOR = 5
_GATHERED_REQUESTS = 4
"""Requests whose compressed rows are gathered at once (models/deepseek_v4/attention.py PREFILL_CHUNK_SIZE)."""
_LATENT_ROW = 1152
"""Bytes of one 576-wide 16-bit row, by which both buffers of sparse latent models are sized."""
_SCALE_BYTES = 4
_LOGITS_BYTES = 512 * 2**20
_PREFILL_ROWS = 65536
_GRAPH_STEP = 8
_GRAPH_STEP_ABOVE = 16
_GRAPH_FINE = 256


class Items(Struct, frozen=True, kw_only=True):
    """Images the encoder is profiled with: patches of all of them, and the tokens they become."""

    tower: Tower
    patches: int
    tokens: int


def workspace(shape: ModelShape, plan: Plan, settings: Settings) -> int:
    """Bytes of the one buffer that layers share and that stays (v1/worker/workspace.py): the largest any of them asks for.

    Sparse latent models: keys gathered for scoring (`sparse_attn_indexer.py`), rows widened for prefill (`flashmla_sparse.py`, `deepseek_v4/nvidia/flashmla.py`).
    """
    sparse = _sparse(shape, plan)
    if sparse is None or sparse.indexer is None:
        return 0
    longest, key = settings.context_tokens or shape.max_context_tokens or 0, sparse.indexer.dim + _SCALE_BYTES
    ratio, times = sparse.indexer.compress_ratio, plan.schedule
    keys = longest * _GATHER_FACTOR * (_LATENT_ROW // key) // ratio * key
    if _compressed(shape, plan):
        row = 2 * (sparse.kv_lora_rank + sparse.rope_dim)
        return max(keys, _GATHERED_REQUESTS * (-(-longest // ratio) + (sparse.window_tokens or 0) + times.token_budget) * row)
    heads = max(1, sparse.query_heads // settings.parallel.tp)
    rows = longest * _GATHER_FACTOR if plan.site.cache_dtype == "fp8_ds_mla" else 0
    widened = (rows + heads * times.token_budget) * _LATENT_ROW
    return max(keys, widened)


class Load(Struct, frozen=True, kw_only=True):
    """What a start-up handles, counted before anything is fitted. Bytes, but for `logits` and `patches`."""

    device: str
    """Class of the device: discrete | rocm | unified."""
    reach: str | None
    """How ranks reach one another (pcie | node | nodes), None for one GPU."""
    kind: str
    sampler: str
    logits: int
    """Rows sampled at once times the vocabulary."""
    forward: int
    """One token's widest layer times the token budget."""
    reserved: int
    """What latent layers only stand in for."""
    patches: int
    encoding: int
    """One patch's widest layer times the patches."""
    gathered: int
    encoded: int
    tables: int
    workspace: int
    graphs: int
    """Layers times graphs, 0 where their memory is not counted."""
    graph_kind: str
    """sparse (sparse latent models, which launch most kernels), several (ranks that meet in every layer), or single."""


def count(shape: ModelShape, plan: Plan, gpu: Gpu, settings: Settings, device: str, reach: str | None) -> Load:
    """The counts of one start-up."""
    times, images = plan.schedule, profiled_items(shape, plan, settings)
    counted = graphs_counted(gpu, plan.site.behaviour, settings, second=plan.second_runner)
    return Load(
        device=device,
        reach=reach,
        kind=kind(shape),
        sampler=plan.site.behaviour.sampler,
        logits=min(times.max_num_seqs, times.token_budget) * shape.vocab,
        forward=token_bytes(shape, settings) * times.token_budget,
        reserved=_reserved(shape, plan, settings),
        patches=images.patches if images else 0,
        encoding=patch_bytes(images.tower, settings) * images.patches if images else 0,
        gathered=gathered(images, settings) if images else 0,
        encoded=_encoded(shape, plan, images) if images else 0,
        tables=request_tables(shape, times, second=plan.second_runner),
        workspace=workspace(shape, plan, settings),
        graphs=len(shape.layers) * graph_count(plan) if counted else 0,
        graph_kind="sparse" if kind(shape) == "sparse_latent" else "several" if settings.parallel.tp > 1 else "single",
    )


def price(load: Load, calibration: VllmMemory) -> dict[str, int]:
    """Bytes by cause. Activations: the forward pass, the encoder, or sampling, whichever is worst; encoded images stay through all of them."""
    logits = calibration.logit_bytes[load.sampler].value * load.logits
    forward = calibration.forward[load.kind].value * load.forward + load.reserved
    encoding = max(calibration.encoder.value * load.encoding, load.gathered)
    return {
        "context": round(calibration.context[load.device].value),
        "collective": round(calibration.collective[load.reach].value) if load.reach else 0,
        "request_tables": load.tables,
        "workspace": load.workspace,
        "activations": round(max(logits, forward, encoding) + load.encoded),
        "host_images": round(calibration.host_patch.value * load.patches) if load.device == "unified" else 0,
        "graphs": graph_bytes(load.graphs, calibration, load.graph_kind) if load.graphs else 0,
    }


def graph_bytes(captured: int, calibration: VllmMemory, graph_kind: str) -> int:
    """The estimate for `captured` layers of graphs: what the first capture brings, and a share for every layer of every graph."""
    return round(calibration.graphs["first"].value + calibration.graphs[graph_kind].value * captured)


def profiled_items(shape: ModelShape, plan: Plan, settings: Settings) -> Items | None:
    """The images of `profile_run`, None without an encoder in use or where the largest image is not known (multimodal/encoder_budget.py)."""
    if settings.language_only or settings.extra.get("skip-mm-profiling") == "true":
        return None
    tower = next((t for t in shape.towers if t.kind == "vision" and t.image is not None), None)
    if tower is None or tower.image is None:
        return None
    geometry = tower.image
    side = geometry.patch_pixels * geometry.merge
    largest = geometry.max_pixels // side**2 if geometry.max_pixels else geometry.tokens_per_image or plan.site.behaviour.item_tokens.get(shape.architecture)
    if not largest:
        return None
    items = max(1, max(plan.schedule.token_budget, largest) // largest)
    return Items(tower=tower, patches=items * largest * geometry.merge**2, tokens=items * largest)


def patch_bytes(tower: Tower, settings: Settings) -> int:
    """Bytes (16-bit) one patch passes through in a layer of the encoder: residual and projections, and the feed-forward at its widest."""
    ranks = 1 if whole_images(tower, settings) else settings.parallel.tp
    return 2 * (4 * tower.hidden + 2 * tower.intermediate // ranks)


def gathered(images: Items, settings: Settings) -> int:
    """Bytes of every rank's encoded patches, brought together where ranks encode whole images: its own, padded, and all of them
    (models/vision.py run_dp_sharded_mrope_vision_model)."""
    tp = settings.parallel.tp
    return 2 * (tp + 2) * images.patches * images.tower.hidden if tp > 1 and whole_images(images.tower, settings) else 0


def whole_images(tower: Tower, settings: Settings) -> bool:
    """Ranks encode whole images: asked for, or because the encoder's heads cannot be dealt out evenly (models/vision.py is_vit_use_data_parallel)."""
    asked = settings.extra.get("mm-encoder-tp-mode") == "data"
    return asked or (tower.heads > 0 and tower.heads % settings.parallel.tp != 0)


def graph_count(plan: Plan) -> int:
    """Graphs captured: one per batch size in pieces, and one per size that only decodes (config/vllm.py _set_cudagraph_sizes)."""
    each = 1 + plan.site.spec_tokens
    sizes = _sizes(plan.schedule.max_graph_batch)
    decoding = [size for size in sizes if size <= plan.schedule.max_num_seqs * each and size % each == 0]
    return len(sizes) + len(decoding)


def _sizes(largest: int) -> list[int]:
    steps = [1, 2, 4, *range(_GRAPH_STEP, _GRAPH_FINE, _GRAPH_STEP), *range(_GRAPH_FINE, largest + 1, _GRAPH_STEP_ABOVE)]
    return [size for size in steps if size <= largest]


def kind(shape: ModelShape) -> str:
    """The part of a model that sets its activation peak."""
    mixers = [m for layer in shape.layers for m in layer.mixers]
    if any(isinstance(m, Latent) and m.indexer for m in mixers):
        return "sparse_latent"
    if any(isinstance(m, Recurrent) for m in mixers):
        return "hybrid"
    return "moe" if any(f.kind == "moe" for layer in shape.layers for f in layer.ffns) else "dense"


def token_bytes(shape: ModelShape, settings: Settings) -> int:
    """Bytes (16-bit) one token's activations take in the widest layer on one GPU: residual, projections, and the feed-forward at its widest."""
    tp = settings.parallel.tp
    return 2 * max((_layer_width(layer, shape.hidden, tp) for layer in shape.layers), default=shape.hidden)


def _encoded(shape: ModelShape, plan: Plan, images: Items) -> int:
    """Bytes of the encoder's outputs, which stay while the language model is profiled."""
    behaviour = plan.site.behaviour
    tokens = max(images.tokens, behaviour.encoder_cache_tokens.get(shape.architecture, 0))
    return 2 * tokens * shape.hidden * behaviour.encoder_streams.get(shape.architecture, 1)


def _reserved(shape: ModelShape, plan: Plan, settings: Settings) -> int:
    """Bytes that latent layers only stand in for while they are profiled: prefill rows projected up to all heads, and scores of the indexer."""
    latent = next((m for layer in shape.layers for m in layer.mixers if isinstance(m, Latent)), None)
    if latent is None or plan.site.behaviour.model_backends.get(shape.architecture) in OWN_SPARSE:
        return 0
    if _compressed(shape, plan):
        return _LOGITS_BYTES if _sparse(shape, plan) else 0
    longest, seqs = settings.context_tokens or shape.max_context_tokens or 0, plan.schedule.max_num_seqs
    rows = max(min(max(8 * longest, 4 * seqs * plan.block), _PREFILL_ROWS), seqs * plan.block)
    up = rows * max(1, latent.query_heads // settings.parallel.tp) * (latent.nope_dim + latent.v_head_dim) * 2
    return max(up, _LOGITS_BYTES) if _sparse(shape, plan) else up


def _sparse(shape: ModelShape, plan: Plan) -> Latent | None:
    if plan.site.behaviour.model_backends.get(shape.architecture) in OWN_SPARSE:
        return None
    return next((m for layer in shape.layers for m in layer.mixers if isinstance(m, Latent) and m.indexer and m.indexer.owns_keys), None)


def _compressed(shape: ModelShape, plan: Plan) -> bool:
    return plan.site.behaviour.model_backends.get(shape.architecture) in COMPRESSED


def _layer_width(layer: Layer, hidden: int, tp: int) -> int:
    mixing = max((_mixer_width(m) // tp for m in layer.mixers), default=0)
    feeding = sum(_ffn_width(f, hidden, tp) for f in layer.ffns)
    return 2 * hidden + max(mixing, feeding)


def _mixer_width(mixer: Mixer) -> int:
    if isinstance(mixer, Attention):
        return 2 * mixer.query_heads * mixer.head_dim + mixer.kv_heads * (mixer.head_dim + mixer.v_head_dim)
    if isinstance(mixer, Latent):
        return mixer.query_heads * (2 * (mixer.nope_dim + mixer.rope_dim) + 2 * mixer.v_head_dim)
    if isinstance(mixer, Recurrent):
        return 2 * mixer.conv_channels + 2 * mixer.state_heads * max(mixer.value_dim, 1)
    return 0


def _ffn_width(ffn: Ffn, hidden: int, tp: int) -> int:
    halves = 3 if ffn.gated else 2
    if ffn.kind == "dense":
        return halves * ffn.intermediate // tp
    routed = ffn.experts_per_token * (halves * ffn.intermediate // tp + (ffn.latent_dim or hidden))
    return routed + halves * ffn.shared_experts * ffn.shared_intermediate // tp
