"""DBRX: fields in nested `attn_config` and `ffn_config`, LayerNorms without biases, sixteen fine-grained experts."""

from serveright.families import ffn as feed
from serveright.families.blocks import fused_qkv, linear, norm
from serveright.families.fields import Fields
from serveright.families.frame import Block, close_frame, edges, layer_count, open_frame
from serveright.types.model import Attention, Ffn, Layer, ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"DbrxForCausalLM"})
_SOURCE = "transformers 5.24 DbrxConfig"
_NAMES = feed.FfnNames(block="ffn", router="router.layer", experts="experts.mlp", matrices=("w1", "v1", "w2"))


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, fields, root="transformer.")
    count, heads = layer_count(fields), fields.integer("n_heads")
    rows, wide = fields.child("attn_config") or Fields({}, "attn_config", fields), fields.child("ffn_config") or Fields({}, "ffn_config", fields)
    kv = rows.int_or(1, _SOURCE, "kv_n_heads", minimum=1)
    rows.note("kv_n_heads", msg("each token keeps K and V rows for {kv} heads; {query} query heads share them", kv=kv, query=heads), kv)
    dim = max(1, frame.hidden // heads)
    mixer = Attention(kind="full", query_heads=heads, kv_heads=kv, head_dim=dim, v_head_dim=dim)
    moe = Ffn(
        kind="moe",
        intermediate=wide.int_or(3584, _SOURCE, "ffn_hidden_size", minimum=1),
        experts=wide.int_or(4, _SOURCE, "moe_num_experts", minimum=1),
        experts_per_token=wide.int_or(1, _SOURCE, "moe_top_k", minimum=1),
    )
    wide.note(
        "moe_num_experts",
        msg("mixture of experts: {top} of {experts} routed experts run per token, {shared} shared", top=moe.experts_per_token, experts=moe.experts, shared=0),
        moe.experts,
    )
    for nested in (rows, wide):
        nested.ignore(*nested.raw)
    blocks: list[Block] = []
    for i in range(count):
        path = f"{frame.root}blocks.{i}"
        attn = f"{path}.norm_attn_norm.attn"
        weights = [
            *norm(f"{path}.norm_attn_norm.norm_1", frame.hidden, layer=i),
            *fused_qkv(f"{attn}.Wqkv", i, frame.hidden, heads, kv, dim, dim),
            *linear(f"{attn}.out_proj", "attention", frame.hidden, heads * dim, "row", layer=i, units=heads),
            *norm(f"{path}.norm_attn_norm.norm_2", frame.hidden, layer=i),
            *feed.weights(path, i, frame.hidden, moe, _NAMES),
        ]
        blocks.append(Block(layer=Layer(index=i, mixers=(mixer,), ffns=(moe,)), weights=weights))
    return close_frame(frame, files, dialect="dbrx", blocks=blocks, extra=edges(frame, embed="wte", final="norm_f"))
