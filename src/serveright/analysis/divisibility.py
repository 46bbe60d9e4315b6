"""What a layout would have to cut unevenly: heads of every layer kind, widths, experts, and the tiles and groups of quantised weights; routed, shared and dense apart."""

from collections.abc import Iterator

from serveright.formats.resolve import resolver
from serveright.types.model import Attention, Checkpoint, Latent, ModelShape, NumberFormat, Part, Recurrent, Weight
from serveright.types.text import msg
from serveright.types.weights import Indivisible

_DOWN = ("down_proj", "w2", "output_linear", "fc2", "dense_4h_to_h")


def divisibility(shape: ModelShape, checkpoint: Checkpoint, tp: int, ep: int = 1, *, expert_ranks: int | None = None) -> tuple[Indivisible, ...]:
    """Every problem of cutting attention, dense and shared weights over `tp` ranks and routed experts over `ep` groups of whole experts.

    `expert_ranks`: ranks that share the routed experts (tp x dp), by default the larger of both.
    """
    across = max(tp, ep, expert_ranks or 1)
    found = [*_heads(shape, tp), *_experts(shape, ep), *_widths(shape, tp, across // ep), *_tiles(shape, checkpoint, tp, across // ep)]
    apart = {(problem.what, problem.part, problem.size, str(problem.text.values)): problem for problem in found}
    return tuple(apart.values())


def _heads(shape: ModelShape, tp: int) -> Iterator[Indivisible]:
    for layer in (*shape.layers, *shape.mtp):
        for mixer in layer.mixers:
            if isinstance(mixer, (Attention, Latent)) and mixer.query_heads % tp:
                yield _uneven("query_heads", "attention", mixer.query_heads, tp, mixer.kind)
            if isinstance(mixer, Attention) and mixer.kv_heads % tp and tp % mixer.kv_heads:
                yield _uneven("kv_heads", "attention", mixer.kv_heads, tp, mixer.kind)
            if isinstance(mixer, Recurrent):
                yield from _recurrent(mixer, tp)


def _recurrent(mixer: Recurrent, tp: int) -> Iterator[Indivisible]:
    if mixer.state_heads and mixer.state_heads % tp:
        yield _uneven("state_heads", "recurrent", mixer.state_heads, tp, mixer.kind)
    # a single group of B and C is copied to every rank; several must divide
    if mixer.groups > 1 and mixer.groups % tp:
        yield _uneven("state_groups", "recurrent", mixer.groups, tp, mixer.kind)
    if mixer.kind == "short_conv" and mixer.conv_channels % tp:
        yield _uneven("channels", "recurrent", mixer.conv_channels, tp, mixer.kind)


def _uneven(what: str, part: Part, size: int, ranks: int, kind: str) -> Indivisible:
    texts = {
        "query_heads": msg("{size} query heads of {kind} layers do not divide by {ranks}", size=size, kind=kind, ranks=ranks),
        "kv_heads": msg("{size} KV heads of {kind} layers neither divide by {ranks} nor divide it", size=size, kind=kind, ranks=ranks),
        "state_heads": msg("{size} state heads of {kind} layers do not divide by {ranks}", size=size, kind=kind, ranks=ranks),
        "state_groups": msg("{size} key groups of {kind} layers do not divide by {ranks}", size=size, kind=kind, ranks=ranks),
        "channels": msg("{size} channels of {kind} layers do not divide by {ranks}", size=size, kind=kind, ranks=ranks),
    }
    return Indivisible(what=what, part=part, size=size, ranks=ranks, fatal=True, text=texts[what])  # pyright: ignore[reportArgumentType]


def _experts(shape: ModelShape, ep: int) -> Iterator[Indivisible]:
    counts = {ffn.experts for layer in shape.layers for ffn in layer.ffns if ffn.kind == "moe"}
    for count in sorted(counts):
        if ep > 1 and count % ep:
            text = msg("{count} experts do not divide by {ranks}: some ranks hold one more, and balancing needs redundant ones", count=count, ranks=ep)
            yield Indivisible(what="experts", part="experts", size=count, ranks=ep, fatal=False, text=text)


def _cut(weight: Weight, tp: int, expert_tp: int) -> tuple[int, int] | None:
    """(ranks, index of the side of `shape` that is cut) for widths; None where whole heads or nothing is cut."""
    match weight.shard:
        case "column":
            return tp, 0
        case "row":
            return tp, 1
        case "experts":
            return expert_tp, 1 if weight.path.rpartition(".")[2].startswith(_DOWN) else 0
        case _:
            return None


def _widths(shape: ModelShape, tp: int, expert_tp: int) -> Iterator[Indivisible]:
    for weight in shape.weights:
        cut = _cut(weight, tp, expert_tp)
        if cut is None or not weight.linear or weight.part in ("attention", "recurrent") or len(weight.shape) < 2:
            continue
        ranks, side = cut
        if weight.shape[side] % ranks:
            text = msg("{part}: a width of {size} does not divide by {ranks}", part=weight.part, size=weight.shape[side], ranks=ranks)
            yield Indivisible(
                what="intermediate", part=weight.part, size=weight.shape[side], ranks=ranks, fatal=weight.part not in ("vision", "audio"), text=text
            )


def _tiles(shape: ModelShape, checkpoint: Checkpoint, tp: int, expert_tp: int) -> Iterator[Indivisible]:
    resolve = resolver(checkpoint)
    for weight in shape.weights:
        cut = _cut(weight, tp, expert_tp) or (_head_cut(weight, tp) if weight.shard in ("q_heads", "kv_heads") else None)
        if cut is None or not weight.linear or len(weight.shape) < 2 or cut[0] == 1:
            continue
        ranks, side = cut
        tile = _tile(resolve(weight), side)
        share = weight.shape[side] // ranks
        if tile > 1 and weight.shape[side] % ranks == 0 and share % tile:
            text = msg(
                "{part}: {share} columns or rows of {path} per rank do not divide by quantisation tiles of {tile}",
                part=weight.part, share=share, path=weight.path.rpartition(".")[2], tile=tile,
            )  # fmt: skip
            yield Indivisible(what="block", part=weight.part, size=share, ranks=ranks, fatal=True, text=text)


def _head_cut(weight: Weight, tp: int) -> tuple[int, int]:
    ranks = min(tp, weight.units or tp) if weight.shard == "kv_heads" else tp
    return ranks, 0


def _tile(form: NumberFormat, side: int) -> int:
    """Rows (side 0) or columns (side 1) that share a scale and so must stay together."""
    if form.block is not None:
        return form.block[side]
    return form.group if side == 1 and form.group > 0 else 1
