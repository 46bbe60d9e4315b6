"""Attention over a compressed row (MLA) and the indexers that grew from it, by their fields alone.

Whether a layer's indexer stores keys of its own or reuses an earlier layer's picks is read from any of four spellings:
`indexer_types`, `index_topk_pattern`, `index_topk_freq` + `index_skip_topk_offset`, `index_source_layer_ids`.
"""

from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from serveright.families.blocks import linear, mla, norm
from serveright.families.fields import Fields
from serveright.families.layer_ids import layer_ids
from serveright.types.model import Indexer, Latent, LatentKind, Part, Weight
from serveright.types.text import msg

INDEX_HEADS = ("index_n_heads", "indexer_n_heads", "index_num_heads", "indexer_num_heads")
INDEX_DIM = ("index_head_dim", "indexer_head_dim", "index_dim")
INDEX_TOPK = ("index_topk", "indexer_budget", "indexer_topk", "index_top_k")
INDEX_RATIO = ("index_kpool", "indexer_compress_ratio", "index_compress_ratio")
INDEX_KEYS = ("indexer_kv_heads", "index_kv_heads", "index_n_kv_heads")
_OFFSET_SOURCE = "vLLM 0.33.0 DeepseekV2MLAAttention"


def read_latent(f: Fields, hidden: int | None = None) -> Latent:
    """The plain latent mixer; a missing `v_head_dim` is `hidden` / heads where `hidden` is given (MiniCPM3). Raises InputError where one of its widths is missing."""
    rank = f.integer("kv_lora_rank")
    rope = f.integer("qk_rope_head_dim", minimum=0)
    nope = f.opt_int("qk_nope_head_dim")
    if nope is None:
        nope = f.integer("qk_head_dim", minimum=rope) - rope
    heads = f.integer("num_attention_heads")
    f.ignore("head_dim", "qk_head_dim", "q_head_dim", "num_key_value_heads", "mla_scale_q_lora", "mla_scale_kv_lora", "rotary_dim", "use_mla")
    f.note("kv_lora_rank", msg("multi-head latent attention: one row of {rank} + {rope} per token serves all {heads} heads", rank=rank, rope=rope, heads=heads))
    if f.flag("mla_use_nope", "use_mla_nope"):
        f.note("mla_use_nope", msg("no positions in the latent layers; the row keeps its {rope} extra columns", rope=rope))
    q_lora = f.opt_int("q_lora_rank") or None
    v_dim = f.opt_int("v_head_dim", minimum=1)
    if v_dim is None:
        whole = hidden is not None and f.raw.get("model_type") == "minicpm3"
        v_dim = f.int_or((hidden or 0) // heads, "vLLM 0.33.0 MiniCPM3DecoderLayer", "v_head_dim") if whole else f.integer("v_head_dim")
    return Latent(kind="mla", query_heads=heads, kv_lora_rank=rank, rope_dim=rope, nope_dim=nope, v_head_dim=v_dim, q_lora_rank=q_lora)


def read_sliding(f: Fields, base: Latent, window: int) -> Latent:
    """The latent mixer of window layers: `swa_` fields where they differ from the full layers' (Dots3-Note), the same widths otherwise."""

    def width(name: str, other: int, minimum: int = 1) -> int:
        value = f.opt_int(f"swa_{name}", minimum=minimum)
        return other if value is None else value

    nope = width("qk_nope_head_dim", base.nope_dim)
    whole = f.opt_int("swa_head_dim")
    rope = width("qk_rope_head_dim", whole - nope if whole and whole > nope else base.rope_dim, 0)
    f.ignore("swa_num_key_value_heads")
    return replace(
        base,
        kind="sliding_mla",
        query_heads=width("num_attention_heads", base.query_heads),
        kv_lora_rank=width("kv_lora_rank", base.kv_lora_rank),
        q_lora_rank=f.opt_int("swa_q_lora_rank") or base.q_lora_rank,
        rope_dim=rope,
        nope_dim=nope,
        v_head_dim=width("v_head_dim", base.v_head_dim),
        window_tokens=window,
    )


def read_indexer(f: Fields) -> Indexer | None:
    """The indexer's widths, None where the config has no `index_topk` (in any spelling)."""
    topk = f.opt_int(*INDEX_TOPK)
    if not topk or f.raw.get("use_dsa") is False:
        f.ignore(*INDEX_HEADS, *INDEX_DIM, *INDEX_RATIO, *INDEX_KEYS)
        return None
    key = next(k for k in INDEX_TOPK if f.raw.get(k) is not None)
    f.note(key, msg("sparse attention: an indexer picks {count} tokens for each query", count=topk))
    return Indexer(
        heads=f.integer(*INDEX_HEADS),
        dim=f.integer(*INDEX_DIM),
        topk=topk,
        key_heads=f.opt_int(*INDEX_KEYS) or 1,
        compress_ratio=f.opt_int(*INDEX_RATIO) or 1,
    )


def index_owners(f: Fields, count: int) -> tuple[bool, ...]:
    """For each of `count` layers: does its indexer score and store keys of its own."""
    types = f.items("indexer_types")
    raw: object = f.raw.get("index_topk_pattern")
    pattern = list(raw) if isinstance(raw, str) else cast("list[object]", raw) if isinstance(raw, list) else []
    freq, offset = f.opt_int("index_topk_freq", minimum=1), f.opt_int("index_skip_topk_offset")
    f.ignore("index_topk_pattern", "index_share_for_mtp_iteration", "use_index_cache", "use_dsa")
    sources = layer_ids(f, "index_source_layer_ids", count)
    if types is not None:
        owners, key = _by_types(f, [str(t) for t in types], count), "indexer_types"
    elif sources is not None:
        owners, key = tuple(i in sources for i in range(count)), "index_source_layer_ids"
    elif pattern:
        marks = [str(mark) for mark in pattern]
        owners, key = tuple(i >= len(marks) or not marks[i].upper().startswith("S") for i in range(count)), "index_topk_pattern"
    elif freq and freq > 1:
        start = offset if offset is not None else f.int_or(2, _OFFSET_SOURCE, "index_skip_topk_offset")
        owners, key = tuple(max(i - start + 1, 0) % freq == 0 for i in range(count)), "index_topk_freq"
    else:
        return (True,) * count
    f.note(key, msg("{own} of {all} layers compute their own picks, the others reuse an earlier layer's", own=sum(owners), all=count), f.raw.get(key))
    return owners


def _by_types(f: Fields, types: list[str], count: int) -> tuple[bool, ...]:
    strange = sorted(set(types) - {"full", "shared"})
    if strange:
        f.unknown("indexer_types", msg("unknown entries {names}", names=", ".join(strange)[:80]))
    if len(types) < count:
        f.unknown("indexer_types", msg("{given} entries for {count} layers", given=len(types), count=count))
        types = types + ["full"] * (count - len(types))
    return tuple(kind != "shared" for kind in types[:count])


def sparse(latent: Latent, indexer: Indexer | None, *, owns: bool = True) -> Latent:
    """The latent mixer with its indexer, where there is one."""
    if indexer is None:
        return latent
    kind: LatentKind = "sparse_mla"
    return replace(latent, kind=kind, indexer=replace(indexer, owns_keys=owns))


class Names(Struct, frozen=True, kw_only=True):
    """Module names of one dialect's latent attention. `gate`: an output gate of one number per value channel, or per head with `gate_per_head`."""

    out: str = "o_proj"
    gate: str | None = None
    gate_per_head: bool = False
    sink: str = "sinks"


_PLAIN = Names()


def weights(path: str, layer: int, hidden: int, mixer: Latent, names: Names = _PLAIN) -> list[Weight]:
    """The mixer's tensors under `path` (e.g. `model.layers.3.self_attn`)."""
    heads = mixer.query_heads
    result = mla(
        path, layer, hidden, heads, q_lora=mixer.q_lora_rank, kv_lora=mixer.kv_lora_rank, nope=mixer.nope_dim, rope=mixer.rope_dim, v_dim=mixer.v_head_dim
    )
    if names.out != "o_proj":
        result[-1] = replace(result[-1], path=f"{path}.{names.out}")
    if names.gate:
        width = heads if names.gate_per_head else heads * mixer.v_head_dim
        result += linear(f"{path}.{names.gate}", "attention", width, hidden, "q_heads", layer=layer, units=heads)
    if mixer.sinks:
        result.append(Weight(path=f"{path}.{names.sink}", part="attention", shape=(heads,), shard="q_heads", units=heads, linear=False, layer=layer))
    if mixer.indexer and mixer.indexer.owns_keys:
        result += indexer_weights(f"{path}.indexer", layer, hidden, mixer.q_lora_rank or hidden, mixer.indexer)
    return result


def unquantised(path: str, part: Part, out: int, into: int, *, layer: int | None = None) -> Weight:
    """A matrix that engines build and checkpoints store unquantised whatever the rest is."""
    return Weight(path=path, part=part, shape=(out, into), shard="replicated", linear=False, layer=layer)


def indexer_weights(path: str, layer: int, hidden: int, q_in: int, indexer: Indexer) -> list[Weight]:
    """The indexer's queries from the query latent, one shared key with its LayerNorm, and the weight of each head."""
    return [
        *linear(f"{path}.wq_b", "indexer", indexer.heads * indexer.dim, q_in, "replicated", layer=layer),
        *linear(f"{path}.wk", "indexer", indexer.key_heads * indexer.dim, hidden, "replicated", layer=layer),
        *norm(f"{path}.k_norm", indexer.dim, layer=layer, bias=True, part="indexer"),
        unquantised(f"{path}.weights_proj", "indexer", indexer.heads, hidden, layer=layer),
    ]
