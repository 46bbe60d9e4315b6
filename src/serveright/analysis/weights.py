"""Parameters and bytes by part, and what of them one GPU holds under a layout. Knows no engine: where engines differ, the caller says over how many ranks a part is cut."""

from collections.abc import Mapping
from fractions import Fraction

from msgspec.structs import replace

from serveright.formats.resolve import resolver
from serveright.types.engine import Parallel
from serveright.types.model import Checkpoint, Ffn, ModelShape, NumberFormat, Part, Weight
from serveright.types.weights import WeightGroup, WeightNeed

VOCAB_PADDING = 64
"""Both engines pad the vocabulary to a multiple of 64 before they cut it."""
TOWERS: tuple[Part, ...] = ("vision", "audio")
ACTIVE_EXCLUDES = ("input embedding", "norms", "vision", "audio", "MTP", "lookup tables")


def tensor_bytes(weight: Weight, form: NumberFormat) -> int:
    """Stored bytes of all copies of a tensor, scales and zero points included; each copy is rounded up to a byte.

    A scale per tile, per group along the input, per output channel (`group` -1), or one per tensor.
    """
    out, into = weight.shape[0], 1
    for side in weight.shape[1:]:
        into *= side
    bits = out * into * Fraction(form.bits) + form.global_scale_bits
    if form.block is not None:
        bits += -(-out // form.block[0]) * -(-into // form.block[1]) * form.scale_bits
    elif form.group > 0:
        bits += out * -(-into // form.group) * (form.scale_bits + form.zero_bits)
    elif form.group < 0:
        bits += out * (form.scale_bits + form.zero_bits)
    else:
        bits += form.scale_bits
    return weight.copies * -(-bits.numerator // (8 * bits.denominator))


def weight_need(shape: ModelShape, checkpoint: Checkpoint) -> WeightNeed:
    """Elements and bytes of every part. The checkpoint's own total wins over the computed one, and settles sizes where its format is unknown."""
    resolve = resolver(checkpoint)
    layers = max((weight.layer + 1 for weight in shape.weights if weight.layer is not None), default=0)
    experts = [next((ffn for ffn in layer.ffns if ffn.kind == "moe"), None) for layer in shape.layers]
    found: dict[tuple[object, ...], _Sum] = {}
    alike: dict[tuple[object, ...], _Alike] = {}
    active = Fraction(0)
    for weight in shape.weights:
        form, layer = resolve(weight), weight.layer
        routed = experts[layer] if weight.part == "experts" and layer is not None and layer < len(experts) else None
        kind = (weight.part, weight.shard, weight.units, weight.shape, weight.copies, weight.linear, weight.mtp, layer is None, form, routed)
        one = alike.get(kind)
        if one is None:
            units = weight.shape[0] if weight.shard == "vocab" else weight.units
            key = (weight.part, weight.shard, units, form.name, weight.mtp, layer is None)
            total = found.setdefault(key, _Sum(weight, units, form.name, layers))
            one = alike[kind] = _Alike(total, weight.elements, tensor_bytes(weight, form), _active(shape, weight, routed))
        one.count += 1
        if layer is not None:
            one.total.by_layer[layer] += one.bytes
    for one in alike.values():
        one.total.elements += one.elements * one.count
        one.total.bytes += one.bytes * one.count
        active += one.active * one.count
    groups = tuple(total.group() for total in found.values())
    computed = sum(group.bytes for group in groups)
    return WeightNeed(
        groups=groups,
        total_elements=sum(group.elements for group in groups),
        active_elements=round(active),
        active_excludes=ACTIVE_EXCLUDES,
        total_bytes=checkpoint.file_bytes or computed,
        from_index=checkpoint.file_bytes is not None,
    )


class _Alike:
    """Tensors that differ in path and layer alone: a model has few kinds of them and hundreds of each."""

    def __init__(self, total: "_Sum", elements: int, size: int, active: Fraction) -> None:
        self.total, self.elements, self.bytes, self.active, self.count = total, elements, size, active, 0


class _Sum:
    """A group in the making."""

    def __init__(self, first: Weight, units: int | None, form: str, layers: int) -> None:
        self.first, self.units, self.form = first, units, form
        self.elements = self.bytes = 0
        self.by_layer = [0] * (layers if first.layer is not None else 0)

    def group(self) -> WeightGroup:
        return WeightGroup(
            part=self.first.part,
            shard=self.first.shard,
            units=self.units,
            format=self.form,
            elements=self.elements,
            bytes=self.bytes,
            mtp=self.first.mtp,
            layer_bytes=tuple(self.by_layer),
        )


def _active(shape: ModelShape, weight: Weight, moe: Ffn | None) -> Fraction:
    """Elements one token multiplies with. A tied input table counts, as the head it also is; zero experts take their share of the picks on average."""
    head_too = shape.tied_embeddings and weight.part == "embed" and weight.shape[-1] == shape.hidden
    table = weight.part in ("embed", "ngram") and not weight.linear and not head_too
    if weight.mtp or table or weight.part in ("norm", "mtp", *TOWERS):
        return Fraction(0)
    if moe is None or moe.experts not in (weight.copies, weight.shape[0]):
        return Fraction(weight.elements)
    return Fraction(weight.elements * moe.experts_per_token, moe.experts + moe.zero_experts)


def per_gpu_bytes(
    need: WeightNeed,
    parallel: Parallel,
    *,
    with_mtp: bool = False,
    language_only: bool = False,
    ranks: Mapping[Part, int] | None = None,
    redundant_experts: int = 0,
    narrowed: bool = True,
) -> dict[Part, int]:
    """Bytes by part on the fullest GPU (of the fullest pipeline stage); `narrowed`: float32 tensors are loaded in 16 bits, as both engines do unless --dtype says otherwise.

    Every part is cut over `parallel.tp` ranks by its shard rule, routed experts over all tp x dp ranks of a stage; `ranks` overrides this by part
    (1 = replicated), which is where engines differ: data-parallel towers, dense layers cut across data-parallel ranks. Heads, experts and vocabulary rows
    stay whole, so the fullest rank counts.
    """
    groups = [group for group in need.groups if (with_mtp or not group.mtp) and not (language_only and group.part in TOWERS)]
    scale = Fraction(need.total_bytes, max(1, sum(group.bytes for group in need.groups))) if need.from_index else Fraction(1)
    groups = [_in_16_bits(group) if narrowed and group.format == "fp32" else group for group in groups]
    shares = [_share(group, parallel, (ranks or {}).get(group.part), redundant_experts) for group in groups]
    body = max((index + 1 for group in groups if not group.mtp for index, size in enumerate(group.layer_bytes) if size), default=0)
    stages = [_stage(groups, shares, first, last, body) for first, last in stage_layers(body, parallel.pp)]
    fullest = max(stages, key=lambda stage: sum(stage.values()), default=dict[Part, Fraction]())
    return {part: -(-(size * scale).numerator // (size * scale).denominator) for part, size in fullest.items() if size}


def held_bytes(need: WeightNeed) -> int:
    """All weights as engines hold them: float32 in 16 bits."""
    return need.total_bytes - sum(group.bytes for group in need.groups if group.format == "fp32") // 2


def _in_16_bits(group: WeightGroup) -> WeightGroup:
    return replace(group, format="bf16", bytes=group.bytes // 2, layer_bytes=tuple(size // 2 for size in group.layer_bytes))


def _share(group: WeightGroup, parallel: Parallel, override: int | None, redundant: int) -> Fraction:
    """The part of a group's bytes that the fullest rank of a stage holds."""
    ranks = override or parallel.tp
    units = group.units or 0
    match group.shard:
        case "replicated":
            return Fraction(1)
        case "experts":
            everywhere = override or parallel.tp * parallel.dp
            apart = min(parallel.ep, everywhere)
            whole = Fraction(-(-(units + redundant) // apart), units) if units else Fraction(1, apart)
            return whole / (everywhere // apart)
        case "vocab":
            padded = -(-units // VOCAB_PADDING) * VOCAB_PADDING
            return Fraction(-(-padded // ranks), units) if units and ranks > 1 else Fraction(max(padded, 1), max(units, 1))
        case "q_heads" | "kv_heads":
            return Fraction(-(-units // ranks), units) if units else Fraction(1, ranks)
        case "column" | "row":
            return Fraction(1, ranks)


def stage_layers(layers: int, stages: int) -> list[tuple[int, int]]:
    """First and one past the last layer of each pipeline stage: even, what is left over goes to the stages before the last (vLLM 0.33.0 `get_pp_indices`)."""
    counts = [layers // stages] * stages
    for stage in range(2, layers % stages + 2):
        counts[-stage] += 1
    return [(sum(counts[:stage]), sum(counts[: stage + 1])) for stage in range(stages)]


def _stage(groups: list[WeightGroup], shares: list[Fraction], first: int, last: int, body: int) -> dict[Part, Fraction]:
    """Bytes by part of the stage that holds layers `first` to `last`: the first also has the input table and towers, the last the head and prediction layers."""
    leads, ends = first == 0, last >= body
    tied = not any(group.part == "head" for group in groups)
    found: dict[Part, Fraction] = {}
    for group, share in zip(groups, shares, strict=True):
        if group.layer_bytes and not group.mtp:
            size = sum(group.layer_bytes[first:last])
        elif group.mtp or group.part in ("head", "norm", "residual"):
            size = group.bytes if ends else 0
        else:
            size = group.bytes if leads or (tied and ends and group.part == "embed") else 0
        found[group.part] = found.get(group.part, Fraction(0)) + size * share
    return found
