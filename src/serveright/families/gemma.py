"""Gemma 2, 3, 3n and 4: windows between full layers with dimensions of their own, caches shared by the last layers, per-layer embeddings, a dense MLP beside experts."""

from collections.abc import Callable
from functools import partial
from typing import cast

from msgspec.structs import replace

from serveright.families import decoder, gemma_towers
from serveright.families import ffn as feed
from serveright.families.attention import Defaults
from serveright.families.blocks import linear, norm
from serveright.families.decoder import SANDWICH, Style, Towers, attention_weights, borders, mixers, start
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, layer_count, text_of
from serveright.types.model import Attention, Ffn, Layer, Mixer, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_GEMMA = {"GemmaForCausalLM"}
_GEMMA2 = {"Gemma2ForCausalLM"}
_GEMMA3 = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"}
_GEMMA3N = {"Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"}
_GEMMA4 = {"Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", "Gemma4UnifiedForConditionalGeneration"}
_IMAGE_PREFIX = {"Gemma3ForConditionalGeneration"}
"""Image tokens attend both ways whatever the config says."""
ARCHITECTURES = frozenset(_GEMMA | _GEMMA2 | _GEMMA3 | _GEMMA3N | _GEMMA4)
_OLD = Style(
    dialect="gemma", defaults=Defaults(source=""), tied=True, nested_root="language_model.model.", nested_head="language_model.lm_head", norms=SANDWICH
)
_NEW = replace(_OLD, nested_root="model.language_model.", nested_head="lm_head", qk_norm="head")


def _style(name: str) -> Style:
    """Layout and class defaults (transformers 5.24) of each generation."""
    if name in _GEMMA:
        return replace(_OLD, defaults=Defaults(source="transformers 5.24 GemmaConfig", head_dim=256), norms=("input_layernorm", "post_attention_layernorm"))
    if name in _GEMMA2:
        return replace(_OLD, defaults=Defaults(source="transformers 5.24 Gemma2Config", head_dim=256, kv_heads=4, window=4096, full_every=2))
    if name in _GEMMA3:
        return replace(
            _OLD, defaults=Defaults(source="transformers 5.24 Gemma3TextConfig", head_dim=256, kv_heads=4, window=4096, full_every=6), qk_norm="head"
        )
    if name in _GEMMA3N:
        return replace(_NEW, defaults=Defaults(source="transformers 5.24 Gemma3nTextConfig", head_dim=256, kv_heads=2, window=512, full_every=5))
    return replace(_NEW, defaults=Defaults(source="transformers 5.24 Gemma4TextConfig", head_dim=256, kv_heads=4, window=512, full_every=6))


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    style = _style(name)
    text = text_of(fields)
    _fill(text, name, style.defaults.source)
    if name in _GEMMA:
        style = replace(style, defaults=replace(style.defaults, full_every=1))
    causal = _causal(text)
    frame = start(fields, style, text)
    blocks = _blocks(frame, style, new=name in _GEMMA4, nano=name in _GEMMA3N)
    eyes, tower_weights, modalities = _towers(fields, files, name)(frame)
    extra = borders(frame, style) + _per_layer_tables(frame, len(blocks))
    if name in _GEMMA3N:
        extra += gemma_towers.altup_projections(frame)
    found = close_frame(frame, files, dialect="gemma", blocks=blocks, extra=extra + tower_weights, towers=eyes, modalities=("text", *modalities))
    if name in _IMAGE_PREFIX or text.raw.get("use_bidirectional_attention") == "vision":
        found = replace(found, image_prefix=bool(eyes))
    return found if causal else decoder.bidirectional(found)


def _causal(text: Fields) -> bool:
    """False where every token sees every other (embedding models); `vision` loosens only image tokens, which changes no cache."""
    key = "use_bidirectional_attention"
    both = text.raw.get(key) in (True, "all")
    if both:
        text.note(key, msg("every token sees every other: an encoder, no cache"))
    else:
        text.ignore(key)
    return not both


def _fill(text: Fields, name: str, source: str) -> None:
    """Class defaults of keys that trimmed Gemma configs leave out (Gemma 3 names no vocabulary)."""
    if name in _GEMMA3:
        text.default("vocab_size", 262208, source)
        text.default("num_attention_heads", 8, source)
        text.default("max_position_embeddings", 131072, source)
    if name in _GEMMA3N:
        text.default("vocab_size", 262400, source)
        text.default("num_kv_shared_layers", 15, source)
        text.default("hidden_size_per_layer_input", 256, source)
    if name in _GEMMA4:
        text.default("vocab_size", 262144, source)
        text.default("global_head_dim", 512, source)
        if name != "Gemma4UnifiedForConditionalGeneration":
            text.default("hidden_size_per_layer_input", 256, source)


