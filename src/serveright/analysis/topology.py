"""More than one node: which part of a layout crosses the slow link, how much each token sends over it, and which layouts keep that small.

Ranks lie as both engines place them: tensor shards side by side, pipeline stages beyond them, data-parallel ranks outermost. Pure; knows no prices or kernels.
"""

import math
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from serveright.types.derivation import Derivation
from serveright.types.engine import Parallel
from serveright.types.hardware import Fleet
from serveright.types.model import Attention, Latent, ModelShape
from serveright.types.text import Msg, msg

LinkName = Literal["one GPU", "scale-up", "PCIe", "network"]
Part = Literal["tensor", "pipeline", "experts"]
ACTIVATION_BYTES = 2
DISPATCH_BYTES, COMBINE_BYTES = 1, 2
"""Tokens go to their experts in FP8 and come back in BF16 (DeepEP)."""
REDUCTIONS = 2
"""All-reduces of one layer under tensor parallelism: after the mixer and after the feed-forward block."""
FILL = 0.85
"""Share of a GPU's memory that weights may take so that a useful cache remains."""
WIDE_FROM_NODES = 4
"""From so many nodes on, spreading experts over all of them is worth pricing: the published wide deployments begin here."""


class Crossing(Struct, frozen=True, kw_only=True):
    """One part's traffic. `group` GPUs talk; `bytes_per_token` is what a token makes one GPU send over `link` in a whole pass, `messages` how many exchanges that takes."""

    part: Part
    group: int
    link: LinkName
    messages: int
    bytes_per_token: float
    why: Msg
    derivation: Derivation


class Spread(Struct, frozen=True, kw_only=True):
    """A layout on a fleet: what crosses which link."""

    parallel: Parallel
    nodes: int
    island_gpus: int
    crossings: tuple[Crossing, ...]

    @property
    def network_bytes_per_token(self) -> float:
        """What one token sends over the slow link."""
        return sum(crossing.bytes_per_token for crossing in self.crossings if crossing.link == "network")

    @property
    def network_messages(self) -> int:
        """Exchanges over the slow link that a token waits for, one after the other."""
        return sum(crossing.messages for crossing in self.crossings if crossing.link == "network")


class Advice(Struct, frozen=True, kw_only=True):
    """A layout worth pricing, and why; `rank` 0 is the first to try."""

    spread: Spread
    why: Msg


def island(fleet: Fleet) -> int:
    """GPUs of the fleet that reach each other at scale-up speed: a node, or as much of an NVL72 rack as there is."""
    return min(fleet.count, max(fleet.gpu.interconnect.domain_gpus, 1))


def link_of(fleet: Fleet, group: int) -> LinkName:
    """The slowest link inside a group of GPUs placed side by side."""
    if group <= 1:
        return "one GPU"
    if group <= island(fleet) and fleet.gpu.interconnect.bus_bytes_per_s is not None:
        return "scale-up"
    return "PCIe" if group <= fleet.per_node else "network"


def spread(shape: ModelShape, parallel: Parallel, fleet: Fleet) -> Spread:
    """What crosses which link when a layout lies on a fleet."""
    return Spread(
        parallel=parallel,
        nodes=math.ceil(parallel.gpus / fleet.per_node),
        island_gpus=island(fleet),
        crossings=tuple(_crossings(shape, parallel, fleet)),
    )


def _crossings(shape: ModelShape, parallel: Parallel, fleet: Fleet) -> Iterator[Crossing]:
    moe = [ffn for layer in shape.layers for ffn in layer.ffns if ffn.kind == "moe"]
    if parallel.tp > 1:
        yield _tensor(shape, parallel, fleet, spread_experts=bool(moe) and parallel.ep > 1)
    if parallel.ep > 1 and moe:
        width = moe[0].latent_dim or shape.hidden
        yield _experts(parallel, fleet, len(moe), moe[0].experts_per_token, width)
    if parallel.pp > 1:
        yield _pipeline(shape, parallel, fleet)


