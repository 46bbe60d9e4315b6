"""An architecture nobody claims, read by its fields alone: what they give is derived, what they leave open is reported as unknown.

Layers, heads, windows, states and experts come from the same readers that the dialects use, so a known model under another name has the same cache.
Module names, norms, biases and gates do not stand in a config: parameter totals are approximate, and the report says so.
"""

from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from serveright.errors import InputError
from serveright.families import decilm, decoder, deepseek_v4, hybrid, inkling, latent, longcat, minimax, overrides, qwen4, recurrent, wrapped, wrapped_towers
from serveright.families import ffn as feed
from serveright.families.attention import WORDS, Defaults, attention_layers
from serveright.families.blocks import norm
from serveright.families.decoder import Style, attention_weights, borders
from serveright.families.dialects import reader_of
from serveright.families.encoder_decoder import refuse
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, layer_count, open_frame, text_of
from serveright.families.predictors import KEYS, Predictor, predict
from serveright.types.model import Attention, Ffn, Latent, Layer, Mixer, ModelShape, Recurrent, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_HIDDEN = ("hidden_size", "d_model", "n_embd")
_WIDTHS = (*feed.WIDTH, "intermediate_size")
_DENSE = ("dense_intermediate_size", "prefix_dense_intermediate_size", "intermediate_size_mlp", *feed.DENSE_WIDTH, "ffn_dim", "n_inner", "mlp_hidden_size")
_SOURCE = "serveright (plain multi-head attention)"
_TELLING: tuple[tuple[tuple[str, ...], Callable[[Fields, ModelFiles], ModelShape]], ...] = (
    (("compress_ratios",), deepseek_v4.shape),
    (("kv_lora_rank", "ffn_hidden_size", "expert_ffn_hidden_size"), longcat.shape),
    (("sconv_kernel_size", "local_layer_ids", "swa_num_key_value_heads"), inkling.shape),
    (("ple_layer_ids", "indexer_compress_ratio", "hc_lowrank"), qwen4.shape),
)
"""Fields that only one known layout has -> its reader."""


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A shape with its unknowns. Raises InputError when the config has no usable fields or is an encoder-decoder's."""
    if fields.raw.get("is_encoder_decoder") is True:
        refuse(fields.raw.get("architectures") or fields.raw.get("model_type"))
    text = text_of(fields)
    if not any(text.raw.get(key) is not None for key in _HIDDEN):
        raise InputError(
            msg("{origin}: no fields of a language model in config.json", origin=files.origin),
            msg("Give the config.json of a causal language model; it names hidden_size, num_hidden_layers and num_attention_heads."),
        )
    fields.unknown(
        "architectures",
        msg(
            "nobody here knows {name}: layers and cache were read by their fields; module names, norms, biases and gates were taken as Llama's, so parameter totals are approximate",
            name=_named(fields.raw.get("architectures")),
        ),
    )
    base = wrapped.decoder_of(text, fields)
    inner = reader_of(base) if base else None
    if base and inner and fields.raw.get("architectures"):
        return replace(wrapped.around(fields, text, files, base, inner), dialect="unclaimed")
    for keys, reader in _TELLING:
        if all(text.raw.get(key) is not None for key in keys):
            return replace(reader(fields, files), dialect="unclaimed")
    return _decoder(fields, text, files)


def _decoder(fields: Fields, text: Fields, files: ModelFiles) -> ModelShape:
    style = _style(text)
    frame = open_frame(fields, text, root=style.root, nested_root=style.nested_root, head=style.head, nested_head=style.nested_head, partial=True)
    alone = isinstance(text.raw.get("block_configs"), list)
    eyes, more, modalities = wrapped_towers.read(fields, files, frame.hidden)
    blocks = decilm.read_blocks(frame, style) if alone else minimax.indexed(frame, _blocks(frame, style))
    found = close_frame(
        frame,
        files,
        dialect="unclaimed",
        blocks=blocks,
        mtp=_prediction(frame, style, blocks),
        extra=[*borders(frame, style), *more],
        towers=eyes,
        modalities=("text", *modalities),
    )
    return found if _causal(text) else decoder.bidirectional(found)


def _style(text: Fields) -> Style:
    """What flags in the config say about the small parts."""
    bias = text.flag("attention_bias", "qkv_bias", "use_qkv_bias", "use_bias")
    normed = text.flag("use_qk_norm", "qk_norm", "qk_layernorm")
    gated = text.flag("attn_output_gate", "attention_output_gate", "use_attn_output_gate")
    per_head = text.flag("use_head_wise_attn_gate", "use_headwise_attn_gate")
    return Style(
        dialect="unclaimed",
        defaults=Defaults(source=_SOURCE),
        qkv_bias=bias,
        qk_norm="head" if normed else "none",
        gate="head" if per_head else "full" if gated else "none",
        width_keys=_WIDTHS,
        dense_keys=_DENSE,
    )


