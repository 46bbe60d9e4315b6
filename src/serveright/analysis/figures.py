"""The numbers behind every topic of `explain`, computed for one model on one fleet. One function a topic, named after it; None where the model has no such thing."""

import math
from collections.abc import Callable

from msgspec import Struct

from serveright.analysis import layout, roofline
from serveright.analysis.alignment import alignment
from serveright.analysis.cache import logical_cache
from serveright.analysis.choosing import growing_layers, indexer_of, recurrent_layers
from serveright.analysis.comms import DEFAULT_NETWORK, DEFAULT_PCIE
from serveright.analysis.images import amplification, encoder_flops, image_tokens, vision
from serveright.analysis.rounding import mxfp4, nvfp4
from serveright.analysis.speculation import DEFAULT_ACCEPTANCE, accepted_tokens
from serveright.analysis.weights import per_gpu_bytes
from serveright.analysis.work import ModelWork
from serveright.types.calibration import Calibration
from serveright.types.engine import Parallel, Sized
from serveright.types.hardware import Gpu
from serveright.types.lessons import Figure
from serveright.types.model import Attention, Ffn, Latent, ModelShape, Recurrent
from serveright.types.weights import WeightNeed

LENGTH = 32768
"""Tokens of the example request, shortened to what the model reads."""
LONG, SHORT = 1_048_576, 1024
BOOK_TEXT, BOOK_IMAGES, BOOK_TOKENS = 500, 3, 1500
"""The textbook request with images: 500 words of text, three pictures of 1,500 tokens."""
BOOK_GPUS = 32
BOOK_LAYERS, BOOK_HEADS, BOOK_KV_HEADS, BOOK_DIM = 48, 32, 8, 128
BOOK_MEMORY, BOOK_WEIGHTS = 141 * 10**9, 27 * 10**9
"""The textbook comparison of MHA, GQA and MQA: this geometry with an 8-bit cache, one GPU of 141 GB, 27 GB of weights, nothing else taken off."""
PIXELS = 1024
SAMPLE = (0.11, -0.42, 2.7, 0.05, 1.3, -0.9, 0.33, -2.1, 0.72, 0.0, -0.18, 1.9, 0.6, -1.1, 0.27, -0.04)
"""A block of weights for the worked example."""
HOST_BYTES = 10**12


class Case(Struct, frozen=True, kw_only=True):
    """A model on GPUs, as `api` prepared it. `sized`: per engine, tensor parallelism over all GPUs of a node; missing where it refuses."""

    shape: ModelShape
    need: WeightNeed
    work: ModelWork
    gpu: Gpu
    count: int
    calibration: Calibration
    sized: dict[str, Sized]

    @property
    def tokens(self) -> int:
        """Length of the example request."""
        return min(LENGTH, self.shape.max_context_tokens or LENGTH)

    def split(self, parallel: Parallel | None = None) -> layout.Split:
        """The work of one GPU under tensor parallelism over all of them."""
        return layout.split(self.work, self.gpu, parallel or Parallel(tp=self.count), self.calibration, 2.0)


Figures = dict[str, Figure]


def attention(case: Case) -> Figures | None:
    """MHA, MQA and GQA: bytes a token if every query head, one head, or the config's groups kept rows."""
    layers = [m for layer in case.shape.layers if layer.cache_from is None for m in layer.mixers if isinstance(m, Attention)]
    if not layers:
        return None
    one = layers[0]
    width = 2 * (one.head_dim + one.v_head_dim)
    sizes = {name: len(layers) * heads * width for name, heads in (("mha", one.query_heads), ("gqa", one.kv_heads), ("mqa", 1))}
    room = case.gpu.memory_bytes * case.count * 0.9 - case.need.total_bytes
    users = {f"{name}_users": max(0, math.floor(room / (size * case.tokens))) for name, size in sizes.items()}
    return {
        "layers": len(layers), "query_heads": one.query_heads, "kv_heads": one.kv_heads, "head_dim": one.head_dim, "group": one.query_heads // one.kv_heads,
        **{f"{name}_bytes": size for name, size in sizes.items()}, **users, "saved": one.query_heads / one.kv_heads, "tokens": case.tokens, "request_bytes": sizes["gqa"] * case.tokens,
        **textbook_users(),
    }  # fmt: skip


