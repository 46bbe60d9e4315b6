"""Nemotron-H to Nemotron-3.5: each layer is one thing only, a Mamba-2 mixer, an attention, an MLP or a block of experts, as a string or a list says."""

from collections import Counter
from typing import Any, cast

from msgspec.structs import replace

from serveright.errors import InputError
from serveright.families import attention, recurrent
from serveright.families import ffn as feed
from serveright.families.blocks import gqa, linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import MTP, Block, Frame, close_frame, edges, open_frame, text_of
from serveright.families.radio_tower import radio
from serveright.types.model import Attention, Ffn, Layer, Mixer, ModelShape, UnknownMixer, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"NemotronHForCausalLM", "NemotronHPuzzleForCausalLM", "NemotronH_Nano_VL_V2", "NemotronH_Nano_Omni_Reasoning_V3"})
_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
_WORDS = {"linear_attention": "mamba", "full_attention": "attention"}
"""How transformers calls them since 5.13."""
_ROUTED = feed.FfnNames(block="mixer", router_bias="gate.e_score_correction_bias", latent=("fc1_latent_proj", "fc2_latent_proj"))


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), root="backbone.", nested_root="language_model.backbone.", nested_head="language_model.lm_head")
    text = frame.text
    own = _own_blocks(text)
    words = _block_words(text, own) if own else layer_words(text, ("hybrid_override_pattern", "layers_block_type"))
    text.ignore("num_hidden_layers", "mlp_hidden_act", "mlp_bias", "use_bias", "sliding_window", "expand", "moe_shared_expert_overlap")
    reader = _Reader(frame, words)
    readers = [_Reader(replace(frame, text=block), [word]) for block, word in zip(own, words, strict=True)] if own else [reader] * len(words)
    blocks = [one.block(f"{frame.root}layers.{i}", i, word) for i, (one, word) in enumerate(zip(readers, words, strict=True))]
    config = fields.child("vision_config")
    eye = radio(fields, config, frame.hidden) if config is not None else None
    for key in ("sound_config", "audio_config"):
        child = fields.child(key)
        if child is not None:
            child.ignore(*child.raw)
            fields.unknown(key, msg("an encoder whose weights are not counted here"))
    modalities = ("text", "image", "video") if fields.raw.get("vision_config") is not None else ("text",)
    mtp = _prediction(reader, len(words))
    return close_frame(
        frame,
        files,
        dialect="nemotron_h",
        blocks=blocks,
        mtp=mtp,
        mtp_layers=text.opt_int(*MTP) or 0,
        extra=[*edges(frame, embed="embeddings", final="norm_f"), *(eye[1] if eye else ())],
        towers=(eye[0],) if eye else (),
        modalities=modalities,
    )


def _own_blocks(text: Fields) -> list[Fields]:
    """The config as each layer sees it where `block_configs` gives layers sizes of their own (Puzzle); empty where it does not."""
    listed = text.items("block_configs")
    if not listed:
        return []
    found: list[Fields] = []
    for i, block in enumerate(listed):
        if not isinstance(block, dict):
            raise InputError(
                msg("{file}: {key} is {value}, not an object", file=text.file, key=text.at(f"block_configs[{i}]"), value=repr(cast("object", block))[:80])
            )
        merged: dict[str, Any] = {**text.raw, **cast("dict[str, Any]", block)}
        found.append(Fields(merged, text.at(f"block_configs[{i}]"), file=text.file))
    text.note("block_configs", msg("{count} layers have dimensions of their own", count=len(found)), "…")
    return found


def _block_words(text: Fields, own: list[Fields]) -> list[str]:
    words = [block.text("block_type") or "?" for block in own]
    text.ignore("hybrid_override_pattern", "layers_block_type", "mtp_block_configs")
    summary = ", ".join(f"{number} {word}" for word, number in Counter(words).items())
    text.note("block_configs", msg("layers by kind: {summary}", summary=summary), "…")
    return words


def layer_words(text: Fields, keys: tuple[str, str]) -> list[str]:
    """One word a layer from the letters (M Mamba, * attention, - MLP, E experts) or the list of words."""
    letters, listed = text.text(keys[0]), text.items(keys[1])
    key = keys[0] if letters else keys[1]
    words = [_LETTERS.get(letter, letter) for letter in letters] if letters else [_WORDS.get(str(word), str(word)) for word in listed or ()]
    if not words:
        text.integer(keys[0])
    summary = ", ".join(f"{number} {word}" for word, number in Counter(words).items())
    text.note(key, msg("layers by kind: {summary}", summary=summary))
    return words


