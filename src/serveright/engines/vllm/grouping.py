"""Layers -> groups that share a block table, and the bytes one block of the shared pool costs.

Follows `v1/core/kv_cache_planning.py`: one group where all pages are equal, one where all layers are of a type, packed groups in block-outermost
memory, else pages made equal and layers dealt into groups of equal length.
"""

from math import lcm

from msgspec.structs import replace

from serveright.engines.vllm.specs import Group, LayerSpec, Spec, round_up

Layers = tuple[LayerSpec, ...]
_STATES = ("state", "ring")


class CannotGroup(Exception):
    """The engine has no way to lay these caches side by side; the text is its own."""


def group_layers(layers: Layers, *, block_outermost: bool, full_windows: bool) -> tuple[Group, ...]:
    """The engine's groups, in its order. `full_windows`: `--disable-hybrid-kv-cache-manager`. Raises CannotGroup."""
    if full_windows:
        layers = promote(layers)
    if not layers:
        return ()
    if _uniform(layers):
        return (Group(layers=layers),)
    if _one_type(layers):
        return (Group(layers=layers, wrapped=True),)
    if block_outermost and len({x.spec.page for x in layers}) > 1:
        return _packed(layers)
    try:
        return _equal_lengths(_equal_pages(layers))
    except CannotGroup:
        promoted = _fallback(layers)
        if promoted is None:
            raise
        return (Group(layers=promoted, wrapped=True),)


def pool_block_bytes(groups: tuple[Group, ...], *, block_outermost: bool) -> int:
    """Bytes one block takes in the pool all groups share: the widest group's."""
    if not groups:
        return 0
    if not block_outermost:
        return max(sum(round_up(x.spec.page, x.spec.stride_alignment) for x in g.layers) for g in groups)
    return round_up(max(g.page_sum for g in groups), lcm(*(x.spec.stride_alignment for g in groups for x in g.layers)))


def promote(layers: Layers) -> Layers:
    """Windowed and chunked layers given room for every token, beside at least one full layer."""
    if _uniform(layers) or _one_type(layers):
        return layers
    if not any(x.spec.kind in ("full", "latent") for x in layers):
        return layers
    blocks = {x.spec.block for x in layers if x.spec.kind in ("full", "latent")}
    common = blocks.pop() if len(blocks) == 1 else 0
    return tuple(replace(x, spec=_promoted(x.spec, common)) for x in layers)


