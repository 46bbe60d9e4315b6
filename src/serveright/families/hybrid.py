"""Which layer holds which mixer, for any decoder, by its fields alone: lists of words or letters, sets of layers, intervals, periods.

Used by dialects for their layer lists and for architectures nobody claims. What neither word nor fields explain becomes an UnknownMixer and is reported.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from serveright.families import attention, latent, recurrent
from serveright.families.fields import Fields
from serveright.families.layer_ids import layer_ids, own_or_earlier
from serveright.types.model import Attention, Latent, Mixer, Recurrent, UnknownMixer
from serveright.types.text import msg

WORD_LISTS = ("layer_types", "layers_block_type", "layer_block_types", "block_types", "mixer_types", "layers_types")
LETTERS = ("hybrid_override_pattern", "hybrid_pattern", "block_pattern")
MARKS = ("attn_type_list", "decoder_attention_types", "attention_type_list")
"""One number a layer: 1 is softmax attention, 0 a recurrent layer."""
SOFTMAX_SETS = (
    "attn_layer_indices",
    "full_attn_idxs",
    "gqa_layers",
    "attn_layers_idx",
    "full_attention_layers",
    "attention_layer_ids",
    "attn_layer_ids",
    "full_attn_layers",
)
"""Numbers of the softmax layers, counted from 0."""
INTERVALS = ("full_attention_interval", "full_attn_interval", "attn_interval", "layer_group_size")
"""Every n-th layer, counted from 1, is softmax."""
LETTER_WORDS = {"M": "mamba", "*": "attention", "A": "attention", "-": "mlp", "E": "moe"}
NO_MIXER = frozenset({"mlp", "moe", "ffn", "-", "e", "noop", "no_op"})
BOTH = frozenset({"hybrid", "parallel", "hybrid_mamba"})
"""A recurrent mixer and softmax attention side by side."""
_RECURRENT_FIELDS = (
    "linear_num_value_heads",
    "linear_attn_config",
    "linear_num_heads",
    "linear_head_dim",
    *recurrent.MAMBA_STATE,
    "conv_L_cache",
    "attn_type_list",
    "layer_group_size",
)


def is_recurrent(f: Fields) -> bool:
    """The config has fields of some recurrent layer."""
    return any(f.raw.get(key) is not None for key in _RECURRENT_FIELDS)


def words(f: Fields, count: int) -> list[str] | None:
    """One lower-case word a layer, None where the config does not say. `recurrent` and `full` stand for whatever the other fields describe."""
    for reader in (_listed, _lettered, _marked, _from_sets, _from_intervals):
        found = reader(f, count)
        if found is not None:
            return found
    return None


def _summary(found: Iterable[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in Counter(found).items())


def _listed(f: Fields, count: int) -> list[str] | None:
    for key in WORD_LISTS:
        if isinstance(f.raw.get(key), list):
            listed = f.items(key, length=None if key == "mixer_types" else count) or []
            if key == "mixer_types":  # a pattern, repeated over the layers (MiniCPM-SALA)
                listed = (listed * count)[:count] if len(listed) <= count else f.items(key, length=count) or []
            found = [str(word).lower()[:40] for word in listed]
            f.note(key, msg("layers by kind: {summary}", summary=_summary(found)), _summary(found))
            return found
    return None


def _lettered(f: Fields, count: int) -> list[str] | None:
    for key in LETTERS:
        letters = f.raw.get(key)
        if isinstance(letters, str) and letters:
            found = [LETTER_WORDS.get(letter, letter) for letter in letters[:count]]
            f.note(key, msg("layers by kind: {summary}", summary=_summary(found)))
            if len(letters) < count:
                f.unknown(key, msg("{given} entries for {count} layers", given=len(letters), count=count))
                found += ["unknown"] * (count - len(letters))
            return found
    return None


def _marked(f: Fields, count: int) -> list[str] | None:
    for key in MARKS:
        if isinstance(f.raw.get(key), list):
            f.items(key, length=count)
            found = ["full" if mark else "recurrent" for mark in f.ints(key) or ()]
            f.note(key, msg("hybrid: {linear} linear and {full} softmax attention layers", linear=found.count("recurrent"), full=found.count("full")))
            return found
    return None


def _from_sets(f: Fields, count: int) -> list[str] | None:
    own = f.raw.get("linear_attn_config")
    if isinstance(own, dict) and own.get("full_attn_layers") is not None:
        inner = f.child("linear_attn_config")
        listed = (layer_ids(inner, "full_attn_layers", count, first=1) if inner else None) or frozenset()
        return ["full" if i in listed else "recurrent" for i in range(count)]
    for key in SOFTMAX_SETS:
        if isinstance(f.raw.get(key), list):
            listed = layer_ids(f, key, count) or frozenset()
            f.note(key, msg("hybrid: {linear} linear and {full} softmax attention layers", linear=count - len(listed), full=len(listed)), sorted(listed))
            return ["full" if i in listed else "recurrent" for i in range(count)]
    return None


def _from_intervals(f: Fields, count: int) -> list[str] | None:
    if not is_recurrent(f):
        return None
    for key in INTERVALS:
        step = f.opt_int(key, minimum=1)
        if step:
            whole = count // step * step if key == "layer_group_size" else count
            found = ["full" if (i + 1) % step == 0 or i >= whole else "recurrent" for i in range(count)]
            f.note(key, msg("hybrid: {linear} linear and {full} softmax attention layers", linear=found.count("recurrent"), full=found.count("full")))
            return found
    period, offset = f.opt_int("attn_layer_period", minimum=1), f.opt_int("attn_layer_offset")
    if period:
        found = ["full" if i % period == (offset or 0) % period else "recurrent" for i in range(count)]
        f.note(
            "attn_layer_period", msg("hybrid: {linear} linear and {full} softmax attention layers", linear=found.count("recurrent"), full=found.count("full"))
        )
        return found
    return None


def softmax(f: Fields, hidden: int, count: int, word: str, source: str) -> Latent | Attention | None:
    """The softmax mixer a word names: latent where the config has a latent rank, else heads; None for a word that is no softmax attention."""
    kind = attention.WORDS.get(word, "full" if word in _LATENT_WORDS else None)
    if kind is None:
        return None
    window = f.opt_int(*attention.WINDOW, minimum=1) if kind == attention.SLIDING else None
    indexer = latent.read_indexer(f)
    if f.raw.get("kv_lora_rank") is not None:
        row = latent.sparse(latent.read_latent(f), indexer if kind == attention.FULL else None)
        return latent.read_sliding(f, row, window) if window else row
    heads = attention.base_heads(f, hidden, attention.Defaults(source=source), count)
    f.note(attention.KV[0], msg("softmax layers keep K and V rows for {kv} heads; {query} query heads share them", kv=heads.kv, query=heads.query), heads.kv)
    return Attention(
        kind="sliding" if window else "full",
        query_heads=heads.query,
        kv_heads=heads.kv,
        head_dim=heads.dim,
        v_head_dim=heads.v_dim,
        window_tokens=window,
        indexer=indexer if kind == attention.FULL else None,
    )


_LATENT_WORDS = frozenset({"mla", "latent", "sparse_mla", "deepseek_sparse_attention", "indexed_attention", "sparse_attention", "multi_head_latent_attention"})


def recurrent_mixer(f: Fields, hidden: int, word: str) -> Recurrent | None:
    """The recurrent mixer a word names, by the fields that are there; None where they describe none."""
    kind = recurrent.word_kind(f, word)
    if kind == "gated_deltanet":
        return recurrent.read_gated_delta(f)
    if kind == "kimi_delta":
        own = f.raw.get("linear_attn_config")
        return recurrent.read_kda(f, f.child("linear_attn_config") if isinstance(own, dict) else None)
    if kind == "mamba2":
        return recurrent.read_mamba2(f, hidden)
    if kind == "mamba1":
        return recurrent.read_mamba1(f, hidden)
    if kind == "short_conv":
        return recurrent.read_short_conv(f, hidden)
    if kind == "lightning":
        return recurrent.read_lightning(f)
    return None


def mixers(f: Fields, hidden: int, count: int, *, source: str = "serveright (plain multi-head attention)") -> list[tuple[Mixer, ...]]:
    """The mixers of every layer. `source` names whose class default fills missing heads."""
    found = words(f, count)
    if found is None and _mamba_beside(f):
        f.unknown(
            next(key for key in recurrent.MAMBA_STATE if f.raw.get(key) is not None),
            msg("no list says which layers hold Mamba; every layer is taken to hold a Mamba mixer beside attention"),
        )
        found = ["hybrid"] * count
    found = found or ["full"] * count
    known: dict[str, tuple[Mixer, ...]] = {}
    for word in dict.fromkeys(found):
        known[word] = _of(f, hidden, count, word, source)
        if any(isinstance(mixer, UnknownMixer) for mixer in known[word]):
            f.unknown(
                "layer_types", msg("the layer type {word} of {count} layers is not known; its cache cannot be derived", word=word, count=found.count(word))
            )
    layers = [known[word] for word in found]
    owners = latent.index_owners(f, count) if any(_indexer(mixer) for layer in layers for mixer in layer) else ()
    return [tuple(_shared(mixer) if owners and not owners[i] else mixer for mixer in layer) for i, layer in enumerate(layers)]


def cache_sources(f: Fields, count: int) -> list[int | None]:
    """The layer whose rows each layer reads where a list with one entry a layer says so (`kv_source_layers`); None for its own."""
    listed = f.ints("kv_source_layers")
    if listed is None:
        return [None] * count
    if len(listed) != count:
        f.unknown("kv_source_layers", msg("{given} entries for {count} layers", given=len(listed), count=count))
        return [None] * count
    sources = own_or_earlier(f, "kv_source_layers", listed)
    own = sources.count(None)
    f.note("kv_source_layers", msg("{own} of {all} layers store rows of their own, the others read an earlier layer's", own=own, all=count), own)
    return sources


def _mamba_beside(f: Fields) -> bool:
    """Fields of Mamba and of attention heads, and no layer list (Falcon-H1's way)."""
    return any(f.raw.get(key) is not None for key in recurrent.MAMBA_STATE) and any(f.raw.get(key) is not None for key in attention.QUERY[:2])


def _indexer(mixer: Mixer) -> bool:
    return isinstance(mixer, (Attention, Latent)) and mixer.indexer is not None


def _shared(mixer: Mixer) -> Mixer:
    if isinstance(mixer, (Attention, Latent)) and mixer.indexer is not None:
        return replace(mixer, indexer=replace(mixer.indexer, owns_keys=False))
    return mixer


def _of(f: Fields, hidden: int, count: int, word: str, source: str) -> tuple[Mixer, ...]:
    if word in NO_MIXER:
        return ()
    if word in BOTH or word.removesuffix("_sliding") in BOTH:
        pair = (recurrent_mixer(f, hidden, "recurrent"), softmax(f, hidden, count, "sliding" if word.endswith("_sliding") else "full", source))
        return tuple(mixer or UnknownMixer(name=word) for mixer in pair)
    mixer = softmax(f, hidden, count, word, source) or recurrent_mixer(f, hidden, word)
    return (mixer or UnknownMixer(name=word),)
