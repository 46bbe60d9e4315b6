"""A shape in the words of the contract: mixers and FFNs grouped by kind and dimensions, and a map of the layers."""

from collections import Counter
from collections.abc import Iterable

from serveright.types.model import Attention, Checkpoint, Ffn, Indexer, Latent, Layer, Mixer, Recurrent, UnknownMixer
from serveright.types.reports import AttentionEntry, CheckpointEntry, FfnEntry, Parameters
from serveright.types.weights import WeightNeed

NAMES = {
    "full": "full attention",
    "sliding": "sliding window",
    "chunked": "chunked",
    "block_sparse": "block-sparse",
    "mla": "MLA",
    "sparse_mla": "sparse MLA (indexer)",
    "sliding_mla": "windowed MLA",
    "csa": "compressed 4:1 (csa)",
    "hca": "compressed 128:1 (hca)",
    "compressed": "compressed rows",
    "gated_deltanet": "gated delta net",
    "kimi_delta": "Kimi delta",
    "mamba1": "Mamba1",
    "mamba2": "Mamba2",
    "lightning": "lightning",
    "short_conv": "short convolution",
    "none": "no mixer",
    "unknown": "unknown",
}
_LETTERS = {
    "full": "F", "sliding": "s", "chunked": "c", "block_sparse": "B", "mla": "L", "sparse_mla": "D", "sliding_mla": "w", "csa": "C", "hca": "H", "compressed": "P",
    "gated_deltanet": "g", "kimi_delta": "k", "mamba1": "m", "mamba2": "M", "lightning": "l", "short_conv": "v", "none": ".", "unknown": "?",
}  # fmt: skip


def kind(mixer: Mixer) -> str:
    """The contract's word for a mixer."""
    return "unknown" if isinstance(mixer, UnknownMixer) else mixer.kind


def _indexer(index: Indexer | None) -> dict[str, int]:
    return {} if index is None else {"index_heads": index.heads, "index_dim": index.dim, "index_topk": index.topk}


def _fields(mixer: Mixer) -> dict[str, object]:
    match mixer:
        case Attention():
            return {
                "query_heads": mixer.query_heads, "kv_heads": mixer.kv_heads, "head_dim": mixer.head_dim, "v_head_dim": mixer.v_head_dim,
                "window_tokens": mixer.window_tokens, "chunk_tokens": mixer.chunk_tokens, **_indexer(mixer.indexer),
            }  # fmt: skip
        case Latent():
            return {
                "query_heads": mixer.query_heads, "kv_lora_rank": mixer.kv_lora_rank, "rope_dim": mixer.rope_dim, "v_head_dim": mixer.v_head_dim,
                "window_tokens": mixer.window_tokens, "compress_ratio": mixer.compress_ratio, **_indexer(mixer.indexer),
            }  # fmt: skip
        case Recurrent():
            return {
                "state_heads": mixer.state_heads or None,
                "state_shape": mixer.state_shape or None,
                "state_dtype": mixer.state_dtype,
                "conv_rows": mixer.conv_rows or None,
            }
        case UnknownMixer():
            return {}


def _owns_keys(mixer: Mixer) -> bool:
    return isinstance(mixer, (Attention, Latent)) and mixer.indexer is not None and mixer.indexer.owns_keys


def attention_entries(layers: Iterable[Layer]) -> tuple[AttentionEntry, ...]:
    """One entry per kind and shape of mixer, in order of first appearance; layers without a mixer count as `none`."""
    counts: Counter[tuple[str, tuple[tuple[str, object], ...]]] = Counter()
    cached: Counter[tuple[str, tuple[tuple[str, object], ...]]] = Counter()
    indexed: Counter[tuple[str, tuple[tuple[str, object], ...]]] = Counter()
    for layer in layers:
        if not layer.mixers:
            counts["none", ()] += 1
        for mixer in layer.mixers:
            key = (kind(mixer), tuple(_fields(mixer).items()))
            counts[key] += 1
            cached[key] += layer.cache_from is None
            indexed[key] += _owns_keys(mixer)
    return tuple(
        AttentionEntry(kind=key[0], layers=n, cache_layers=cached[key], index_layers=indexed[key] if "index_dim" in dict(key[1]) else None, **dict(key[1]))  # pyright: ignore[reportArgumentType]
        for key, n in counts.items()
    )


def ffn_entries(layers: Iterable[Layer]) -> tuple[FfnEntry, ...]:
    """One entry per kind and shape of FFN; layers without one count as `none`."""
    counts: Counter[Ffn | None] = Counter(f for layer in layers for f in (layer.ffns or (None,)))
    return tuple(
        FfnEntry(kind="none", layers=n)
        if f is None
        else FfnEntry(
            kind=f.kind,
            layers=n,
            intermediate=f.intermediate,
            experts=f.experts,
            experts_per_token=f.experts_per_token,
            shared_experts=f.shared_experts,
            shared_intermediate=f.shared_intermediate,
            latent_dim=f.latent_dim,
            zero_experts=f.zero_experts,
        )
        for f, n in counts.items()
    )


def layer_map(layers: Iterable[Layer]) -> tuple[str, dict[str, str]]:
    """One letter a layer (two mixers: two letters in brackets) and the legend."""
    cells = [[kind(m) for m in layer.mixers] or ["none"] for layer in layers]
    text = "".join(_LETTERS[c[0]] if len(c) == 1 else "(" + "".join(_LETTERS[k] for k in c) + ")" for c in cells)
    return text, {_LETTERS[k]: NAMES[k] for c in cells for k in c}


def parameters(need: WeightNeed) -> Parameters:
    """Totals and parts, MTP as a part of its own."""
    parts: Counter[str] = Counter()
    for group in need.groups:
        parts["mtp" if group.mtp else group.part] += group.elements
    return Parameters(total=need.total_elements, active=need.active_elements, active_excludes=need.active_excludes, parts=dict(parts))


def checkpoint_entry(checkpoint: Checkpoint, need: WeightNeed) -> CheckpointEntry:
    """The format of each part, the one with most bytes first where a part mixes several."""
    by_part: dict[str, Counter[str]] = {}
    for group in need.groups:
        by_part.setdefault("mtp" if group.mtp else group.part, Counter())[group.format] += group.bytes
    parts = {part: " + ".join(name for name, _ in formats.most_common()) for part, formats in by_part.items()}
    return CheckpointEntry(
        format=checkpoint.format, method=checkpoint.method, parts=parts, kv_dtype=checkpoint.kv_dtype, bytes=need.total_bytes,
        bytes_from="index" if need.from_index else "computed",
    )  # fmt: skip
