"""Which models a piece of hardware and a workload leave: reasons from shapes, gates and bytes, never from names. Knows no catalogue."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from serveright.analysis.gates import format_need, needs
from serveright.analysis.images import amplification, image_tokens, vision
from serveright.analysis.roofline import distinct_share
from serveright.analysis.traffic import mean
from serveright.formats.number import FP8_CHANNEL, MXFP4, MXFP8, NVFP4, integer, plain
from serveright.types.cache import LogicalCache
from serveright.types.choosing import StepReason
from serveright.types.design import Estimate
from serveright.types.hardware import Gpu
from serveright.types.model import Attention, Checkpoint, FormatRule, Indexer, Latent, ModelShape, NumberFormat, Part, Recurrent
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

T = TypeVar("T")
NEVER_QUANTISED: tuple[Part, ...] = ("head", "router", "vision", "audio", "mtp", "embed")
"""What the publishers of quantised checkpoints leave alone (llm-compressor, ModelOpt and AutoAWQ defaults)."""
PUBLISHED: dict[str, NumberFormat] = {
    "fp8": FP8_CHANNEL,
    "nvfp4": NVFP4,
    "fp4": NVFP4,
    "mxfp4": MXFP4,
    "mxfp8": MXFP8,
    "awq": integer(4, 128, zero=True),
    "gptq": integer(4, 128, zero=False),
    "int4": integer(4, 128, zero=False),
    "w4a16": integer(4, 128, zero=False),
    "int8": integer(8, 0, zero=False, activation_bits=8),
    "w8a8": integer(8, 0, zero=False, activation_bits=8),
}
"""Number formats by the word a list of checkpoints uses."""
LARGE_CACHE, SMALL_CACHE = 0.5, 0.1
"""Shares of the KV pool from which the cache decides, or does not matter."""


def assumed_checkpoint(precision: str, dtype: str) -> Checkpoint | None:
    """A published checkpoint of which only the precision is known: that format on every linear layer but `NEVER_QUANTISED`. None for an unknown word."""
    if precision == "bf16":
        return Checkpoint(method="none", format=plain(dtype).name, dtype=dtype)
    form = PUBLISHED.get(precision)
    if form is None:
        return None
    rule = FormatRule(patterns=(), format=form, target="linear", skip_parts=NEVER_QUANTISED)
    return Checkpoint(method=precision, format=form.name, dtype=dtype, rules=(rule,))


def computed_in(gpu: Gpu, form: NumberFormat) -> str | None:
    """The arithmetic (a key of `Gpu.flops`) this GPU multiplies the format with; FP4 weights with 16-bit activations run as FP4 x FP8 where FP4 exists."""
    bits = 8 if form.bits < 8 and form.activation_bits == 16 and "fp" in form.name and gpu.flops.get("fp4") else form.activation_bits
    narrow = {4: ("fp4", "fp8"), 8: ("int8",) if form.name.startswith("int") else ("fp8",)}.get(bits, ())
    return next((word for word in (*narrow, "bf16", "fp16") if gpu.flops.get(word)), None)


def main_format(checkpoint: Checkpoint) -> NumberFormat:
    """The format of the bulk of the weights: the narrowest any rule names, else the model's own type."""
    forms = [rule.format for rule in checkpoint.rules if rule.format is not None]
    return min(forms, key=lambda form: form.bits, default=plain(checkpoint.dtype))


WIDTH = {"fp4": 4, "fp8": 8, "int8": 8, "bf16": 16, "fp16": 16}


def unpacked(gpu: Gpu, form: NumberFormat) -> bool:
    """Whether the weights are stored narrower than anything this GPU multiplies them in: memory is saved, arithmetic is not."""
    word = computed_in(gpu, form)
    return form.bits < 16 and (word is None or WIDTH[word] > 8 or (WIDTH[word] == 8 and form.activation_bits == 4))


def preference(gpu: Gpu, form: NumberFormat) -> tuple[float, ...]:
    """Sort key of checkpoints, smaller is tried first: the narrowest the GPU multiplies itself; formats it only unpacks are for when nothing else fits, wide ones first."""
    off = unpacked(gpu, form)
    return (float(off), -form.bits if off else form.bits, float(form.name.startswith("int")))


