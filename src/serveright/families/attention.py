"""Softmax-attention layers from fields, for dialects and for architectures nobody claims: heads, dims, windows and chunks, per layer where the config says so.

Knows every common spelling; decides nothing by the model's name.
"""

from collections import Counter
from typing import Literal, cast

from msgspec import Struct

from serveright.errors import InputError
from serveright.families.fields import Fields
from serveright.families.layer_ids import layer_ids
from serveright.types.model import Attention
from serveright.types.text import msg

QUERY = ("num_attention_heads", "n_head", "num_heads", "n_heads")
KV = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups", "num_query_groups", "multi_query_group_num", "n_kv_heads")
HEAD_DIM = ("head_dim", "attention_head_dim", "kv_channels", "qk_head_dim", "head_size")
V_DIM = ("v_head_dim", "value_head_dim")
WINDOW = ("sliding_window", "sliding_window_size", "sliding_window_tokens", "window_size", "attention_window_size", "local_attention_window", "local_attention")
CHUNK = ("attention_chunk_size", "chunk_attention_size")
LOCAL_SETS = ("local_layer_ids", "sliding_layer_ids", "swa_layer_ids", "sliding_window_layers", "swa_layers", "local_layers")
"""Numbers of the layers that slide, counted from 0."""
SLIDING_PREFIXES = ("swa_", "sliding_", "local_")
FULL_PREFIXES = ("global_", "full_")

FULL, SLIDING, CHUNKED = "full", "sliding", "chunked"
WORDS = {
    **dict.fromkeys(
        (
            "full_attention",
            "full",
            "attention",
            "global",
            "global_attention",
            "gqa",
            "mha",
            "attn",
            "self_attention",
            "softmax",
            "minicpm4",
            "minicpm",
            "standard",
            "g",
        ),
        FULL,
    ),
    **dict.fromkeys(
        ("sliding_attention", "sliding", "sliding_window", "sliding_window_attention", "swa", "local", "local_attention", "window", "window_attention", "l"),
        SLIDING,
    ),
    **dict.fromkeys(("chunked_attention", "chunked", "chunk"), CHUNKED),
}


class Heads(Struct, frozen=True):
    """Heads and head dimensions of one kind of layer."""

    query: int
    kv: int
    dim: int
    v_dim: int


class Defaults(Struct, frozen=True, kw_only=True):
    """What the model's class decides when the config is silent. `source` names library, version and class."""

    source: str
    kv_heads: int | None = None
    head_dim: int | None = None
    window: int | None = None
    chunk: int | None = None
    full_every: int | None = None
    """Every n-th layer is full, the others `other`."""
    other: Literal["sliding", "chunked"] = "sliding"
    window_all: bool = False
    """A bare `sliding_window` makes every layer slide (Mistral); otherwise a window needs a pattern or `use_sliding_window`."""


def per_layer(fields: Fields, count: int, *keys: str) -> list[int] | None:
    """One number for all layers or a list with one per layer; None when absent."""
    for key in keys:
        value = fields.raw.get(key)
        if isinstance(value, list):
            entries = fields.items(key, length=count) or []
            numbers = Fields({key: [0 if entry is None else entry for entry in entries]}, fields.path).ints(key)
            return [max(0, number) for number in numbers or ()]
        if value is not None:
            return [fields.integer(key, minimum=0)] * count
    fields.ignore(*keys)
    return None


def _first_int(fields: Fields, names: tuple[str, ...], prefixes: tuple[str, ...]) -> int | None:
    keys: list[str] = []
    for prefix in prefixes:
        for name in names:
            keys += [prefix + name, name.replace("num_", f"num_{prefix}", 1)] if name.startswith("num_") else [prefix + name]
    return fields.opt_int(*(key for key in keys if key not in names), minimum=1)