class _Reader:
    def __init__(self, frame: Frame, words: list[str]) -> None:
        self.frame, text = frame, frame.text
        self.dense_widths = text.ints("intermediate_size") if isinstance(text.raw.get("intermediate_size"), list) else None
        self.mamba = recurrent.read_mamba2(text, frame.hidden) if "mamba" in words else None
        heads = (
            attention.base_heads(text, frame.hidden, attention.Defaults(source="transformers 5.12 NemotronHConfig", head_dim=128))
            if "attention" in words
            else None
        )
        self.full = Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.v_dim) if heads else None
        if heads:
            text.note(
                "num_key_value_heads",
                msg("the attention layers keep K and V rows for {kv} heads; {query} query heads share them", kv=heads.kv, query=heads.query),
            )
        self.moe = feed.read_moe(text, gated=False)
        self.bias = text.flag("attention_bias")
        self.conv_bias, self.proj_bias = text.flag("use_conv_bias", default=True), text.flag("mamba_proj_bias", "use_bias")
        self.seen_mlp = 0

    def block(self, path: str, i: int, word: str) -> Block:
        hidden = self.frame.hidden
        mixers: tuple[Mixer, ...] = ()
        ffns: tuple[Ffn, ...] = ()
        weights: list[Weight] = norm(f"{path}.norm", hidden, layer=i)
        if word == "mamba" and self.mamba:
            mixers = (self.mamba,)
            weights += recurrent.mamba2_weights(f"{path}.mixer", i, hidden, self.mamba, conv_bias=self.conv_bias, proj_bias=self.proj_bias)
        elif word == "attention" and self.full:
            mixers = (self.full,)
            weights += gqa(f"{path}.mixer", i, hidden, self.full.query_heads, self.full.kv_heads, self.full.head_dim, bias=self.bias, out_bias=self.bias)
        elif word == "moe" and self.moe:
            ffns = (self.moe,)
            weights += feed.weights(path, i, hidden, self.moe, _ROUTED)
        elif word == "mlp":
            ffns = (self._dense(),)
            weights += feed.weights(path, i, hidden, ffns[0], _ROUTED)
        else:
            self.frame.text.unknown("layers_block_type", msg("layer {index} is of type {word}, which is not known", index=i, word=word))
            mixers = (UnknownMixer(name=word),)
        return Block(layer=Layer(index=i, mixers=mixers, ffns=ffns), weights=weights)

    def _dense(self) -> Ffn:
        text = self.frame.text
        if self.dense_widths is None:
            return Ffn(kind="dense", intermediate=text.integer("intermediate_size"), gated=False)
        width = self.dense_widths[min(self.seen_mlp, len(self.dense_widths) - 1)]
        self.seen_mlp += 1
        return Ffn(kind="dense", intermediate=width, gated=False)


def _prediction(reader: _Reader, count: int) -> list[Block]:
    text, hidden = reader.frame.text, reader.frame.hidden
    steps = text.opt_int(*MTP) or 0
    keys = ("mtp_hybrid_override_pattern", "mtp_layers_block_type")
    text.ignore(*keys)
    if not steps or not any(text.raw.get(key) for key in keys):
        return []
    words = layer_words(text, keys)
    text.note(
        next(k for k in MTP if text.raw.get(k) is not None), msg("prediction layers for speculative decoding, behind the model's own: {count}", count=steps)
    )
    blocks: list[Block] = []
    for j in range(steps * len(words)):
        path, i = f"mtp.layers.{j}", count + j
        block = reader.block(path, i, words[j % len(words)])
        if j % len(words) == 0:
            block.weights += norm(f"{path}.enorm", hidden, layer=i) + norm(f"{path}.hnorm", hidden, layer=i)
            block.weights += linear(f"{path}.eh_proj", "mtp", hidden, 2 * hidden, "column", layer=i)
        if (j + 1) % len(words) == 0:
            block.weights += norm(f"{path}.final_layernorm", hidden, layer=i)
        blocks.append(block)
    return blocks