def textbook_users() -> Figures:
    """Whole requests of `LENGTH` tokens under the textbook's numbers, all in bytes; `book_two_users` is GQA on two GPUs."""
    sizes = {name: BOOK_LAYERS * heads * BOOK_DIM * 2 for name, heads in (("mha", BOOK_HEADS), ("gqa", BOOK_KV_HEADS), ("mqa", 1))}
    users = {f"book_{name}_users": (BOOK_MEMORY - BOOK_WEIGHTS) // (size * LENGTH) for name, size in sizes.items()}
    return {
        "book_layers": BOOK_LAYERS, "book_heads": BOOK_HEADS, "book_kv_heads": BOOK_KV_HEADS, "book_dim": BOOK_DIM, "book_length": LENGTH,
        "book_memory": BOOK_MEMORY, "book_weights": BOOK_WEIGHTS, **{f"book_{name}_bytes": size for name, size in sizes.items()}, **users,
        "book_two_users": (2 * BOOK_MEMORY - BOOK_WEIGHTS) // (sizes["gqa"] * LENGTH),
    }  # fmt: skip


def mla(case: Case) -> Figures | None:
    """What the latent row holds, against three measures, and what tensor parallelism makes of it."""
    latent = next((m for layer in case.shape.layers for m in layer.mixers if isinstance(m, Latent)), None)
    if latent is None:
        return None
    row = latent.kv_lora_rank + latent.rope_dim
    own = latent.query_heads * (latent.nope_dim + latent.rope_dim + latent.v_head_dim)
    cache = logical_cache(case.shape, case.tokens)
    layers = sum(any(isinstance(m, Latent) for m in layer.mixers) for layer in case.shape.layers)
    return {
        "heads": latent.query_heads, "rank": latent.kv_lora_rank, "rope": latent.rope_dim, "row": row, "row_bytes": row * 2, "layers": layers, "own": own,
        "against_heads": own / row, "against_hidden": case.shape.hidden / latent.kv_lora_rank, "against_gqa": 2 * 8 * 128 / row,
        "token_bytes": cache.bytes_per_token, "request_bytes": cache.bytes, "tp_bytes": cache.bytes * case.count, "hidden": case.shape.hidden,
    }  # fmt: skip


def dsa(case: Case) -> Figures | None:
    """The indexer: what is kept, what is scored, what is read, and what sharing picks saves."""
    indexer = indexer_of(case.shape)
    if indexer is None:
        return None
    mixers = [m for layer in case.shape.layers for m in layer.mixers if isinstance(m, (Attention, Latent)) and m.indexer is not None]
    owners = sum(1 for m in mixers if m.indexer is not None and m.indexer.owns_keys)
    context = min(LONG, case.shape.max_context_tokens or LONG)
    score = 2.0 * context * indexer.heads * indexer.dim / indexer.compress_ratio
    rows = sum(r.layers * r.decode_flops * min(r.per_token * context, r.cap) for r in case.work.rows if r.decode_flops and r.cap < context)
    other = 2.0 * case.need.active_elements + rows
    dense_rows = sum(r.layers * r.decode_flops * context * r.per_token for r in case.work.rows if r.cap < context)
    cache = logical_cache(case.shape, context)
    keys = sum(part.bytes for part in cache.parts if part.kind == "index_key")
    return {
        "topk": indexer.topk, "index_heads": indexer.heads, "index_dim": indexer.dim, "layers": len(mixers), "owners": owners, "shared": len(mixers) - owners,
        "key_bytes": indexer.dim * 2, "key_fp8_bytes": indexer.dim + indexer.dim // 128 * 4, "keys_token_bytes": owners * indexer.dim * 2,
        "keys_token_fp8_bytes": owners * (indexer.dim + indexer.dim // 128 * 4), "keys_share": keys / (cache.bytes - keys) if cache.bytes > keys else 0.0,
        "context": context, "read_share": indexer.topk * indexer.compress_ratio / context, "score_flops": score * owners, "other_flops": other,
        "saved": (other + score * len(mixers)) / (other + score * owners), "score_saved": len(mixers) / max(owners, 1),
        "attention_saved": dense_rows / rows if rows else 1.0,
    }  # fmt: skip


def linear_state(case: Case) -> Figures | None:
    """A state of fixed size against rows that grow, and the length at which the state pays."""
    states = recurrent_layers(case.shape)
    if not states:
        return None
    mixer = next(m for layer in case.shape.layers for m in layer.mixers if isinstance(m, Recurrent))
    short, long = logical_cache(case.shape, case.tokens), logical_cache(case.shape, min(LONG // 4, case.shape.max_context_tokens or LONG))
    growing = growing_layers(case.shape)
    per_layer = short.bytes_per_token / growing if growing else 0.0
    everywhere = per_layer * len(case.shape.layers)
    figures: Figures = {
        "states": states, "growing": growing, "layers": len(case.shape.layers), "heads": mixer.state_heads, "shape": " x ".join(map(str, mixer.state_shape)) or "-",
        "state_bytes": short.state_bytes, "token_bytes": short.bytes_per_token, "request_bytes": short.bytes, "long_tokens": long.context_tokens, "long_bytes": long.bytes,
        "twin_token_bytes": everywhere, "twin_long_bytes": everywhere * long.context_tokens, "break_even": math.ceil(short.state_bytes / (everywhere - short.bytes_per_token)) if everywhere > short.bytes_per_token else 0,
        "saved": everywhere * long.context_tokens / long.bytes if everywhere else 0.0,
    }  # fmt: skip
    for name, sized in case.sized.items():
        figures[f"{name}_step"] = alignment(case.shape, sized).block_tokens
    return figures if len(case.sized) == 2 else None


def alignment_pages(case: Case) -> Figures | None:
    """Pages that are filled in part: the 64-token example and this model's own blocks."""
    if "vllm" not in case.sized:
        return None
    sized = case.sized["vllm"]
    block = alignment(case.shape, sized).block_tokens
    page, used = 64, 16
    per_token = sized.layout.padded_bytes_per_token
    return {
        "page": page, "used": used, "wasted": (page - used) / page, "block": block, "quarter": block // 4, "half_bytes": block / 2 * per_token,
        "own_wasted": (block - block // 4) / block, "block_bytes": block * per_token, "token_bytes": per_token,
        "padding": sized.layout.padded_bytes_per_token / sized.layout.stored_bytes_per_token - 1 if sized.layout.stored_bytes_per_token else 0.0,
        "chunk": alignment(case.shape, sized).lmcache_chunk_tokens, "budget": sized.resolved.token_budget,
    }  # fmt: skip


def moe_of(shape: ModelShape) -> Ffn | None:
    """The first layer of experts."""
    return next((f for layer in shape.layers for f in layer.ffns if f.kind == "moe" and f.experts), None)


def moe(case: Case) -> Figures | None:
    """How many experts a batch touches, and what the hottest GPU costs."""
    ffn = moe_of(case.shape)
    if ffn is None:
        return None
    share = ffn.experts_per_token / (ffn.experts + ffn.zero_experts)
    few, many, most = 8, 64, 512
    touched = {f"touched_{n}": roofline.distinct_share(share, n, 1.0) for n in (1, few, many, most)}
    weights = sum(group.bytes for group in case.need.groups if group.part == "experts")
    routed = sum(group.elements for group in case.need.groups if group.part == "experts")
    return {
        "experts": ffn.experts, "picked": ffn.experts_per_token, "shared": ffn.shared_experts, "total": case.need.total_elements, "active": case.need.active_elements,
        "active_share": case.need.active_elements / case.need.total_elements, "expert_share": routed / case.need.total_elements, "expert_bytes": weights,
        "few": few, "many": many, "most": most, **touched, "read_1": weights * touched["touched_1"], "read_64": weights * touched["touched_64"],
        "experts_a_gpu": ffn.experts / case.count, "gpus": case.count,
    }  # fmt: skip


def expert_parallel(case: Case) -> Figures | None:
    """One MoE layer, one token: bytes on the wire under TP and under EP, and the paths of an all-to-all."""
    ffn = moe_of(case.shape)
    if ffn is None or case.count < 2:
        return None
    n, hidden = case.count, case.shape.hidden
    reduce = 2 * (n - 1) / n * hidden * 2
    copies = min(ffn.experts_per_token, n) * (n - 1) / n
    dispatch, combine = copies * hidden, copies * hidden * 2
    weights = sum(group.bytes for group in case.need.groups if group.part == "experts")
    return {
        "gpus": n, "hidden": hidden, "picked": ffn.experts_per_token, "experts": ffn.experts, "vector_bytes": hidden * 2, "reduce_bytes": reduce,
        "dispatch_bytes": dispatch, "combine_bytes": combine, "exchange_bytes": dispatch + combine, "ratio": (dispatch + combine) / reduce,
        "weights_bytes": weights / n, "slice": ffn.intermediate / n, "width": ffn.intermediate, "whole": ffn.experts / n,
        "paths": n * (n - 1), "book_gpus": BOOK_GPUS, "book_paths": BOOK_GPUS * (BOOK_GPUS - 1),
        "one_expert_bytes": 3 * hidden * ffn.intermediate * 2, "token_expert_ratio": 3 * ffn.intermediate,
        "book_whole": ffn.experts / BOOK_GPUS, "book_copies_share": BOOK_GPUS / ffn.experts,
    }  # fmt: skip


def number_formats(case: Case) -> Figures | None:
    """Block scales worked through, and what each format makes of the model's linear layers."""
    linear = sum(group.elements for group in case.need.groups if group.part not in ("embed", "norm", "head"))
    nv, mx = nvfp4(SAMPLE), mxfp4(SAMPLE)
    bits = {"bf16": 16.0, "fp8": 8 + 32 / (128 * 128), "nvfp4": 4 + 8 / 16, "mxfp4": 4 + 8 / 32}
    return {
        "amax": max(map(abs, SAMPLE)), "nv_scale": nv.scale, "mx_scale": mx.scale, "nv_worst": nv.worst, "mx_worst": mx.worst, "nv_mean": nv.mean, "mx_mean": mx.mean, "first": SAMPLE[4],
        "nv_code": nv.codes[4], "nv_value": nv.values[4], "mx_code": mx.codes[4], "mx_value": mx.values[4],
        **{f"{name}_bits": size for name, size in bits.items()}, **{f"{name}_bytes": linear * size / 8 for name, size in bits.items()},
        "nv_group": 16, "mx_group": 32, "fp8_tile": 128, "fp4_max": 6, "linear": linear,
    }  # fmt: skip


def prefill_amplification(case: Case) -> Figures | None:
    """Images as tokens: the textbook request, and this model's own pictures."""
    tower = vision(case.shape)
    if tower is None or tower.image is None:
        return None
    book = amplification(BOOK_TEXT, BOOK_IMAGES, BOOK_TOKENS)
    per_image = image_tokens(tower.image, PIXELS, PIXELS)
    own = amplification(BOOK_TEXT, BOOK_IMAGES, per_image)
    hw, split = case.calibration.hardware, case.split()
    text, whole = roofline.prefill_s(split, hw, BOOK_TEXT), roofline.prefill_s(split, hw, own.total_tokens)
    return {
        "text": BOOK_TEXT, "images": BOOK_IMAGES, "book_tokens": BOOK_TOKENS, "book_total": book.total_tokens, "book_factor": book.factor, "pixels": PIXELS,
        "image_tokens": per_image, "total": own.total_tokens, "factor": own.factor, "text_s": text, "whole_s": whole, "slower": whole / text,
        "encoder_tflop": encoder_flops(tower, PIXELS, PIXELS) / 1e12, "tower_bytes": sum(g.bytes for g in case.need.groups if g.part == "vision"),
    }  # fmt: skip


def speculation(case: Case) -> Figures | None:
    """Tokens a step, and what a step costs more, at one request and at many."""
    hw, split = case.calibration.hardware, case.split()
    rate = case.calibration.speculation.get("acceptance", DEFAULT_ACCEPTANCE)
    figures: Figures = {
        "acceptance": rate,
        **{f"accepted_{k}": accepted_tokens(k, rate) for k in (1, 2, 3)},
        "mtp": case.shape.mtp_layers,
        "many": 16,
        "most": 256,
    }
    for length, name in ((SHORT, "short"), (case.tokens, "long")):
        figures[name] = length
        for batch in (1, 16, 256):
            plain = sum(roofline.decode_parts(split, hw, batch, length).values())
            checked = sum(roofline.decode_parts(split, hw, batch, length, tokens_per_sequence=4).values())
            figures |= {f"{name}_step_{batch}": plain, f"{name}_checked_{batch}": checked, f"{name}_gain_{batch}": accepted_tokens(3, rate) * plain / checked}
    return figures


def chunked_prefill(case: Case) -> Figures | None:
    """A long prompt cut into steps, and how long others wait."""
    if "vllm" not in case.sized:
        return None
    budget = case.sized["vllm"].resolved.token_budget
    hw, split = case.calibration.hardware, case.split()
    whole, chunk = roofline.prefill_s(split, hw, case.tokens), roofline.prefill_s(split, hw, min(budget, case.tokens))
    step = sum(roofline.decode_parts(split, hw, 16, case.tokens).values())
    return {
        "tokens": case.tokens,
        "budget": budget,
        "steps": math.ceil(case.tokens / budget),
        "whole_s": whole,
        "chunk_s": chunk,
        "step_s": step,
        "stall": whole / step,
        "stall_chunk": chunk / step,
    }


def prefill_decode(case: Case) -> Figures | None:
    """Why one phase computes and the other reads."""
    hw, split = case.calibration.hardware, case.split()
    prefill = roofline.prefill_s(split, hw, case.tokens)
    step = sum(roofline.decode_parts(split, hw, 1, case.tokens).values())
    peak = max(case.gpu.flops.get("bf16", 0.0), 1.0)
    read = case.need.total_bytes * min(1.0, case.need.active_elements / case.need.total_elements)
    return {
        "active": case.need.active_elements, "flops": 2 * case.need.active_elements, "tokens": case.tokens, "prefill_s": prefill, "prefill_per_token": prefill / case.tokens,
        "step_s": step, "ratio": step / (prefill / case.tokens), "read_bytes": read, "ridge": peak / case.gpu.bandwidth_bytes_per_s, "gpus": case.count,
        "bandwidth": case.gpu.bandwidth_bytes_per_s / 1e12, "pflops": peak / 1e15,
    }  # fmt: skip


def disaggregation(case: Case) -> Figures | None:
    """Moving a prompt's cache from the GPUs that made it to those that read it."""
    cache = logical_cache(case.shape, case.tokens)
    network = case.gpu.interconnect.network_bytes_per_s or DEFAULT_NETWORK
    prefill = roofline.prefill_s(case.split(), case.calibration.hardware, case.tokens)
    move = cache.bytes / network
    return {
        "tokens": case.tokens,
        "bytes": cache.bytes,
        "network": network / 1e9,
        "move_s": move,
        "prefill_s": prefill,
        "share": move / prefill,
        "links": case.count,
        "move_all_s": move / case.count,
    }


def lmcache_tiers(case: Case) -> Figures | None:
    """Where cached prefixes may lie, and what fetching costs against computing."""
    if "vllm" not in case.sized:
        return None
    sized = case.sized["vllm"]
    numbers, cache = alignment(case.shape, sized), logical_cache(case.shape, case.tokens)
    pcie = (case.gpu.interconnect.pcie_bytes_per_s or DEFAULT_PCIE) * case.count
    again = roofline.prefill_s(case.split(), case.calibration.hardware, case.tokens)
    disk = 5e9
    return {
        "chunk": numbers.lmcache_chunk_tokens, "block": numbers.block_tokens, "tokens": case.tokens, "bytes": cache.bytes, "pool_tokens": sized.capacity.tokens,
        "host_bytes": HOST_BYTES, "host_requests": HOST_BYTES // cache.bytes, "host_s": cache.bytes / pcie, "disk_s": cache.bytes / disk, "disk": disk / 1e9,
        "again_s": again, "host_factor": again * pcie / cache.bytes, "disk_factor": again * disk / cache.bytes,
    }  # fmt: skip


def parallelism(case: Case) -> Figures | None:
    """The same GPUs under four ways of splitting: weights a GPU and copies of the cache."""
    n = case.count
    ffn = moe_of(case.shape)
    ways = {"tp": Parallel(tp=n), "pp": Parallel(pp=n), "ep": Parallel(tp=1, dp=n, ep=n if ffn else 1)}
    whole = sum(per_gpu_bytes(case.need, Parallel()).values())
    figures: Figures = {f"{name}_bytes": sum(per_gpu_bytes(case.need, parallel).values()) for name, parallel in ways.items()}
    heads = min((m.kv_heads for layer in case.shape.layers for m in layer.mixers if isinstance(m, Attention)), default=1)
    reduces = 2 * len(case.shape.layers)
    return {
        **figures,
        "gpus": n,
        "whole_bytes": whole,
        "layers": len(case.shape.layers),
        "reduces": reduces,
        "hops": n - 1,
        "kv_heads": heads,
        "copies": max(1, n // heads),
    }


FIGURES: dict[str, Callable[[Case], Figures | None]] = {
    "prefill-decode": prefill_decode,
    "attention": attention,
    "mla": mla,
    "dsa": dsa,
    "linear-state": linear_state,
    "alignment": alignment_pages,
    "moe": moe,
    "expert-parallelism": expert_parallel,
    "parallelism": parallelism,
    "number-formats": number_formats,
    "prefill-amplification": prefill_amplification,
    "speculation": speculation,
    "chunked-prefill": chunked_prefill,
    "disaggregation": disaggregation,
    "lmcache-tiers": lmcache_tiers,
}
"""Topic -> its figures. A topic without an entry has none but those of the gates."""