def _blocks(frame: Frame, style: Style) -> list[Block]:
    text = frame.text
    count = layer_count(text, *hybrid.WORD_LISTS, *hybrid.LETTERS, "hybrid_layer_pattern")
    words = hybrid.words(text, count) if _mixed(text) else None
    mixers = overrides.apply(text, _block_sparse(text, _mixers(frame, style, count, words)))
    ffns = _ffns(text, count, words, style)
    shared = _sharing(text, mixers)
    blocks: list[Block] = []
    for index, (mine, own) in enumerate(zip(mixers, ffns, strict=True)):
        path = f"{frame.root}layers.{index}"
        weights = [w for mixer in mine for w in _mixer_weights(style, path, index, frame.hidden, mixer)]
        weights += [w for ffn in own for w in feed.weights(path, index, frame.hidden, ffn, style.names)]
        for name, present in zip(style.norms, (mine, own), strict=True):
            weights += norm(f"{path}.{name}", frame.hidden, layer=index) if present else []
        blocks.append(Block(layer=Layer(index=index, mixers=mine, ffns=own, cache_from=shared[index]), weights=weights))
    return blocks


def _block_sparse(text: Fields, mixers: list[tuple[Mixer, ...]]) -> list[tuple[Mixer, ...]]:
    """Full layers that read chosen blocks of their rows and store them all (MiniCPM-SALA's `sparse_config`)."""
    config = text.child("sparse_config")
    block = config.opt_int("block_size", minimum=1) if config is not None else None
    if config is None or block is None:
        return mixers
    config.ignore(*config.raw)
    text.note("sparse_config", msg("full layers read chosen blocks of {block} tokens", block=block), "…")

    def marked(mixer: Mixer) -> Mixer:
        return replace(mixer, sparse_block_tokens=block) if isinstance(mixer, Attention) and mixer.kind == "full" else mixer

    return [tuple(map(marked, layer)) for layer in mixers]


def _mixed(text: Fields) -> bool:
    """Anything but rows of K and V heads in every layer."""
    if (
        text.raw.get("kv_lora_rank") is not None
        or latent_index(text)
        or hybrid.is_recurrent(text)
        or any(text.raw.get(key) is not None for key in hybrid.LETTERS)
    ):
        return True
    key = next((name for name in hybrid.WORD_LISTS if isinstance(text.raw.get(name), list)), None)
    return any(str(word).lower() not in WORDS for word in (text.items(key) or () if key else ()))


def latent_index(text: Fields) -> bool:
    """The config has an indexer's fields."""
    return any(text.raw.get(key) is not None for key in latent.INDEX_TOPK)


def _mixers(frame: Frame, style: Style, count: int, words: list[str] | None) -> list[tuple[Mixer, ...]]:
    """Fields of rows, states and indexers decide; plain attention layers then take the dimensions of their own kind."""
    text = frame.text
    if not _mixed(text):
        return [(mixer,) for mixer in decoder.mixers(frame, count, style, own=False)]
    found = hybrid.mixers(text, frame.hidden, count, source=_SOURCE)
    if not any(isinstance(mixer, Attention) for layer in found for mixer in layer):
        return found
    plain = attention_layers(text, count, frame.hidden, style.defaults, words=[WORDS.get(word, "full") for word in words] if words else None)
    return [tuple(_refine(mixer, plain[index]) for mixer in layer) for index, layer in enumerate(found)]


def _refine(mixer: Mixer, plain: Attention | str) -> Mixer:
    if isinstance(mixer, Attention) and isinstance(plain, Attention):
        return replace(plain, indexer=mixer.indexer)
    return mixer


def _ffns(text: Fields, count: int, words: list[str] | None, style: Style) -> list[tuple[Ffn, ...]]:
    """One block a layer; where mixers and MLPs take turns (Nemotron-H), only the layers called so have one."""
    if not any(text.raw.get(key) is not None for key in (*style.width_keys, *style.dense_keys)):
        text.unknown("intermediate_size", msg("no width of an MLP is given; MLPs are not counted"))
        return [()] * count
    gated = text.raw.get("mlp_hidden_act") != "relu2" and text.raw.get("hidden_act") not in ("relu2", "xielu")
    text.ignore("mlp_hidden_act")
    turns = words is not None and any(word in hybrid.NO_MIXER for word in words)
    if not turns:
        return [(ffn,) for ffn in feed.plan(text, count, dense_keys=style.dense_keys, width_keys=style.width_keys, gated=gated)]
    moe = feed.read_moe(text, width_keys=style.width_keys, gated=gated)
    found: list[tuple[Ffn, ...]] = []
    for index, word in enumerate(words or ()):
        if word in ("moe", "e") and moe:
            found.append((moe,))
        elif word in ("mlp", "ffn", "-"):
            found.append((Ffn(kind="dense", intermediate=feed.layer_width(text, index, count, style.dense_keys), gated=gated),))
        else:
            found.append(())
    return found