def base_heads(fields: Fields, hidden: int, defaults: Defaults, layers: int | None = None) -> Heads:
    """Heads of the ordinary layer. Query heads are required; KV heads fall back to the class default or MHA, recorded as such."""
    query = _scalar(fields, layers, *QUERY)
    if query is None:
        query = fields.integer(*QUERY)
    kv = _scalar(fields, layers, *KV)
    if kv is None:
        if fields.raw.get("multi_query") is True:
            fields.note("multi_query", msg("one KV head for all query heads"))
            kv = 1
        else:
            kv = defaults.kv_heads or query
            fields.assume(KV[0], kv, defaults.source)
    dim = fields.opt_int(*HEAD_DIM, minimum=1)
    if dim is None:
        dim = defaults.head_dim or max(1, hidden // query)
        if defaults.head_dim or hidden % query:
            fields.assume(HEAD_DIM[0], dim, defaults.source)
    return Heads(query, kv, dim, fields.opt_int(*V_DIM, minimum=1) or dim)


def _scalar(fields: Fields, layers: int | None, *keys: str) -> int | None:
    """First entry of a per-layer list, or the number."""
    for key in keys:
        value = fields.raw.get(key)
        if isinstance(value, list):
            listed = per_layer(fields, layers, key) if layers else fields.ints(key)
            numbers = [number for number in listed or () if number > 0]
            if not numbers:
                raise InputError(msg("{file}: {key} names no layer with heads", file=fields.file, key=fields.at(key)))
            return numbers[0]
    return fields.opt_int(*keys, minimum=1)


def _variant(fields: Fields, base: Heads, prefixes: tuple[str, ...]) -> Heads:
    """Heads of sliding or of global layers where prefixed fields (swa_, local_, global_) or an object for the other layers (Step) give them."""
    other = fields.child("attention_other_setting") if prefixes == SLIDING_PREFIXES else None
    if other is not None:
        fields.note("attention_other_setting", msg("window layers have heads of their own"), "…")
        dim = other.opt_int(*HEAD_DIM, minimum=1) or base.dim
        other.ignore("attention_type")
        return Heads(other.opt_int(*QUERY, minimum=1) or base.query, other.opt_int(*KV, minimum=1) or base.kv, dim, dim if dim != base.dim else base.v_dim)
    dim = _first_int(fields, HEAD_DIM, prefixes)
    v_dim = _first_int(fields, V_DIM, prefixes)
    return Heads(
        _first_int(fields, QUERY, prefixes) or base.query,
        _first_int(fields, KV, prefixes) or base.kv,
        dim or base.dim,
        v_dim or (base.v_dim if dim is None or base.v_dim != base.dim else dim),
    )


def kinds(fields: Fields, count: int, defaults: Defaults) -> list[str]:
    """One word a layer: full, sliding, chunked, or the config's own word where it is none of these."""
    for reader in (_listed, _numbered, _periodic):
        found = reader(fields, count)
        if found is not None:
            return _windows_off(fields, found)
    if defaults.full_every:
        if defaults.full_every > 1:
            fields.assume("layer_types", f"1 full in every {defaults.full_every}", defaults.source)
        return _every(count, defaults.full_every, defaults.other)
    window = fields.raw.get("sliding_window")
    fields.ignore("use_sliding_window")
    if "use_sliding_window" in fields.raw:
        start = fields.opt_int("max_window_layers") or 0
        slides = fields.flag("use_sliding_window") and window is not None
        fields.ignore("sliding_window")
        fields.note("use_sliding_window", msg("windows apply from layer {start} on", start=start) if slides else msg("windows are off: every layer is full"))
        return [SLIDING if slides and index >= start else FULL for index in range(count)]
    if window is None or isinstance(window, list):
        return [FULL] * count
    limit = fields.opt_int("max_position_embeddings")
    size = fields.opt_int("sliding_window")
    if size is not None and limit is not None and size >= limit:
        fields.note("sliding_window", msg("a window as long as the context never applies"))
        return [FULL] * count
    if defaults.window_all:
        return [SLIDING] * count
    fields.unknown("sliding_window", msg("a window is given but not which layers slide; all are counted as full"))
    return [FULL] * count


def _windows_off(fields: Fields, words: list[str]) -> list[str]:
    """`use_sliding_window` false makes windowed layers full."""
    fields.ignore("use_sliding_window")
    if fields.raw.get("use_sliding_window") is not False or SLIDING not in words:
        return words
    fields.note("use_sliding_window", msg("windows are off: every layer is full"))
    return [FULL if word == SLIDING else word for word in words]


def _listed(fields: Fields, count: int) -> list[str] | None:
    """`layer_types` and its kin: one word a layer."""
    for key in ("layer_types", "attention_types", "attn_types", "attn_layer_types"):
        if isinstance(fields.raw.get(key), list):
            words = [word.lower() if isinstance(word, str) else repr(word)[:40] for word in fields.items(key, length=count) or ()]
            fields.note(key, msg("layers by kind: {summary}", summary=_summary(words)), _summary(words))
            return [WORDS.get(word, word) for word in words]
    if isinstance(fields.raw.get("hybrid_layers_types_block"), list):
        return _in_blocks(fields, count)
    pattern = fields.raw.get("sliding_window_pattern", fields.raw.get("_sliding_window_pattern"))
    if isinstance(pattern, str) and pattern and set(pattern.upper()) <= {"L", "G"}:
        words = [pattern[index % len(pattern)].lower() for index in range(count)]
        fields.note("sliding_window_pattern", msg("L slides, G is full, repeated over the layers"))
        return [WORDS[word] for word in words]
    return None


def _in_blocks(fields: Fields, count: int) -> list[str]:
    """First layers, a block repeated `num_hybrid_layers_block` times, last layers (IQuest Q1). Raises InputError where they are not `count` layers together."""
    block, times = fields.items("hybrid_layers_types_block") or [], fields.int_or(21, "SGLang 0.5.23 IQuestQ1Config", "num_hybrid_layers_block")
    ends = [fields.items(key) or [] for key in ("first_layers_types", "last_layers_types")]
    listed = [*ends[0], *block * times, *ends[1]]
    if len(listed) != count:
        raise InputError(
            msg(
                "{file}: {key} has {count} entries, the model {length} layers",
                file=fields.file,
                key=fields.at("hybrid_layers_types_block"),
                count=len(listed),
                length=count,
            ),
            msg("The file may be trimmed or edited; take it from the model's own repository."),
        )
    words = [str(word).lower()[:40] for word in listed]
    fields.note("hybrid_layers_types_block", msg("layers by kind: {summary}", summary=_summary(words)), _summary(words))
    if fields.raw.get("use_hybrid_layers") is False:
        fields.ignore("use_hybrid_layers")
        return [FULL] * count
    fields.ignore("use_hybrid_layers")
    return [WORDS.get(word, word) for word in words]


def _summary(words: list[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(words).items())


def _numbered(fields: Fields, count: int) -> list[str] | None:
    """Lists of numbers: 1 slides (MiMo-V2), NoPE layers are full (Llama 4), a window per layer."""
    if fields.raw.get("hybrid_layer_pattern") is not None:
        marks = per_layer(fields, count, "hybrid_layer_pattern") or []
        fields.note("hybrid_layer_pattern", msg("1 slides, 0 is full: {sliding} of {count} layers slide", sliding=sum(map(bool, marks)), count=count), marks)
        return [SLIDING if mark else FULL for mark in marks]
    for key in LOCAL_SETS:
        if isinstance(fields.raw.get(key), list):
            local = layer_ids(fields, key, count) or frozenset()
            fields.note(key, msg("{sliding} of {count} layers slide", sliding=len(local), count=count), sorted(local))
            return [SLIDING if index in local else FULL for index in range(count)]
    if isinstance(fields.raw.get("no_rope_layers"), list) and fields.raw["no_rope_layers"] and fields.raw.get("attention_chunk_size") is not None:
        marks = per_layer(fields, count, "no_rope_layers") or []
        fields.note(
            "no_rope_layers",
            msg("layers without positions (0) are full, the others chunked: {full} of {count} are full", full=marks.count(0), count=count),
            marks,
        )
        return [CHUNKED if mark else FULL for mark in marks]
    if isinstance(fields.raw.get("sliding_window"), list):
        return [SLIDING if window else FULL for window in per_layer(fields, count, "sliding_window") or ()]
    behind = _behind(fields, count)
    if behind is not None:
        fields.note("window_sizes", msg("{sliding} of {count} layers slide", sliding=sum(map(bool, behind)), count=count), sorted(set(behind)))
        return [SLIDING if window else FULL for window in behind]
    return None


def _behind(fields: Fields, count: int) -> list[int] | None:
    """`window_sizes` (Domyn): pairs of tokens seen behind and ahead in every layer, as window lengths with the token itself; 0 for layers that see all."""
    if not isinstance(fields.raw.get("window_sizes"), list):
        return None
    pairs = fields.items("window_sizes", length=count) or []
    firsts = Fields(
        {"window_sizes": [cast("list[object]", pair)[0] if isinstance(pair, list) and pair else pair for pair in pairs]}, fields.path, file=fields.file
    )
    return [size + 1 if size > 0 else 0 for size in firsts.ints("window_sizes") or ()]


def _every(count: int, period: int, other: str = SLIDING) -> list[str]:
    return [FULL if (index + 1) % period == 0 else other for index in range(count)]


def _periodic(fields: Fields, count: int) -> list[str] | None:
    """One full layer in every n."""
    for key in ("sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers", "layer_switch"):
        if isinstance(fields.raw.get(key), int) and fields.raw.get("sliding_window") is not None:
            period = fields.integer(key)
            fields.note(key, msg("every {period}th layer is full, the others slide", period=period))
            return _every(count, period)
    return None


def attention_layers(
    fields: Fields, count: int, hidden: int, defaults: Defaults, *, sinks: frozenset[str] = frozenset(), words: list[str] | None = None
) -> list[Attention | str]:
    """One `Attention` a layer; a layer whose kind is no softmax attention comes back as its word. `sinks`: kinds with attention sinks; `words`: kinds already read."""
    words = words or kinds(fields, count, defaults)
    base = base_heads(fields, hidden, defaults, count)
    heads = {FULL: _variant(fields, base, FULL_PREFIXES), SLIDING: _variant(fields, base, SLIDING_PREFIXES), CHUNKED: base}
    sizes = {
        SLIDING: _size(fields, words, SLIDING, WINDOW, defaults.window, defaults.source),
        CHUNKED: _size(fields, words, CHUNKED, CHUNK, defaults.chunk, defaults.source),
    }
    fields.note(QUERY[0], msg("query heads"), base.query)
    fields.note(KV[0], msg("each token keeps K and V rows for {kv} heads; {query} query heads share them", kv=base.kv, query=base.query), base.kv)
    queries = per_layer(fields, count, "num_attention_heads_per_layer") or _list_only(fields, count, *QUERY)
    keys = per_layer(fields, count, "num_key_value_heads_per_layer", "num_kv_heads_per_layer") or _list_only(fields, count, *KV)
    windows = per_layer(fields, count, "sliding_window") if isinstance(fields.raw.get("sliding_window"), list) else _behind(fields, count)
    if queries is not None and len(set(queries)) > 1:
        fields.note("num_attention_heads_per_layer", msg("query heads differ by layer"), sorted(set(queries)))
    layers: list[Attention | str] = []
    for index, word in enumerate(words):
        if word not in heads:
            layers.append(word)
            continue
        mine = heads[word]
        size = sizes.get(word)
        if word == SLIDING and windows:
            size = windows[index]
        layers.append(_attention(word, mine, size, queries[index] if queries else None, keys[index] if keys else None, word in sinks))
    return layers


def _list_only(fields: Fields, count: int, *keys: str) -> list[int] | None:
    found = next((key for key in keys if isinstance(fields.raw.get(key), list)), None)
    return per_layer(fields, count, found) if found else None


def _attention(word: str, heads: Heads, size: int | None, query: int | None, kv: int | None, sinks: bool) -> Attention:
    kind: Literal["full", "sliding", "chunked"] = "sliding" if word == SLIDING and size else "chunked" if word == CHUNKED and size else "full"
    return Attention(
        kind=kind,
        query_heads=query or heads.query,
        kv_heads=kv or heads.kv,
        head_dim=heads.dim,
        v_head_dim=heads.v_dim,
        window_tokens=size if kind == "sliding" else None,
        chunk_tokens=size if kind == "chunked" else None,
        sinks=sinks,
    )


def _size(fields: Fields, words: list[str], word: str, keys: tuple[str, ...], default: int | None, source: str) -> int | None:
    """Window or chunk in tokens for layers of this kind; unknown where the config has such layers but no size."""
    if word not in words or any(isinstance(fields.raw.get(key), list) for key in (*keys, "window_sizes")):
        return None
    size = fields.opt_int(*keys, minimum=1)
    if size is None and default:
        fields.assume(keys[0], default, source)
        return default
    if size is None:
        fields.unknown(keys[0], msg("{count} layers are called {word} but no size is given; they are counted as full", count=words.count(word), word=word))
        return None
    fields.note(keys[0], msg("{count} {word} layers keep no more than {size} tokens", count=words.count(word), word=word, size=size), size)
    return size