def format_reasons(gpu: Gpu, form: NumberFormat) -> Iterator[StepReason]:
    """What the checkpoint's format makes of the card."""
    word = computed_in(gpu, form)
    narrowest = next((name for name in ("fp4", "fp8") if gpu.flops.get(name)), None)
    if word is None:
        return
    if unpacked(gpu, form):
        text = msg(
            "{format} weights are unpacked and multiplied as {word} here: that saves memory, not arithmetic",
            format=form.name,
            word=word if WIDTH[word] > 8 else "bf16",
        )
        yield StepReason(step="hardware", code="format-unpacked", text=text)
    elif word == "fp4":
        text = msg("a {format} checkpoint exists, and this GPU multiplies FP4 at {rate:.1f} PFLOP/s", format=form.name, rate=gpu.flops[word] / 1e15)
        yield StepReason(step="hardware", code="format-native-fp4", text=text)
    elif narrowest is not None and WIDTH[word] > WIDTH[narrowest]:
        text = msg(
            "no {fastest} checkpoint is known: multiplied as {word} the card gives {rate:.1f} of its {best:.1f} PFLOP/s",
            fastest=narrowest.upper(),
            word=word,
            rate=gpu.flops[word] / 1e15,
            best=gpu.flops[narrowest] / 1e15,
        )
        yield StepReason(step="hardware", code="format-wastes-card", text=text)


def asked_of_gates(shape: ModelShape, checkpoint: Checkpoint) -> frozenset[str]:
    """The gate words of layers and of every format a rule names: `gates.needs` without asking each tensor."""
    bare = msgspec.structs.replace(shape, weights=())
    formats = {format_need(rule.format) for rule in checkpoint.rules if rule.format is not None}
    return needs(bare, checkpoint) | formats | {format_need(plain(checkpoint.dtype))}


def least_bytes(elements: int, form: NumberFormat) -> float:
    """Bytes that the weights need at the very least: every element at the format's width, float32 as the 16 bits it is loaded in."""
    return elements * min(form.bits, 16) / 8


def context_reason(shape: ModelShape, needed: int) -> StepReason | None:
    """Against a model that cannot read requests of this length."""
    if shape.max_context_tokens is None or shape.max_context_tokens >= needed:
        return None
    text = msg("requests of {needed:n} tokens are asked for, the model reads {longest:n}", needed=needed, longest=shape.max_context_tokens)
    return StepReason(step="workload", code="context-too-short", text=text, against=True)


def target_reasons(estimate: Estimate, traffic: Traffic) -> Iterator[StepReason]:
    """Against a model that misses a target even at the good end of the 80 % range; a note where only the middle misses."""
    for name, field, target in (("TTFT", "ttft_median_s", traffic.ttft_target_s), ("TPOT", "tpot_s", traffic.tpot_target_s)):
        if target is None:
            continue
        value = {"ttft_median_s": estimate.ttft_median_s, "tpot_s": estimate.tpot_s}[field]
        low, high = estimate.range.get(field, (value, value))
        if value <= target:
            continue
        text = msg("{name} of {value:s} ({low:s} to {high:s}) against a target of {target:s}", name=name, value=value, low=low, high=high, target=target)
        yield StepReason(step="workload", code=f"misses-{name.lower()}", text=text, against=low > target)


def indexer_of(shape: ModelShape) -> Indexer | None:
    """The indexer of the first sparse layer, None where nothing is picked."""
    mixers = (m for layer in shape.layers for m in layer.mixers if isinstance(m, (Attention, Latent)))
    return next((m.indexer for m in mixers if m.indexer is not None), None)


def recurrent_layers(shape: ModelShape) -> int:
    """Layers that hold a state of fixed size."""
    return sum(any(isinstance(m, Recurrent) for m in layer.mixers) for layer in shape.layers)


def growing_layers(shape: ModelShape) -> int:
    """Layers whose cache grows with every token."""
    return sum(any(_grows(m) for m in layer.mixers) and layer.cache_from is None for layer in shape.layers)


def _grows(mixer: object) -> bool:
    if isinstance(mixer, Attention):
        return not (mixer.window_tokens or mixer.chunk_tokens)
    return isinstance(mixer, Latent) and mixer.kind != "sliding_mla"


