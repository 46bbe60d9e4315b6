"""Pipeline stages: which layers a stage owns, and the groups as one stage holds them. Follows `distributed/utils.py` get_pp_indices."""

from msgspec.structs import replace

from serveright.engines.vllm.specs import Group


def stage_sizes(layers: int, stages: int) -> tuple[int, ...]:
    """Layers per stage: as even as can be, the rest to the stages before the last."""
    sizes = [layers // stages] * stages
    for i in range(2, layers % stages + 2):
        sizes[-i] += 1
    return tuple(sizes)


def split_stages(groups: tuple[Group, ...], layers: int, stages: int) -> list[tuple[Group, ...]]:
    """The groups of every stage; draft layers live on the last."""
    if stages <= 1:
        return [groups]
    found: list[tuple[Group, ...]] = []
    start = 0
    for i, size in enumerate(stage_sizes(layers, stages)):
        last = i == stages - 1
        own = [replace(g, layers=tuple(x for x in g.layers if start <= x.index < start + size or (last and x.index >= layers))) for g in groups]
        found.append(tuple(g for g in own if g.layers))
        start += size
    return found
