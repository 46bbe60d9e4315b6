"""Ling and Ring from 2.5 on: groups of linear layers (lightning attention, or Kimi delta attention in 3.0) closed by one softmax layer (latent, or GQA in the linear 2.0)."""

from msgspec import Struct

from serveright.families import attention, latent, recurrent
from serveright.families import ffn as feed
from serveright.families.blocks import fused_qkv, linear, norm
from serveright.families.deepseek import joint, prediction_layers
from serveright.families.fields import Fields
from serveright.families.frame import Block, Frame, close_frame, edges, layer_count, open_frame, text_of
from serveright.types.model import Attention, Ffn, Latent, Layer, Mixer, ModelShape, Recurrent, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

ARCHITECTURES = frozenset({"BailingMoeV2_5ForCausalLM", "BailingMoeV3ForCausalLM", "BailingMoeLinearForCausalLM", "BailingMoeLinearV2ForCausalLM"})


class _Plan(Struct, frozen=True, kw_only=True):
    frame: Frame
    softmax: Latent | Attention
    line: Recurrent
    names: latent.Names
    feed: feed.FfnNames
    qk_norm: bool
    full_decay: bool
    full_gate: bool
    bias: bool


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """A `ModelShape` from the config's own fields. Raises InputError for missing ones."""
    frame = open_frame(fields, text_of(fields))
    text = frame.text
    count = layer_count(text)
    words = _words(text, count)
    plan = _read(frame)
    ffns = feed.plan(text, count)
    blocks = [_block(plan, i, words[i], ffns[i]) for i in range(count)]
    mtp: list[Block] = []
    kda = text.flag("mtp_use_kda")
    for i in range(count, count + prediction_layers(text)):
        block = _block(plan, i, "linear" if kda else "softmax", ffns[-1])
        block.weights += joint(f"{frame.root}layers.{i}", i, frame.hidden, frame.vocab, copies=False, last_norm="final_layernorm")
        mtp.append(block)
    return close_frame(frame, files, dialect="bailing", blocks=blocks, mtp=mtp, extra=edges(frame, embed="word_embeddings"))


def _words(text: Fields, count: int) -> list[str]:
    """The last layer of each whole group is softmax, layers behind the last group are linear (transformers, SGLang); a list says it layer by layer, 1 is linear."""
    if isinstance(text.raw.get("layer_group_size"), list):
        marks = text.items("layer_group_size", length=count) or []
        words = ["linear" if mark == 1 else "softmax" for mark in marks]
    else:
        group = text.integer("layer_group_size")
        words = ["linear" if (i + 1) % group else "softmax" for i in range(count)]
    text.note("layer_group_size", msg("hybrid: {linear} linear and {full} softmax attention layers", linear=words.count("linear"), full=words.count("softmax")))
    return words


def _read(frame: Frame) -> _Plan:
    text = frame.text
    softmax: Latent | Attention
    if text.raw.get("kv_lora_rank") is not None:
        softmax = latent.read_latent(text)
    else:
        heads = attention.base_heads(text, frame.hidden, attention.Defaults(source="serveright (plain multi-head attention)"))
        softmax = Attention(kind="full", query_heads=heads.query, kv_heads=heads.kv, head_dim=heads.dim, v_head_dim=heads.v_dim)
    has_conv = any(text.raw.get(key) is not None for key in recurrent.CONV)
    line = recurrent.read_kda(text) if has_conv else recurrent.read_lightning(text)
    kind = text.text("gated_attention_proj_granularity_type")
    text.ignore(
        "num_kv_heads_for_linear_attn", "linear_silu", "use_linear_silu", "linear_rope", "linear_backend", "group_norm_size", "head_dim", "kda_safe_gate"
    )
    text.ignore("kda_lower_bound", "expert_swiglu_limit_list", "share_expert_swiglu_limit_list", "value_norm", "max_window_layers", "seq_aux")
    biased = text.flag("moe_router_enable_expert_bias")
    return _Plan(
        frame=frame,
        softmax=softmax,
        line=line,
        names=latent.Names(out="dense", gate="g_proj" if kind else None, gate_per_head=kind == "head_wise"),
        feed=feed.FfnNames(router_bias="gate.expert_bias" if biased else None),
        qk_norm=text.flag("use_qk_norm"),
        full_decay=text.flag("no_kda_lora") or not text.flag("use_kda_lora", default=True),
        full_gate=text.flag("no_kda_lora") or not text.flag("use_kda_lora", default=True),
        bias=text.flag("use_qkv_bias", "use_bias"),
    )


def _block(plan: _Plan, i: int, word: str, ffn: Ffn) -> Block:
    path, hidden = f"{plan.frame.root}layers.{i}", plan.frame.hidden
    mixer: Mixer = plan.line if word == "linear" else plan.softmax
    weights = [
        *norm(f"{path}.input_layernorm", hidden, layer=i),
        *_mixer(plan, f"{path}.attention", i, mixer),
        *norm(f"{path}.post_attention_layernorm", hidden, layer=i),
        *feed.weights(path, i, hidden, ffn, plan.feed),
    ]
    return Block(layer=Layer(index=i, mixers=(mixer,), ffns=(ffn,)), weights=weights)


def _mixer(plan: _Plan, path: str, i: int, mixer: Mixer) -> list[Weight]:
    hidden = plan.frame.hidden
    if isinstance(mixer, Latent):
        return latent.weights(path, i, hidden, mixer, plan.names)
    if isinstance(mixer, Recurrent) and mixer.kind == "kimi_delta":
        return recurrent.kda_weights(path, i, hidden, mixer, full_gate=plan.full_gate, full_decay=plan.full_decay)
    if isinstance(mixer, Recurrent):
        width = mixer.state_heads * mixer.value_dim
        weights = linear(f"{path}.query_key_value", "recurrent", 3 * width, hidden, "q_heads", layer=i, units=mixer.state_heads, bias=plan.bias)
        weights += linear(f"{path}.g_proj", "recurrent", width, hidden, "q_heads", layer=i, units=mixer.state_heads)
        weights += norm(f"{path}.g_norm", width, layer=i) + linear(f"{path}.dense", "recurrent", hidden, width, "row", layer=i, units=mixer.state_heads)
        return weights + _qk_norms(plan, path, i, mixer.key_dim)
    if not isinstance(mixer, Attention):
        return []
    weights = fused_qkv(f"{path}.query_key_value", i, hidden, mixer.query_heads, mixer.kv_heads, mixer.head_dim, mixer.head_dim, bias=plan.bias)
    weights += linear(f"{path}.dense", "attention", hidden, mixer.query_heads * mixer.head_dim, "row", layer=i, units=mixer.query_heads)
    return weights + _qk_norms(plan, path, i, mixer.head_dim)


def _qk_norms(plan: _Plan, path: str, i: int, dim: int) -> list[Weight]:
    if not plan.qk_norm:
        return []
    return [*norm(f"{path}.query_layernorm", dim, layer=i), *norm(f"{path}.key_layernorm", dim, layer=i)]