def _tensor(shape: ModelShape, parallel: Parallel, fleet: Fleet, *, spread_experts: bool) -> Crossing:
    layers = len(shape.layers)
    messages = layers * REDUCTIONS - (sum(ffn.kind == "moe" for layer in shape.layers for ffn in layer.ffns) if spread_experts else 0)
    values: dict[str, int | float] = {"messages": messages, "tp": parallel.tp, "hidden": shape.hidden, "size": ACTIVATION_BYTES}
    result = messages * 2 * (parallel.tp - 1) / parallel.tp * shape.hidden * ACTIVATION_BYTES
    return Crossing(
        part="tensor",
        group=parallel.tp,
        link=link_of(fleet, parallel.tp),
        messages=messages,
        bytes_per_token=result,
        why=msg("every layer is summed over its shards before the next may begin"),
        derivation=Derivation(
            name="tensor-parallel traffic",
            formula="messages * 2 * (tp - 1) / tp * hidden * size",
            values=values,
            result=result,
            unit="B/token",
            reason=msg("a ring all-reduce sends each activation twice, less its own share"),
        ),
    )


def _experts(parallel: Parallel, fleet: Fleet, layers: int, per_token: int, width: int) -> Crossing:
    group = parallel.tp * parallel.dp
    link = link_of(fleet, group)
    inside = island(fleet) if link == "network" else 1
    away = (group - min(inside, group)) / group if link == "network" else (group - 1) / group
    values: dict[str, int | float] = {"layers": layers, "k": per_token, "width": width, "out": DISPATCH_BYTES, "back": COMBINE_BYTES, "away": away}
    result = layers * per_token * width * (DISPATCH_BYTES + COMBINE_BYTES) * away
    return Crossing(
        part="experts",
        group=group,
        link=link,
        messages=2 * layers,
        bytes_per_token=result,
        why=msg("a token travels to its {k} experts and back; {away:pct} of them lie beyond this link", k=per_token, away=away),
        derivation=Derivation(
            name="expert-parallel traffic",
            formula="layers * k * width * (out + back) * away",
            values=values,
            result=result,
            unit="B/token",
            reason=msg("sent out in FP8, brought back in BF16; only experts beyond the link count"),
        ),
    )


def _pipeline(shape: ModelShape, parallel: Parallel, fleet: Fleet) -> Crossing:
    cuts = parallel.pp - 1
    values: dict[str, int | float] = {"cuts": cuts, "hidden": shape.hidden, "size": ACTIVATION_BYTES, "streams": shape.residual_streams}
    result = cuts * shape.hidden * ACTIVATION_BYTES * shape.residual_streams
    return Crossing(
        part="pipeline",
        group=parallel.tp * parallel.pp,
        link=link_of(fleet, parallel.tp * parallel.pp),
        messages=cuts,
        bytes_per_token=result,
        why=msg("one activation goes from stage to stage; stages wait for each other where few requests run"),
        derivation=Derivation(
            name="pipeline traffic",
            formula="cuts * hidden * size * streams",
            values=values,
            result=result,
            unit="B/token",
            reason=msg("only the activation between two stages is sent"),
        ),
    )


def least_gpus(weights_bytes: int, fleet: Fleet) -> int:
    """The least power of two of GPUs that hold the weights and leave room for a cache."""
    need = max(1, math.ceil(weights_bytes / (fleet.gpu.memory_bytes * FILL)))
    return 1 << (need - 1).bit_length()


def advise(shape: ModelShape, weights_bytes: int, fleet: Fleet) -> tuple[Advice, ...]:
    """Layouts worth pricing on this fleet, the least traffic over the slow link first; () where the weights do not fit at all."""
    least, room = least_gpus(weights_bytes, fleet), island(fleet)
    if least > fleet.count:
        return ()
    found = list(_inside(shape, fleet, least, room) if least <= room else _across(shape, fleet, least, room))
    return tuple(sorted(found, key=lambda advice: (advice.spread.network_messages > 0 and least <= room, advice.spread.network_bytes_per_token)))