def _blocks(frame: Frame, style: Style, *, new: bool, nano: bool) -> list[Block]:
    text = frame.text
    count = layer_count(text, "layer_types")
    same = new and text.flag("attention_k_eq_v")
    if same:
        text.note("attention_k_eq_v", msg("full layers store no V projection: V is K before its norm; both rows are still cached"))
    if new and not same:
        text.without("num_global_key_value_heads")
    if new:
        _close(text, count)
    found = mixers(frame, count, style)
    shared = min(text.opt_int("num_kv_shared_layers") or 0, count)
    if shared:
        text.note("num_kv_shared_layers", msg("the last {shared} layers read the rows of an earlier layer of their kind and store none", shared=shared))
    extra = text.opt_int("hidden_size_per_layer_input") or 0
    moe = _moe(text) if new and text.flag("enable_moe_block") else None
    text.ignore("enable_moe_block", "num_experts", "top_k_experts", "moe_intermediate_size", "expert_intermediate_size")
    wide = new and text.flag("use_double_wide_mlp")
    result: list[Block] = []
    for index, mixer in enumerate(found):
        source = _source(found, index, count - shared)
        width = feed.layer_width(text, index, count, ("intermediate_size",))
        dense = Ffn(kind="dense", intermediate=width * 2 if wide and source is not None else width)
        path = f"{frame.root}layers.{index}"
        weights = [w for part in style.norms for w in norm(f"{path}.{part}", frame.hidden, layer=index)]
        weights += _attention(style, path, index, frame.hidden, mixer, same=same)
        weights += feed.weights(path, index, frame.hidden, dense, style.names)
        if moe:
            weights += _moe_weights(path, index, frame.hidden, moe)
        if extra:
            weights += _per_layer_weights(path, index, frame.hidden, extra)
        if new:
            weights.append(Weight(path=f"{path}.layer_scalar", part="other", shape=(1,), shard="replicated", linear=False, layer=index))
        if nano:
            weights += gemma_towers.altup(text, path, index, frame.hidden)
        ffns = (dense, moe) if moe else (dense,)
        result.append(Block(layer=Layer(index=index, mixers=(mixer,), ffns=ffns, cache_from=source), weights=weights))
    return result


def _close(text: Fields, count: int) -> None:
    """Gemma 4's class makes the last layer full whatever the list says (transformers Gemma4TextConfig.__post_init__)."""
    listed = text.raw.get("layer_types")
    if isinstance(listed, list) and len(cast("list[str]", listed)) == count and listed[-1] != "full_attention":
        text.raw["layer_types"] = [*cast("list[str]", listed)[:-1], "full_attention"]
        text.note("layer_types", msg("the last layer is full attention whatever the list says: the config's class sees to that"))


def _source(found: list[Mixer], index: int, first_shared: int) -> int | None:
    """The last layer before the shared ones that has the same kind of attention."""
    if index < first_shared:
        return None
    mine = found[index]
    for earlier in range(first_shared - 1, -1, -1):
        other = found[earlier]
        if isinstance(mine, Attention) and isinstance(other, Attention) and mine.kind == other.kind:
            return earlier
    return None


def _attention(style: Style, path: str, index: int, hidden: int, mixer: Mixer, *, same: bool) -> list[Weight]:
    """Layers that share another's cache still store their unused K and V projections."""
    if not isinstance(mixer, Attention):
        return []
    weights = attention_weights(style, f"{path}.self_attn", index, hidden, mixer)
    return [weight for weight in weights if not (same and mixer.kind == "full" and weight.path.endswith(".v_proj"))]


def _moe(text: Fields) -> Ffn | None:
    return feed.read_moe(text)


def _moe_weights(path: str, index: int, hidden: int, moe: Ffn) -> list[Weight]:
    names = FfnNames(fused=("gate_up_proj", "down_proj"))
    weights = [
        Weight(path=f"{path}.router.proj", part="router", shape=(moe.experts, hidden), shard="replicated", layer=index),
        Weight(path=f"{path}.router.scale", part="router", shape=(hidden,), shard="replicated", linear=False, layer=index),
        Weight(path=f"{path}.router.per_expert_scale", part="router", shape=(moe.experts,), shard="replicated", linear=False, layer=index),
        *feed.experts(f"{path}.experts", index, hidden, moe, names),
    ]
    for name in ("post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2"):
        weights += norm(f"{path}.{name}", hidden, layer=index)
    return weights


def _per_layer_weights(path: str, index: int, hidden: int, extra: int) -> list[Weight]:
    """The gate and projection that bring a layer's own embedding into its residual."""
    return [
        *linear(f"{path}.per_layer_input_gate", "other", extra, hidden, "replicated", layer=index),
        *linear(f"{path}.per_layer_projection", "other", hidden, extra, "replicated", layer=index),
        *norm(f"{path}.post_per_layer_input_norm", hidden, layer=index),
    ]


def _per_layer_tables(frame: Frame, count: int) -> list[Weight]:
    """The packed table of per-layer embeddings and its projection."""
    extra = frame.text.opt_int("hidden_size_per_layer_input") or 0
    if not extra:
        frame.text.ignore("vocab_size_per_layer_input")
        return []
    rows = frame.text.int_or(262144, "transformers 5.24 Gemma4TextConfig", "vocab_size_per_layer_input")
    frame.text.note("hidden_size_per_layer_input", msg("every layer has an embedding table of its own, {rows} rows of {width}", rows=rows, width=extra))
    return [
        Weight(path=f"{frame.root}embed_tokens_per_layer", part="embed", shape=(rows, count * extra), shard="vocab", linear=False),
        *linear(f"{frame.root}per_layer_model_projection", "other", count * extra, frame.hidden, "replicated"),
        *norm(f"{frame.root}per_layer_projection_norm", extra),
    ]


def _towers(fields: Fields, files: ModelFiles, name: str) -> Callable[[Frame], Towers]:
    if name in _GEMMA3:
        return partial(gemma_towers.gemma3, fields)
    if name in _GEMMA4:
        return partial(gemma_towers.gemma4, fields)
    return partial(gemma_towers.gemma3n, fields)
