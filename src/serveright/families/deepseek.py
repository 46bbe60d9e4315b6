"""Decoders whose every layer is latent attention (DeepSeek V2 to V3.2 and the many models built on them), with or without an indexer."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from serveright.families import ffn as feed
from serveright.families import kimi_towers, latent, towers
from serveright.families.blocks import norm
from serveright.families.fields import Fields
from serveright.families.frame import MTP, Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Ffn, Latent, Layer, ModelShape, Tower, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset(
    {
        "DeepseekV2ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "GlmMoeDsaForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "MistralLarge3ForCausalLM",
        "SarvamMLAForCausalLM",
        "AXK1ForCausalLM",
        "YoutuForCausalLM",
        "KimiK25ForConditionalGeneration",
        "KimiVLForConditionalGeneration",
        "MiniCPM3ForCausalLM",
        "PanguUltraMoEForCausalLM",
    }
)
_LATENT_WORDS = {"full_attention", "deepseek_sparse_attention", "sparse_attention", "sparse", "attention", "mla", "dsa", "indexed_attention"}
_SPARSE_WORDS = {"deepseek_sparse_attention", "sparse_attention", "sparse", "indexed_attention"}
Towers = tuple[tuple[Tower, ...], list[Weight], tuple[str, ...]]
NO_TOWERS: Towers = ((), [], ())
_COPIES = {"deepseek_v3", "deepseek_v32", "glm4_moe_lite"}
"""Formats whose prediction layer stores the input table and the head once more."""


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    text = text_of(fields)
    frame = open_frame(fields, text, nested_root="language_model.model.", nested_head="language_model.lm_head")
    behind = "mlp.post_mlp_layernorm" if files.config["architectures"][0] == "AXK1ForCausalLM" else None
    return decoder(
        frame, files, dialect="deepseek", eyes=_eyes(fields, frame.hidden), parts=replace(_PLAIN, behind_experts=behind, around=_sandwich(text, frame.hidden))
    )


def _sandwich(text: Fields, hidden: int) -> Callable[[str, int], list[Weight]] | None:
    """Two more norms around the MLP where `sandwich_norm` says so (openPangu)."""
    if not text.flag("sandwich_norm"):
        return None
    return lambda path, i: [w for name in ("pre_mlp_layernorm", "post_mlp_layernorm") for w in norm(f"{path}.{name}", hidden, layer=i)]


def _eyes(fields: Fields, hidden: int) -> Towers:
    """The encoder, told by its own fields: MoonViT (`init_pos_emb_height`), Pixtral (`spatial_merge_size`); any other is named, not counted."""
    config = fields.child("vision_config")
    if config is None:
        return NO_TOWERS
    if config.raw.get("init_pos_emb_height") is not None:
        return kimi_towers.read(fields, config, "vision_tower", "mm_projector", hidden)
    merge = config.opt_int("spatial_merge_size", minimum=1)
    if merge is None:
        config.ignore(*config.raw)
        fields.unknown("vision_config", msg("an encoder whose weights are not counted here"))
        return (), [], ("image",)
    fields.note("vision_config", msg("a vision encoder stands in front: images in"), "…")
    eye, weights = towers.pixtral(config, "vision_encoder", merge)
    bias = config.flag("adapter_bias")
    weights = [
        *weights,
        *norm("pre_mm_projector_norm", eye.hidden, part="vision"),
        *towers.dense("patch_merger.merging_layer", eye.hidden, eye.hidden * merge * merge, bias=False),
        *towers.dense("vision_language_adapter.w_in", hidden, eye.hidden, bias=bias),
        *towers.dense("vision_language_adapter.w_out", hidden, hidden, bias=bias),
    ]
    config.ignore(*config.raw)
    return (eye,), weights, ("image",)


class Parts(Struct, frozen=True, kw_only=True):
    """What one dialect adds to the plain layer: names, sinks, the router's bias, tensors around a layer (hyper-connections), the last norm of a prediction layer."""

    attn: latent.Names = latent.Names()
    sinks: bool = False
    router_bias: str | None = None
    around: Callable[[str, int], list[Weight]] | None = None
    streams: int = 1
    last_norm: str = "shared_head.norm"
    behind_experts: str | None = None
    """A norm behind the block of every layer with experts."""
    extra: tuple[Weight, ...] = ()
    listed: bool = False
    """`layer_types` says which layers have an indexer at all; the others read every row."""


_PLAIN = Parts()


