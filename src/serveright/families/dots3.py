"""Dots3-Note and Mistral Large 4: latent attention with an indexer, where layers differ in widths (window layers, layers without positions) or read an earlier layer's rows."""

from msgspec.structs import replace

from serveright.families import dots_towers, latent, overrides, towers
from serveright.families import ffn as feed
from serveright.families.blocks import linear, norm
from serveright.families.decoder import Towers
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.families.layer_ids import own_or_earlier
from serveright.types.model import Indexer, Latent, Layer, ModelShape, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_DOTS = {"Dots3NoteForConditionalGeneration", "Dots3NoteForCausalLM"}
ARCHITECTURES = frozenset(_DOTS | {"MistralLarge4ForConditionalGeneration", "MistralLarge4ForCausalLM"})


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), nested_root="model.language_model.")
    dots = files.config["architectures"][0] in _DOTS
    frame.text.ignore("shared_experts_intermediate_size")
    count = layer_count(frame.text, "layer_types")
    mixers = _dots_layers(frame.text, count) if dots else _mistral_layers(frame.text, count)
    sources = _sources(frame.text, count)
    ffns = feed.plan(frame.text, count)
    blocks: list[Block] = []
    for i, mixer in enumerate(mixers):
        path = f"{frame.root}layers.{i}"
        weights = [
            *norm(f"{path}.input_layernorm", frame.hidden, layer=i),
            *(_dots_attention if dots else _mistral_attention)(f"{path}.self_attn", i, frame.hidden, mixer, sources[i] is not None),
            *norm(f"{path}.post_attention_layernorm", frame.hidden, layer=i),
            *feed.weights(path, i, frame.hidden, ffns[i], feed.FfnNames(router_bias="gate.e_score_correction_bias" if dots else None)),
        ]
        blocks.append(Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffns[i],), cache_from=sources[i]), weights=weights))
    eyes, tower, modalities = (_dots_towers if dots else _mistral_eyes)(fields, frame)
    return close_frame(frame, files, dialect="dots3", blocks=blocks, extra=[*edges(frame), *tower], towers=eyes, modalities=("text", *modalities))


def _dots_layers(text: Fields, count: int) -> list[Latent]:
    """`indexed_attention` layers pick their tokens, `sliding_attention` layers keep a window of rows of their own width."""
    base, indexer = latent.read_latent(text), latent.read_indexer(text)
    words = [str(word) for word in text.items("layer_types", length=count) or ["indexed_attention"] * count]
    window = text.integer("sliding_window", "sliding_window_size") if "sliding_attention" in words else 0
    slides = latent.read_sliding(text, base, window) if window else base
    text.note(
        "layer_types",
        msg(
            "{sparse} layers with an indexer, {window} with a window", sparse=count - words.count("sliding_attention"), window=words.count("sliding_attention")
        ),
    )
    own = [slides if word == "sliding_attention" else latent.sparse(base, indexer) for word in words]
    found = overrides.apply(text, [(mixer,) for mixer in own])
    return [mixer for layer in found for mixer in layer if isinstance(mixer, Latent)]


def _mistral_layers(text: Fields, count: int) -> list[Latent]:
    """Layers without positions turn the rotary part of queries and keys into a plain one: their row is the latent alone."""
    base, indexer = latent.read_latent(text), latent.read_indexer(text)
    owners = latent.index_owners(text, count) if indexer else (True,) * count
    marks = text.ints("no_rope_layers") or (1,) * count
    text.note("no_rope_layers", msg("{count} layers without positions keep the latent row alone", count=count - sum(map(bool, marks[:count]))), "…")
    text.ignore("layer_types", "head_dim")
    bare = replace(base, rope_dim=0, nope_dim=base.nope_dim + base.rope_dim)
    return [latent.sparse(base if i >= len(marks) or marks[i] else bare, indexer, owns=owners[i]) for i in range(count)]


def _sources(text: Fields, count: int) -> list[int | None]:
    """Whose rows each layer reads: its own (None) or an earlier layer's."""
    listed = text.ints("kv_source_layers")
    if not listed:
        return [None] * count
    found = own_or_earlier(text, "kv_source_layers", listed[:count])
    found += [None] * (count - len(found))
    text.note("kv_source_layers", msg("{shared} layers read the rows of an earlier layer and store none", shared=count - found.count(None)), "…")
    return found


def _dots_attention(path: str, i: int, hidden: int, mixer: Latent, shared: bool) -> list[Weight]:
    weights = latent.weights(path, i, hidden, mixer)
    weights += norm(f"{path}.k_rope_only_layernorm", mixer.rope_dim, layer=i)
    return weights + linear(f"{path}.g_proj", "attention", mixer.query_heads, hidden, "q_heads", layer=i, units=mixer.query_heads)


def _mistral_attention(path: str, i: int, hidden: int, mixer: Latent, shared: bool) -> list[Weight]:
    """Learned softmax scales per head for attention and indexer, a LayerNorm on the indexer's input."""
    weights = latent.weights(path, i, hidden, mixer)
    if shared:
        weights = [weight for weight in weights if "kv_a_" not in weight.path]
    weights += [_scale(f"{path}.softmax_scaling.{name}", mixer.query_heads, i) for name in ("scale", "bias")]
    if isinstance(mixer.indexer, Indexer) and mixer.indexer.owns_keys:
        weights += norm(f"{path}.indexer.q_input_norm", hidden, layer=i, bias=True, part="indexer")
        weights += [_scale(f"{path}.indexer.softmax_scaling.{name}", mixer.indexer.heads, i) for name in ("scale", "bias")]
    return weights


def _scale(path: str, heads: int, layer: int) -> Weight:
    return Weight(path=path, part="attention", shape=(heads,), shard="replicated", linear=False, layer=layer)


def _mistral_eyes(fields: Fields, frame: Frame) -> Towers:
    """Pixtral and the projector of Mistral 3."""
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images in"), "…")
    merge = fields.integer("spatial_merge_size")
    eye, weights = towers.pixtral(config, "model.vision_tower", merge)
    bias, path = fields.flag("multimodal_projector_bias"), "model.multi_modal_projector"
    config.ignore("num_channels")
    fields.ignore("vision_feature_layer", "projector_hidden_act", "image_token_index")
    weights = [
        *weights,
        *norm(f"{path}.norm", eye.hidden, part="vision"),
        *towers.dense(f"{path}.patch_merger.merging_layer", eye.hidden, eye.hidden * merge * merge, bias=False),
        *towers.dense(f"{path}.linear_1", frame.hidden, eye.hidden, bias=bias),
        *towers.dense(f"{path}.linear_2", frame.hidden, frame.hidden, bias=bias),
    ]
    return (eye,), weights, ("image",)


def _dots_towers(fields: Fields, frame: Frame) -> Towers:
    """An encoder for images and video, one for speech."""
    found: list[Tower] = []
    weights: list[Weight] = []
    for key, read, path in (("vision_config", dots_towers.eye, "model.vision_tower"), ("audio_config", dots_towers.ear, "model.audio_tower")):
        config = fields.child(key)
        if config is not None:
            one, own = read(config, path)
            found.append(one)
            weights += own
            fields.note(key, msg("an encoder stands in front"), "…")
    return tuple(found), weights, tuple({"vision": "image", "audio": "audio"}[one.kind] for one in found)