def _sharing(text: Fields, mixers: list[tuple[Mixer, ...]]) -> list[int | None]:
    """Layers that read an earlier layer's rows: the last `num_kv_shared_layers`, or groups of `cla_share_factor`."""
    count = len(mixers)
    last = min(text.opt_int("num_kv_shared_layers") or 0, count)
    if last:
        text.note("num_kv_shared_layers", msg("the last {shared} layers read the rows of an earlier layer of their kind and store none", shared=last))
        kinds = [[mixer.kind for mixer in layer if isinstance(mixer, Attention)] for layer in mixers]
        return [
            next((earlier for earlier in range(count - last - 1, -1, -1) if kinds[earlier] == kinds[index]), None) if index >= count - last else None
            for index in range(count)
        ]
    factor = text.opt_int("cla_share_factor", minimum=1) or 1
    if text.flag("use_cla") and factor > 1:
        text.note("cla_share_factor", msg("groups of {factor} layers share one layer's rows", factor=factor))
        return [index - index % factor if index % factor else None for index in range(count)]
    return hybrid.cache_sources(text, count)


def _mixer_weights(style: Style, path: str, index: int, hidden: int, mixer: Mixer) -> list[Weight]:
    if isinstance(mixer, Attention):
        return attention_weights(style, f"{path}.self_attn", index, hidden, mixer)
    if isinstance(mixer, Latent):
        return latent.weights(f"{path}.self_attn", index, hidden, mixer)
    if isinstance(mixer, Recurrent):
        return _recurrent_weights(f"{path}.linear_attn", index, hidden, mixer)
    return []


def _recurrent_weights(path: str, index: int, hidden: int, mixer: Recurrent) -> list[Weight]:
    if mixer.kind == "gated_deltanet":
        return recurrent.gated_delta_weights(path, index, hidden, mixer, fused=False)
    if mixer.kind == "kimi_delta":
        return recurrent.kda_weights(path, index, hidden, mixer, full_gate=False)
    if mixer.kind == "mamba2":
        return recurrent.mamba2_weights(path, index, hidden, mixer)
    if mixer.kind == "mamba1":
        return recurrent.mamba1_weights(path, index, hidden, mixer, dt_rank=-(-hidden // 16), norms=False)
    if mixer.kind == "short_conv":
        return recurrent.short_conv_weights(path, index, hidden, mixer, bias=False)
    width = mixer.state_heads * mixer.value_dim
    return attention_weights(
        Style(dialect="unclaimed", defaults=Defaults(source=_SOURCE), gate="full" if width else "none"),
        path,
        index,
        hidden,
        Attention(kind="full", query_heads=mixer.state_heads, kv_heads=mixer.state_heads, head_dim=max(1, mixer.key_dim), v_head_dim=max(1, mixer.value_dim)),
    )


def _prediction(frame: Frame, style: Style, blocks: list[Block]) -> list[Block]:
    """Prediction layers where the config names some: like the last layer of the model."""
    if not blocks or not blocks[-1].layer.mixers or not blocks[-1].layer.ffns or not isinstance(blocks[-1].layer.mixers[0], (Attention, Latent)):
        frame.text.ignore(*KEYS)
        return []
    key = next((name for name in KEYS if frame.text.raw.get(name)), None)
    if key:
        frame.text.unknown(key, msg("prediction layers of an unknown architecture were taken to be like its last layer"))
    return predict(frame, style, blocks, Predictor())


def _causal(text: Fields) -> bool:
    """`is_decoder` says nothing: the library writes false for every decoder too."""
    if text.raw.get("is_causal") is False:
        text.note("is_causal", msg("every token sees every other: an encoder, no cache"))
        return False
    return True


def _named(architectures: object) -> str:
    """The class names of a config, as a reader would say them."""
    names = cast("list[object]", architectures) if isinstance(architectures, list) else [architectures] if architectures else []
    return (", ".join(map(str, names)) or "this architecture")[:80]