def decoder(frame: Frame, files: ModelFiles, *, dialect: str, eyes: Towers = NO_TOWERS, parts: Parts = _PLAIN) -> ModelShape:
    """All layers of a purely latent model."""
    text = frame.text
    count = layer_count(text)
    base, indexer = replace(latent.read_latent(text, frame.hidden), sinks=parts.sinks), latent.read_indexer(text)
    owners = latent.index_owners(text, count) if indexer else (True,) * count
    ffns = feed.plan(text, count)
    _check_types(text, count)
    names = _names(text, parts)
    words = (text.items("layer_types", length=count) or []) if parts.listed else []
    rows = [base if words and str(words[i]) not in _SPARSE_WORDS else latent.sparse(base, indexer, owns=owners[i]) for i in range(count)]
    blocks = [_block(frame, i, row, ffns[i], names, parts) for i, row in enumerate(rows)]
    mtp = _prediction(frame, count, latent.sparse(base, indexer), ffns[-1], names, parts)
    found, tower_weights, modalities = eyes
    return close_frame(
        frame,
        files,
        dialect=dialect,
        blocks=blocks,
        mtp=mtp,
        extra=[*edges(frame), *parts.extra, *tower_weights],
        towers=found,
        modalities=("text", *modalities),
        streams=parts.streams,
    )


def _check_types(text: Fields, count: int) -> None:
    """`layer_types` of these models says latent attention for every layer; anything else is reported."""
    for word in sorted({str(word) for word in text.items("layer_types") or ()} - _LATENT_WORDS):
        text.unknown("layer_types", msg("{word} layers are read as latent attention like the others", word=word))


def _names(text: Fields, parts: Parts) -> feed.FfnNames:
    biased = text.text("topk_method") == "noaux_tc" or text.flag("moe_router_enable_expert_bias")
    return feed.FfnNames(router_bias=parts.router_bias or ("gate.e_score_correction_bias" if biased else None))


def _block(frame: Frame, i: int, mixer: Latent, ffn: Ffn, names: feed.FfnNames, parts: Parts) -> Block:
    path = f"{frame.root}layers.{i}"
    weights = [
        *norm(f"{path}.input_layernorm", frame.hidden, layer=i),
        *latent.weights(f"{path}.self_attn", i, frame.hidden, mixer, parts.attn),
        *norm(f"{path}.post_attention_layernorm", frame.hidden, layer=i),
        *feed.weights(path, i, frame.hidden, ffn, names),
    ]
    if parts.behind_experts and ffn.kind == "moe":
        weights += norm(f"{path}.{parts.behind_experts}", frame.hidden, layer=i)
    if parts.around:
        weights += parts.around(path, i)
    return Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffn,)), weights=weights)


def _prediction(frame: Frame, count: int, mixer: Latent, ffn: Ffn, names: feed.FfnNames, parts: Parts) -> list[Block]:
    extra = prediction_layers(frame.text)
    copies = (frame.text.text("model_type") or "") in _COPIES
    plain = replace(parts, around=None)
    blocks: list[Block] = []
    for i in range(count, count + extra):
        block = _block(frame, i, mixer, ffn, names, plain)
        block.weights += joint(f"{frame.root}layers.{i}", i, frame.hidden, frame.vocab, copies=copies, last_norm=parts.last_norm)
        blocks.append(block)
    return blocks


def prediction_layers(text: Fields, default: tuple[int, str] | None = None) -> int:
    """How many prediction layers the config names, put into the evidence; `default` is a number and the class it comes from."""
    extra = text.opt_int(*MTP)
    if extra is None:
        return text.int_or(*default, MTP[0]) if default else 0
    if extra:
        key = next(k for k in MTP if text.raw.get(k) is not None)
        text.note(key, msg("prediction layers for speculative decoding, behind the model's own: {count}", count=extra))
    return extra


def joint(path: str, layer: int, hidden: int, vocab: int, *, copies: bool, last_norm: str = "shared_head.norm") -> list[Weight]:
    """What joins a prediction layer to the model: two norms, the projection of both inputs, the last norm, and copies of table and head where stored."""
    weights = [
        *norm(f"{path}.enorm", hidden, layer=layer),
        *norm(f"{path}.hnorm", hidden, layer=layer),
        latent.unquantised(f"{path}.eh_proj", "mtp", hidden, 2 * hidden, layer=layer),
        *norm(f"{path}.{last_norm}", hidden, layer=layer),
    ]
    if copies:
        weights.append(Weight(path=f"{path}.embed_tokens", part="mtp", shape=(vocab, hidden), shard="vocab", linear=False, layer=layer))
        weights.append(Weight(path=f"{path}.shared_head.head", part="mtp", shape=(vocab, hidden), shard="vocab", layer=layer))
    return weights