def _promoted(spec: Spec, common: int) -> Spec:
    if spec.kind not in ("window", "chunked", "window_latent"):
        return spec
    block = common or spec.block
    padded = max(spec.padded, spec.unpadded_page * block // spec.block) if spec.padded else 0
    latent = spec.kind == "window_latent"
    return replace(spec, kind="latent" if latent else "full", role="latent" if latent else "kv", block=block, padded=padded, extra_retained=0)


def _uniform(layers: Layers) -> bool:
    first = layers[0].spec
    if first.kind == "full":
        return _mergeable([x.spec for x in layers])
    return all(x.spec == first for x in layers)


def _mergeable(specs: list[Spec]) -> bool:
    """Full-attention specs may differ in window or chunk, if only one of each occurs."""
    first = specs[0]
    if first.kind != "full":
        return all(s == first for s in specs)
    bare = replace(first, window=0, chunk=0)
    windows, chunks = {s.window for s in specs} - {0}, {s.chunk for s in specs} - {0}
    return all(replace(s, window=0, chunk=0) == bare for s in specs) and len(windows) <= 1 and len(chunks) <= 1 and not (windows and chunks)


def _one_type(layers: Layers) -> bool:
    first = layers[0].spec
    return all(_same_type(first, x.spec) for x in layers)


def _same_type(first: Spec, other: Spec) -> bool:
    """Both always need the same number of blocks."""
    if first.block != other.block or first.sharded != other.sharded:
        return False
    match first.kind:
        case "full" | "latent":
            return other.kind in ("full", "latent")
        case "window":
            return other.kind in ("window", "window_latent") and other.window == first.window
        case "window_latent":
            return other.kind == "window_latent" and other.window == first.window
        case "chunked":
            return other.kind == "chunked" and other.chunk == first.chunk
        case "ring":
            return other.kind == "ring"
        case "state":
            return _same_states(first, other)


def _same_states(first: Spec, other: Spec) -> bool:
    return (
        other.kind == "state"
        and (other.spare_states, other.checkpoints, other.checkpoint_grid) == (first.spare_states, first.checkpoints, first.checkpoint_grid)
        and (other.page, other.replicated) == (first.page, first.replicated)
    )


def _equal_pages(layers: Layers) -> Layers:
    """Every page brought to the widest: blocks multiplied where that divides, states and plain attention padded."""
    widest = max(x.spec.page for x in layers)
    return tuple(replace(x, spec=_widened(x.spec, widest)) for x in layers)


def _widened(spec: Spec, widest: int) -> Spec:
    if spec.page == widest:
        return spec
    if spec.kind == "state":
        return replace(spec, padded=widest)
    if widest % spec.page == 0:
        return spec.grown(spec.block * (widest // spec.page))
    if spec.kind == "latent":
        raise CannotGroup("page size is not divisible by the maximum page size and cannot be padded. Padding is only supported for non-MLA attention layers.")
    return replace(spec, padded=widest)


def _fallback(layers: Layers) -> Layers | None:
    """Latent layers beside plain windows whose pages do not fit: windows get room for every token."""
    kinds = {x.spec.kind for x in layers}
    if kinds & {"window_latent", "chunked"} or not {"latent", "window"} <= kinds:
        return None
    promoted = promote(layers)
    return promoted if _one_type(promoted) else None


def _equal_lengths(layers: Layers) -> tuple[Group, ...]:
    buckets: list[list[LayerSpec]] = []
    for spec, same in _by_spec(layers).items():
        home = next((b for b in buckets if _mergeable([*{x.spec: None for x in b}, spec])), None)
        if home is None:
            buckets.append(same)
        else:
            home.extend(same)
    shortest, longest = min(map(len, buckets)), max(map(len, buckets))
    length = longest if longest < shortest * 1.5 else shortest
    groups: list[Group] = []
    for bucket in buckets:
        count = -(-len(bucket) // length)
        groups.extend(Group(layers=tuple(bucket[i::count])) for i in range(count))
    return tuple(groups)


def _by_spec(layers: Layers) -> dict[Spec, list[LayerSpec]]:
    found: dict[Spec, list[LayerSpec]] = {}
    for layer in layers:
        found.setdefault(layer.spec, []).append(layer)
    return found


class _Bucket:
    """Layers of one type in a packed pool, by page size; `balanced` where each size occurs equally often."""

    def __init__(self, layers: list[LayerSpec]) -> None:
        self.layers = layers
        self.first = layers[0].spec
        self.sizes: dict[int, list[LayerSpec]] = {}
        for layer in layers:
            self.sizes.setdefault(layer.spec.page, []).append(layer)
        self.balanced = len({len(v) for v in self.sizes.values()}) == 1
        self.repeats = max(len(v) for v in self.sizes.values())

    def widest(self, count: int) -> int:
        """Bytes of the widest of `count` parts."""
        return sum(-(-len(v) // count) * page for page, v in self.sizes.items())

    def split(self, count: int) -> list[Group]:
        """The bucket in `count` parts of whole repeats."""
        if count == 1:
            return [Group(layers=tuple(self.layers), wrapped=True)]
        rounds = list(zip(*self.sizes.values(), strict=False))
        return [Group(layers=tuple(x for turn in rounds[i::count] for x in turn), wrapped=True) for i in range(count)]


def _packed(layers: Layers) -> tuple[Group, ...]:
    """Blocks that hold unequal pages side by side (DeepSeek-V4): buckets by type, split so that all fit the same block."""
    raw: list[list[LayerSpec]] = []
    for layer in layers:
        home = next((b for b in raw if all(_same_type(b[0].spec, x.spec) for x in [*b, layer])), None)
        if home is None:
            raw.append([layer])
        else:
            home.append(layer)
    buckets = [_Bucket(b) for b in raw]
    floor = max((b.repeats for b in buckets if b.balanced and len(b.sizes) > 1), default=0)
    repeats = _least_padding([b.repeats for b in buckets if b.balanced], floor) if floor else 0

    def parts(bucket: _Bucket) -> int:
        return -(-bucket.repeats // repeats) if bucket.balanced and repeats else 1

    def is_state(bucket: _Bucket) -> bool:
        return bucket.first.kind in _STATES or (not repeats and bucket.first.kind in ("window", "window_latent"))

    anchor = max((b.widest(len(b.layers) if is_state(b) else parts(b)) for b in buckets), default=0)
    groups: list[Group] = []
    for bucket in buckets:
        count = parts(bucket)
        if anchor and is_state(bucket):
            count = max(count, -(-len(bucket.layers) // max(anchor // bucket.first.page, 1)))
        groups.extend(bucket.split(count))
    return tuple(groups)


def _least_padding(counts: list[int], floor: int) -> int:
    """The chunk length from `floor` up that wastes the fewest places; ties prefer the longer."""
    candidates = range(max(1, floor), max(counts) + 1)
    return min(candidates, key=lambda d: (sum(-c % d for c in counts), -d), default=max(1, floor))
