"""Kimi Linear and Kimi-K3: delta-attention layers with a latent attention layer now and then, experts on a latent width in K3."""

from serveright.families import ffn as feed
from serveright.families import kimi_towers, latent, recurrent
from serveright.families.blocks import linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import MTP, Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.families.layer_ids import layer_ids
from serveright.types.model import Ffn, Latent, Layer, ModelShape, Recurrent, UnknownMixer, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_WORDS = {"linear_attention": "kda", "full_attention": "full"}
ARCHITECTURES = frozenset({"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration", "KimiK3LinearForCausalLM"})


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields), nested_root="language_model.model.", nested_head="language_model.lm_head")
    text = frame.text
    count = layer_count(text)
    own = text.child("linear_attn_config")
    words = layer_words(text, own, count)
    row = latent.read_latent(text)
    delta = recurrent.read_kda(text, own) if "kda" in words else None
    gate = latent.Names(gate="g_proj" if text.flag("mla_use_output_gate") else None)
    if gate.gate:
        text.note("mla_use_output_gate", msg("latent layers have an output gate"))
    full_gate = bool(own and own.flag("use_full_rank_gate"))
    ffns = feed.plan(text, count)
    blocks = [_block(frame, i, word, row, delta, ffns[i], gate, full_gate) for i, word in enumerate(words)]
    residual = text.opt_int("attn_res_block_size")
    extra = edges(frame)
    if residual:
        text.note("attn_res_block_size", msg("each layer also attends to the outputs of earlier blocks of {count} layers", count=residual))
        extra += _residual(f"{frame.root}output_attn_res", None, frame.hidden)
    if text.opt_int(*MTP):
        text.unknown(MTP[0], msg("prediction layers of this model are not known here"))
    eyes, eye_weights, modalities = kimi_towers.read(fields, fields.child("vision_config"), "vision_tower", "mm_projector", frame.hidden)
    return close_frame(frame, files, dialect="kimi", blocks=blocks, extra=extra + eye_weights, towers=eyes, modalities=("text", *modalities))


def layer_words(text: Fields, own: Fields | None, count: int) -> list[str]:
    """`full` or `kda` for each layer: `full_attn_layers` and `kda_layers` count from 1, transformers writes `layer_types`."""
    listed = text.items("layer_types", length=count) if own is None else None
    if listed is not None:
        words = [_WORDS.get(str(word), str(word)[:40]) for word in listed]
        text.note(
            "layer_types", msg("hybrid: {linear} delta attention and {full} latent attention layers", linear=words.count("kda"), full=words.count("full")), "…"
        )
        for word in sorted(set(words) - {"kda", "full"}):
            text.unknown("layer_types", msg("the layer type {word} is not known here; its cache cannot be derived", word=word))
        return words
    if own is None:
        return ["full"] * count
    full, delta = (layer_ids(own, key, count, first=1) or frozenset() for key in ("full_attn_layers", "kda_layers"))
    words = ["full" if i in full else "kda" if i in delta else "unknown" for i in range(count)]
    own.note(
        "full_attn_layers",
        msg("hybrid: {linear} delta attention and {full} latent attention layers", linear=words.count("kda"), full=words.count("full")),
        sorted(i + 1 for i in full),
    )
    for i, word in enumerate(words):
        if word == "unknown":
            own.unknown("kda_layers", msg("layer {index} is in neither list", index=i + 1))
    return words


def _block(frame: Frame, i: int, word: str, row: Latent, delta: Recurrent | None, ffn: Ffn, gate: latent.Names, full_gate: bool) -> Block:
    path, hidden = f"{frame.root}layers.{i}", frame.hidden
    mixer: Latent | Recurrent | UnknownMixer = UnknownMixer(name=word)
    own: list[Weight] = []
    if word == "full":
        mixer, own = row, latent.weights(f"{path}.self_attn", i, hidden, row, gate)
    elif word == "kda" and delta is not None:
        mixer, own = delta, recurrent.kda_weights(f"{path}.self_attn", i, hidden, delta, full_gate=full_gate)
    names = feed.FfnNames(
        block="block_sparse_moe",
        dense_block="mlp",
        router_bias="gate.e_score_correction_bias",
        matrices=("w1", "w3", "w2"),
        latent=("routed_expert_down_proj", "routed_expert_up_proj"),
        latent_norm="routed_expert_norm" if frame.text.flag("latent_moe_use_norm") else None,
    )
    weights = [
        *norm(f"{path}.input_layernorm", hidden, layer=i),
        *own,
        *norm(f"{path}.post_attention_layernorm", hidden, layer=i),
        *feed.weights(path, i, hidden, ffn, names),
    ]
    if frame.text.opt_int("attn_res_block_size"):
        weights += _residual(f"{path}.self_attention_res", i, hidden) + _residual(f"{path}.mlp_res", i, hidden)
    return Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffn,)), weights=weights)


def _residual(path: str, i: int | None, hidden: int) -> list[Weight]:
    return [*norm(f"{path}_norm", hidden, layer=i, part="residual"), *linear(f"{path}_proj", "residual", 1, hidden, "replicated", layer=i)]