def cache_reasons(shape: ModelShape, cache: LogicalCache, pool_bytes: float, traffic: Traffic) -> Iterator[StepReason]:
    """What this traffic makes of this model's cache. `cache`: one request of mean length; `pool_bytes`: room for caches over all GPUs."""
    users = traffic.concurrency or 1
    share = cache.bytes * users / pool_bytes if pool_bytes > 0 else 1.0
    if recurrent := recurrent_layers(shape):
        text = msg(
            "{recurrent} of {layers} layers keep a fixed state ({state:gib} a request) instead of rows: a request of {n:n} tokens takes {bytes:gib}",
            recurrent=recurrent,
            layers=len(shape.layers),
            state=cache.state_bytes,
            n=cache.context_tokens,
            bytes=cache.bytes,
        )
        yield StepReason(step="workload", code="cache-fixed-state", text=text)
    indexer = indexer_of(shape)
    if indexer is not None and cache.context_tokens > indexer.topk * indexer.compress_ratio:
        text = msg("an indexer picks {topk:n} of {n:n} tokens for each new one to read", topk=indexer.topk, n=cache.context_tokens)
        yield StepReason(step="workload", code="cache-read-in-part", text=text)
    if share < SMALL_CACHE:
        text = msg("the caches of {users} requests fill {share:pct} of the pool: nothing would be gained by a smaller cache", users=users, share=share)
        yield StepReason(step="workload", code="cache-does-not-matter", text=text)
    elif share > LARGE_CACHE:
        text = msg("the caches of {users} requests fill {share:pct} of the pool: cache decides here", users=users, share=share)
        yield StepReason(step="workload", code="cache-decides", text=text)


def expert_reasons(shape: ModelShape, traffic: Traffic, spread: float) -> Iterator[StepReason]:
    """How many of its experts a step of this batch reads: a few at batch 1, nearly all at hundreds."""
    moe = next((f for layer in shape.layers for f in layer.ffns if f.kind == "moe" and f.experts), None)
    if moe is None:
        return
    users = traffic.concurrency or 1
    share = distinct_share(moe.experts_per_token / (moe.experts + moe.zero_experts), users, spread)
    if users == 1:
        text = msg(
            "one user's step reads {k} of {n} experts: fewer bytes a token than a dense model of this size, whatever is said about MoE and small batches",
            k=moe.experts_per_token,
            n=moe.experts,
        )
        yield StepReason(step="workload", code="experts-few-read", text=text)
    elif share > 0.8:
        text = msg(
            "{users} requests touch {share:pct} of the {n} experts in a step: their weights are read almost whole", users=users, share=share, n=moe.experts
        )
        yield StepReason(step="workload", code="experts-all-read", text=text)


def image_reasons(shape: ModelShape, traffic: Traffic, tower_bytes: int) -> Iterator[StepReason]:
    """Against a model without eyes; else what images cost it."""
    if not traffic.images_per_request:
        return
    if "image" not in shape.modalities:
        text = msg("requests bring {n} images, and this model takes in {modalities}", n=traffic.images_per_request, modalities=", ".join(shape.modalities))
        yield StepReason(step="workload", code="takes-no-images", text=text, against=True)
        return
    tower = vision(shape)
    if tower is None or tower.image is None:
        yield StepReason(step="workload", code="image-size-unknown", text=msg("how many tokens an image becomes is not in the files at hand"))
        return
    per_image = image_tokens(tower.image, *traffic.image_pixels)
    grown = amplification(round(mean(traffic.input_tokens)), traffic.images_per_request, per_image)
    text = msg(
        "an image of {w} x {h} becomes {tokens:n} tokens in the text stream, so prefill grows {factor:.1f} times; the tower takes {bytes:gib}",
        w=traffic.image_pixels[0],
        h=traffic.image_pixels[1],
        tokens=per_image,
        factor=grown.factor,
        bytes=tower_bytes,
    )
    yield StepReason(step="workload", code="images-cost", text=text)


def tiers(items: Sequence[T], size: Callable[[T], float], speed: Callable[[T], float]) -> list[list[T]]:
    """Layers of the frontier: in the first no item has another that is at least as good in both and better in one; then the same without them."""
    left = sorted(items, key=lambda item: (-speed(item), -size(item)))
    out: list[list[T]] = []
    while left:
        front: list[T] = []
        rest: list[T] = []
        largest = float("-inf")
        for item in left:
            if not front or size(item) > largest:
                front.append(item)
                largest = size(item)
            else:
                rest.append(item)
        out.append(front)
        left = rest
    return out


def worded(reason: Msg, name: str) -> Msg:
    """A reason that holds on one engine only."""
    return msg("{engine}: {why}", engine=name, why=reason)
