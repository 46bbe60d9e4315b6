"""Gated delta layers with a full attention layer now and then: Qwen3-Next, Qwen3.5 and what shares their config, dense or MoE, with or without vision."""

from serveright.families import attention, recurrent, towers
from serveright.families import ffn as feed
from serveright.families.blocks import gqa, linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import MTP, Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Attention, Ffn, Layer, ModelShape, Recurrent, Tower, UnknownMixer, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset(
    {
        "Qwen3NextForCausalLM",
        "Qwen3_5ForCausalLM",
        "Qwen3_5MoeForCausalLM",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "InternS2PreviewForConditionalGeneration",
    }
)
Eyes = tuple[tuple[Tower, ...], list[Weight], tuple[str, ...]]
"""Encoders, their tensors, and the modalities they add."""
FULL = ("full_attention", "attention", "full", "qwen_sparse_attention", "indexed_attention")
_NAMES = feed.FfnNames(shared="shared_expert", shared_gate="shared_expert_gate")


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), nested_root="model.language_model.")
    for key in ("ts_config", "time_series_config"):
        other = fields.child(key)
        if other is not None:
            other.ignore(*other.raw)
            fields.unknown(key, msg("an encoder whose weights are not counted here"))
    return decoder(frame, files, dialect="qwen_hybrid", eyes=vision(fields, files, "model.visual"))


def decoder(frame: Frame, files: ModelFiles, *, dialect: str, eyes: Eyes) -> ModelShape:
    """The whole model behind the encoders in `eyes`."""
    text = frame.text
    count = layer_count(text, "layer_types")
    full, delta = full_attention(text, frame.hidden), recurrent.read_gated_delta(text)
    fused = text.raw.get("model_type") == "qwen3_next"
    gated = text.flag("attn_output_gate", default=True)
    text.ignore("output_gate_type")
    ffns = feed.plan(text, count, dense_keys=("intermediate_size", "moe_intermediate_size"))
    reader = Reader(frame, full, delta, fused=fused, gated=gated)
    blocks = [reader.block(f"{frame.root}layers.{i}", i, word, ffns[i]) for i, word in enumerate(layer_words(text, count))]
    mtp = _prediction(frame, reader, ffns[-1])
    found, eye_weights, modalities = eyes
    return close_frame(
        frame,
        files,
        dialect=dialect,
        blocks=blocks,
        mtp=mtp,
        extra=edges(frame) + eye_weights,
        towers=found,
        modalities=("text", *modalities),
    )


def vision(fields: Fields, files: ModelFiles, path: str) -> Eyes:
    """The Qwen3-VL encoder, where the config has one."""
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    eye, weights = towers.qwen3_vl(config, files, path)
    return (eye,), weights, ("image", "video")


def layer_words(text: Fields, count: int) -> list[str]:
    """One word a layer: `layer_types`, or every `full_attention_interval`-th layer is full."""
    types = text.items("layer_types", length=count)
    interval = text.opt_int("full_attention_interval", minimum=1)
    if types is not None:
        words = [str(word) for word in types]
    elif interval:
        words = ["full_attention" if (i + 1) % interval == 0 else "linear_attention" for i in range(count)]
    else:
        interval = text.int_or(4, "transformers 5.12 Qwen3NextConfig", "full_attention_interval", minimum=1)
        words = ["full_attention" if (i + 1) % interval == 0 else "linear_attention" for i in range(count)]
    key = "layer_types" if types is not None else "full_attention_interval"
    full = sum(word in FULL for word in words)
    text.note(
        key,
        msg("hybrid: {linear} linear and {full} full attention layers", linear=len(words) - full, full=full),
        None if types is None else f"{full} of {count} full",
    )
    return words


def full_attention(text: Fields, hidden: int) -> Attention:
    """The mixer of the softmax layers."""
    heads = attention.base_heads(text, hidden, attention.Defaults(source="transformers 5.12 Qwen3NextConfig"))
    text.ignore("sliding_window", "use_sliding_window", "max_window_layers")
    text.note("num_key_value_heads", msg("the full layers keep K and V rows for {kv} heads; {query} query heads share them", kv=heads.kv, query=heads.query))
    return Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.v_dim)


class Reader:
    """Makes layers from words. `layer_norms`: norms before mixer and FFN (none under Qwen4's hyper-connections)."""

    def __init__(self, frame: Frame, full: Attention, delta: Recurrent, *, fused: bool, gated: bool, layer_norms: bool = True) -> None:
        self.frame, self.full, self.delta, self.fused, self.gated, self.layer_norms = frame, full, delta, fused, gated, layer_norms

    def block(self, path: str, i: int, word: str, ffn: Ffn) -> Block:
        """One layer and its tensors at `path`."""
        hidden = self.frame.hidden
        if word in FULL:
            mixer: Attention | Recurrent | UnknownMixer = self.full
            own = gated_gqa(f"{path}.self_attn", i, hidden, self.full, gate=self.gated)
        elif recurrent.word_kind(self.frame.text, word) == "gated_deltanet":
            mixer = self.delta
            own = recurrent.gated_delta_weights(f"{path}.linear_attn", i, hidden, self.delta, fused=self.fused)
        else:
            self.frame.text.unknown("layer_types", msg("layer {index} is of type {word}, which is not known", index=i, word=word))
            mixer, own = UnknownMixer(name=word), []
        norms = ("input_layernorm", "post_attention_layernorm") if self.layer_norms else ()
        weights = [w for name in norms for w in norm(f"{path}.{name}", hidden, layer=i)]
        weights += own + feed.weights(path, i, hidden, ffn, _NAMES)
        return Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffn,)), weights=weights)


def gated_gqa(path: str, layer: int, hidden: int, m: Attention, *, gate: bool) -> list[Weight]:
    """GQA with norms on queries and keys; with `gate` the query projection holds an output gate as wide as the queries."""
    weights = gqa(path, layer, hidden, m.query_heads, m.kv_heads, m.head_dim)
    if gate:
        weights[0] = linear(f"{path}.q_proj", "attention", 2 * m.query_heads * m.head_dim, hidden, "q_heads", layer=layer, units=m.query_heads)[0]
    return [*weights, *norm(f"{path}.q_norm", m.head_dim, layer=layer), *norm(f"{path}.k_norm", m.head_dim, layer=layer)]


def _prediction(frame: Frame, reader: Reader, ffn: Ffn) -> list[Block]:
    extra = frame.text.opt_int(*MTP) or 0
    frame.text.ignore("mtp_use_dedicated_embeddings")
    if not extra:
        return []
    frame.text.note("mtp_num_hidden_layers", msg("prediction layers for speculative decoding, behind the model's own: {count}", count=extra), extra)
    blocks = [reader.block(f"mtp.layers.{i}", i, "full_attention", ffn) for i in range(extra)]
    hidden = frame.hidden
    blocks[0].weights += [
        *linear("mtp.fc", "mtp", hidden, 2 * hidden, "replicated"),
        *norm("mtp.norm", hidden),
        *norm("mtp.pre_fc_norm_embedding", hidden),
        *norm("mtp.pre_fc_norm_hidden", hidden),
    ]
    return blocks
