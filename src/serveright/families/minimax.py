"""MiniMax-M2 (norms over all heads) and M3 (blocks of keys picked by a small index in most layers)."""

from msgspec.structs import replace

from serveright.families import towers
from serveright.families.attention import Defaults
from serveright.families.blocks import linear, norm
from serveright.families.decoder import Style, Towers, blocks, borders, start
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, text_of
from serveright.types.model import Attention, ImageGeometry, Indexer, Layer, ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_M3 = {"MiniMaxM3ForCausalLM", "MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration"}
ARCHITECTURES = frozenset(_M3 | {"MiniMaxM2ForCausalLM"})
_STYLE = Style(
    dialect="minimax",
    defaults=Defaults(source="transformers 5.24 MiniMaxM2Config"),
    nested_root="language_model.model.",
    nested_head="language_model.lm_head",
    names=FfnNames(block="block_sparse_moe", dense_block="mlp", matrices=("w1", "w3", "w2"), router_bias="e_score_correction_bias"),
    width_keys=("intermediate_size",),
    dense_keys=("dense_intermediate_size", "mlp_intermediate_size", "intermediate_size"),
)


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    text = text_of(fields)
    m3 = files.config["architectures"][0] in _M3
    text.ignore("attn_type_list", "mtp_transformer_layers", "shared_moe_mode", "num_nextn_predict_layers")
    if text.has("num_mtp_modules"):
        text.note("num_mtp_modules", msg("named in the config, but the published checkpoints hold no prediction layers"))
    norms = text.flag("use_qk_norm", default=True)
    style = replace(_STYLE, qk_norm=("head" if m3 or text.text("qk_norm_type") == "per_head" else "full") if norms else "none")
    frame = start(fields, style, text)
    layers = blocks(frame, style)
    if m3:
        layers = indexed(frame, layers)
    eyes, weights, modalities = _eyes(fields, frame)
    extra = borders(frame, style) + weights
    return close_frame(frame, files, dialect="minimax", blocks=layers, extra=extra, towers=eyes, modalities=("text", *modalities))


def indexed(frame: Frame, layers: list[Block]) -> list[Block]:
    """Layers that read only the blocks their index picks; every such layer stores one index key a token."""
    config = frame.text.child("sparse_attention_config")
    if config is None or not config.flag("use_sparse_attention", default=True):
        return layers
    marks = config.items("sparse_attention_freq", length=len(layers)) or [1] * len(layers)
    block = config.integer("sparse_block_size")
    indexer = Indexer(heads=config.integer("sparse_num_index_heads"), dim=config.integer("sparse_index_dim"), topk=config.integer("sparse_topk_blocks") * block)
    config.ignore("sparse_disable_index_value", "sparse_init_block", "sparse_local_block", "sparse_score_type")
    frame.text.note(
        "sparse_attention_config",
        msg(
            "{count} layers read only {topk} tokens each, in blocks of {block} picked by an index with keys of {dim}",
            count=sum(map(bool, marks)),
            topk=indexer.topk,
            block=block,
            dim=indexer.dim,
        ),
        "…",
    )
    return [_sparse(frame, made, indexer, block) if mark else made for made, mark in zip(layers, marks, strict=True)]


def _sparse(frame: Frame, made: Block, indexer: Indexer, block: int) -> Block:
    index = made.layer.index
    path = f"{frame.root}layers.{index}.self_attn"
    mixers = tuple(
        replace(mixer, kind="block_sparse", indexer=indexer, sparse_block_tokens=block) if isinstance(mixer, Attention) else mixer
        for mixer in made.layer.mixers
    )
    weights: list[Weight] = [
        *linear(f"{path}.index_q_proj", "indexer", indexer.heads * indexer.dim, frame.hidden, "kv_heads", layer=index, units=indexer.heads),
        *linear(f"{path}.index_k_proj", "indexer", indexer.dim, frame.hidden, "replicated", layer=index),
        *norm(f"{path}.index_q_norm", indexer.dim, layer=index, part="indexer"),
        *norm(f"{path}.index_k_norm", indexer.dim, layer=index, part="indexer"),
    ]
    return Block(layer=Layer(index=index, mixers=mixers, ffns=made.layer.ffns), weights=made.weights + weights)


def _eyes(fields: Fields, frame: Frame) -> Towers:
    config = fields.child("vision_config")
    if config is None:
        return (), [], ()
    fields.note("vision_config", msg("a vision encoder stands in front: images and video in"), "…")
    hidden, patch = config.integer("hidden_size"), config.integer("patch_size")
    merging = config.child("img_token_compression_config") or config
    merge = merging.opt_int("spatial_merge_size", minimum=1) or 1
    vit = towers.Vit(
        layers=config.integer("num_hidden_layers"),
        hidden=hidden,
        heads=config.integer("num_attention_heads"),
        intermediate=config.integer("intermediate_size"),
        qkv=("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out="self_attn.out_proj",
        norms=("layer_norm1", "layer_norm2"),
    )
    config.ignore("num_channels", "projection_dim", "vision_segment_max_frames", "vocab_size")
    towers.unread(fields, "img_token_compression_config")
    fields.ignore("image_grid_pinpoints", "image_seq_length", "vision_feature_layer", "num_reward_heads")
    wide = fields.opt_int("projector_hidden_size", minimum=1) or frame.hidden
    temporal = merging.opt_int("temporal_patch_size", minimum=1) or 1
    path = "vision_tower.vision_model"
    weights = [
        *towers.dense(f"{path}.embeddings.patch_embedding", hidden, 3 * temporal * patch * patch, bias=False),
        *norm(f"{path}.pre_layrnorm", hidden, bias=True, part="vision"),
        *towers.blocks(f"{path}.encoder.layers", vit),
        *towers.dense("multi_modal_projector.linear_1", wide, hidden),
        *towers.dense("multi_modal_projector.linear_2", frame.hidden, wide),
        *towers.dense("patch_merge_mlp.linear_1", wide, frame.hidden * merge * merge),
        *towers.dense("patch_merge_mlp.linear_2", frame.hidden, wide),
    ]
    size = config.opt_int("image_size", minimum=1)
    return (towers.tower(vit, ImageGeometry(patch_pixels=patch, merge=merge, max_pixels=size * size if size else None)),), weights, ("image", "video")