def _inside(shape: ModelShape, fleet: Fleet, least: int, room: int) -> Iterator[Advice]:
    """The model fits one island: copies share nothing, so nothing crosses."""
    experts = _experts_of(shape)
    for gpus in _sizes(shape, least, room, fleet.per_node):
        copies = fleet.count // gpus
        why = msg(
            "{gpus} GPUs hold the model; {copies} copies share nothing, so nothing crosses the slow link and one failure stops one copy",
            gpus=gpus,
            copies=copies,
        )
        ep = gpus if experts and gpus > 1 else 1
        yield Advice(spread=spread(shape, Parallel(tp=gpus, ep=ep, replicas=copies), fleet), why=why)
        if experts and gpus > 1 and _copied_cache(shape, gpus):
            ranks = msg(
                "the same GPUs with attention ranks: each keeps its own cache instead of {gpus} copies of one; experts stay on the fast link", gpus=gpus
            )
            yield Advice(spread=spread(shape, Parallel(dp=gpus, ep=gpus, replicas=copies), fleet), why=ranks)
    nodes = fleet.count // fleet.per_node
    if experts and _copied_cache(shape, fleet.count) and (nodes >= WIDE_FROM_NODES or room > fleet.per_node) and fleet.count > least:
        why = msg(
            "for many users: {gpus} GPUs each hold 1/{gpus} of the experts, so batches per expert grow with the fleet; token exchange takes {link}",
            gpus=fleet.count,
            link=msg("the rack's NVLink") if room >= fleet.count else msg("the network, and needs an exchange library"),
        )
        yield Advice(spread=spread(shape, Parallel(dp=fleet.count, ep=fleet.count), fleet), why=why)


def _across(shape: ModelShape, fleet: Fleet, least: int, room: int) -> Iterator[Advice]:
    """The model needs several islands."""
    islands = math.ceil(least / room)
    while fleet.count % (islands * room) and islands * room < fleet.count:
        islands += 1
    gpus, copies = islands * room, max(1, fleet.count // (islands * room))
    experts = _experts_of(shape)
    yield Advice(
        spread=spread(shape, Parallel(tp=room, pp=islands, ep=room if experts else 1, replicas=copies), fleet),
        why=msg("tensor shards stay on the fast link; between {n} stages only one activation a token crosses", n=islands),
    )
    if experts and _copied_cache(shape, gpus):
        yield Advice(
            spread=spread(shape, Parallel(dp=gpus, ep=gpus, replicas=copies), fleet),
            why=msg(
                "attention ranks never talk across; tokens cross to their experts: more traffic than stages, but no stage waits, and the cache is not copied"
            ),
        )
    yield Advice(
        spread=spread(shape, Parallel(tp=gpus, ep=gpus if experts else 1, replicas=copies), fleet),
        why=msg("lowest latency of one request where the network is very fast; every layer waits for it twice"),
    )


def _sizes(shape: ModelShape, least: int, room: int, per_node: int) -> list[int]:
    """The least size, and a whole node (in a rack twice the least), where heads divide."""
    heads = [mixer.query_heads for layer in shape.layers for mixer in layer.mixers if isinstance(mixer, Attention | Latent)]
    sizes = [least << step for step in range(room.bit_length()) if least << step <= room]
    fitting = [size for size in sizes if all(count % size == 0 for count in heads)]
    if not fitting:
        return []
    return sorted({fitting[0], fitting[min(1, len(fitting) - 1)] if room > per_node else fitting[-1]})


def _experts_of(shape: ModelShape) -> bool:
    return any(ffn.kind == "moe" for layer in shape.layers for ffn in layer.ffns)


def _copied_cache(shape: ModelShape, shards: int) -> bool:
    mixers = [mixer for layer in shape.layers for mixer in layer.mixers]
    return any(isinstance(mixer, Latent) or (isinstance(mixer, Attention) and mixer.kv_heads < shards) for mixer in mixers)
