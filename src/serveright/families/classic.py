"""Decoders from before Llama's layout became the custom: GPT-2 to BigCode, OPT, BLOOM, Falcon, DBRX, Persimmon, OLMo, ChatGLM, Qwen 1, Baichuan, InternLM2, Exaone 3.

They differ in module names, biases and where norms stand; tests build the library's own classes and count.
"""

from collections.abc import Callable

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import LLAMA_NORMS, Style, build
from serveright.families.ffn import FfnNames
from serveright.families.fields import Fields
from serveright.types.model import ModelShape, Weight
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_T = "transformers 5.24"
_V = "vLLM 0.33.0"
_S = "SGLang 0.5.23"
_GPT = Style(
    dialect="classic",
    defaults=Defaults(source=f"{_T} GPT2Config"),
    root="transformer.",
    stem="h",
    embed="wte",
    final_norm="ln_f",
    final_norm_bias=True,
    norm_bias=True,
    norms=("ln_1", "ln_2"),
    attn="attn",
    fused_qkv="c_attn",
    out="c_proj",
    qkv_bias=True,
    out_bias=True,
    gated=False,
    tied=True,
    names=FfnNames(matrices=("", "c_fc", "c_proj"), dense_bias=True),
)
_FALCON = replace(
    _GPT,
    embed="word_embeddings",
    attn="self_attention",
    fused_qkv="query_key_value",
    out="dense",
    norms=("input_layernorm", "post_attention_layernorm"),
    names=FfnNames(matrices=("", "dense_h_to_4h", "dense_4h_to_h"), dense_bias=True),
)
_LLAMA = Style(dialect="classic", defaults=Defaults(source=""))


def _source(style: Style, source: str) -> Style:
    return replace(style, defaults=replace(style.defaults, source=source))


_STYLES: dict[str, Style] = {
    "GPT2LMHeadModel": _GPT,
    "GPTBigCodeForCausalLM": _source(_GPT, f"{_T} GPTBigCodeConfig"),
    "GPTJForCausalLM": replace(
        _source(_GPT, f"{_T} GPTJConfig"),
        norms=("ln_1",),
        fused_qkv=None,
        out="out_proj",
        qkv_bias=False,
        out_bias=False,
        tied=False,
        names=FfnNames(matrices=("", "fc_in", "fc_out"), dense_bias=True),
    ),
    "GPTNeoXForCausalLM": replace(
        _source(_FALCON, f"{_T} GPTNeoXConfig"),
        root="gpt_neox.",
        stem="layers",
        embed="embed_in",
        head="embed_out",
        final_norm="final_layer_norm",
        attn="attention",
        tied=False,
    ),
    "BloomForCausalLM": _source(_FALCON, f"{_T} BloomConfig"),
    "FalconForCausalLM": replace(_source(_FALCON, f"{_T} FalconConfig"), names=replace(_FALCON.names, dense_bias=False), qkv_bias=False, out_bias=False),
    "OPTForCausalLM": replace(
        _source(_GPT, f"{_T} OPTConfig"),
        root="model.decoder.",
        stem="layers",
        embed="embed_tokens",
        final_norm="final_layer_norm",
        norms=("self_attn_layer_norm", "final_layer_norm"),
        attn="self_attn",
        fused_qkv=None,
        out="out_proj",
        dense_keys=("ffn_dim",),
        names=FfnNames(matrices=("", "fc1", "fc2"), dense_bias=True),
    ),
    "PersimmonForCausalLM": replace(
        _source(_FALCON, f"{_T} PersimmonConfig"),
        root="model.",
        stem="layers",
        embed="embed_tokens",
        final_norm="final_layernorm",
        attn="self_attn",
        tied=False,
    ),
    "OlmoForCausalLM": _source(_LLAMA, f"{_T} OlmoConfig"),
    "FlexOlmoForCausalLM": replace(
        _source(_LLAMA, f"{_T} FlexOlmoConfig"),
        qk_norm="full",
        norms=("post_attention_layernorm", "post_feedforward_layernorm"),
        width_keys=("intermediate_size",),
    ),
    "Jais2ForCausalLM": replace(
        _source(_LLAMA, f"{_T} Jais2Config"),
        norm_bias=True,
        final_norm_bias=True,
        qkv_bias=True,
        out_bias=True,
        gated=False,
        names=FfnNames(dense_bias=True),
    ),
    "BaichuanForCausalLM": replace(_source(_LLAMA, f"{_S} baichuan"), fused_qkv="W_pack"),
    "InternLM2ForCausalLM": replace(
        _source(_LLAMA, f"{_V} internlm2"),
        embed="tok_embeddings",
        head="output",
        attn="attention",
        fused_qkv="wqkv",
        out="wo",
        norms=("attention_norm", "ffn_norm"),
        names=FfnNames(block="feed_forward", matrices=("w1", "w3", "w2")),
    ),
    "OrionForCausalLM": replace(_source(_LLAMA, f"{_V} orion"), norm_bias=True, final_norm_bias=True),
    "ExaoneForCausalLM": replace(
        _source(_LLAMA, f"{_V} exaone"),
        root="transformer.",
        stem="h",
        embed="wte",
        final_norm="ln_f",
        attn="attn.attention",
        out="out_proj",
        norms=("ln_1", "ln_2"),
        names=FfnNames(matrices=("c_fc_0", "c_fc_1", "c_proj")),
    ),
    "QWenLMHeadModel": replace(
        _source(_LLAMA, f"{_S} qwen"),
        root="transformer.",
        stem="h",
        embed="wte",
        final_norm="ln_f",
        attn="attn",
        fused_qkv="c_attn",
        out="c_proj",
        qkv_bias=True,
        norms=("ln_1", "ln_2"),
        names=FfnNames(matrices=("w2", "w1", "c_proj")),
    ),
    "TeleChat2ForCausalLM": replace(
        _source(_LLAMA, f"{_V} telechat2"),
        root="transformer.",
        stem="h",
        embed="word_embeddings",
        final_norm="ln_f",
        attn="self_attention",
        fused_qkv="key_value_query",
        out="dense",
        out_bias=True,
    ),
}
_CHATGLM = {"ChatGLMModel", "ChatGLMForConditionalGeneration"}
_CHATGLM_STYLE = replace(
    _source(_LLAMA, f"{_V} ChatGLMConfig"),
    root="transformer.encoder.",
    embed="embedding.word_embeddings",
    head="transformer.output_layer",
    final_norm="final_layernorm",
    attn="self_attention",
    fused_qkv="query_key_value",
    out="dense",
    names=FfnNames(dense_fused="dense_h_to_4h", matrices=("", "", "dense_4h_to_h")),
)
ARCHITECTURES = frozenset({*_CHATGLM, *_STYLES})


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    name = files.config["architectures"][0]
    style = _CHATGLM_STYLE if name in _CHATGLM else _STYLES[name]
    change = _CHANGES.get(name)
    fields.ignore("attn_pdrop", "attention_softmax_in_fp32", "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn")
    return _added(name, fields, build(fields, files, change(fields, style) if change else style))


def _wide(fields: Fields, style: Style) -> Style:
    """An absent inner width is four times the hidden size."""
    width = 4 * fields.integer("n_embd", "hidden_size")
    if fields.opt_int("n_inner", "ffn_hidden_size", "intermediate_size") is None:
        fields.default("n_inner", width, style.defaults.source)
    return replace(style, dense_keys=("n_inner", "ffn_hidden_size", "intermediate_size"))


def _bigcode(fields: Fields, style: Style) -> Style:
    if "multi_query" not in fields.raw:
        fields.default("multi_query", True, style.defaults.source)
    return _wide(fields, style)


def _bloom(fields: Fields, style: Style) -> Style:
    fields.default("ffn_hidden_size", 4 * fields.integer("hidden_size", "n_embed"), style.defaults.source)
    return style


def _falcon(fields: Fields, style: Style) -> Style:
    """One KV head unless the new layout names more; two norms before attention and MLP in the new layout, one where both run side by side."""
    new, parallel = fields.flag("new_decoder_architecture"), fields.flag("parallel_attn", default=True)
    if not new and fields.flag("multi_query", default=True):
        fields.note("multi_query", msg("one KV head for all query heads"), True)
        fields.without("num_kv_heads")
        fields.substitute("multi_query", True)
    bias = fields.flag("bias")
    two = new and fields.opt_int("num_ln_in_parallel_attn") != 1
    norms = ("ln_attn", "ln_mlp") if two else LLAMA_NORMS[:1] if parallel else LLAMA_NORMS
    style = replace(style, norms=norms, qkv_bias=bias, out_bias=bias, names=replace(style.names, dense_bias=bias))
    return _wide(fields, style)


def _neox(fields: Fields, style: Style) -> Style:
    bias = fields.flag("attention_bias", default=True)
    return replace(style, qkv_bias=bias, out_bias=bias)


def _persimmon(fields: Fields, style: Style) -> Style:
    return replace(style, qk_norm="head" if fields.flag("qk_layernorm", default=True) else "none", qk_names=("q_layernorm", "k_layernorm"))


def _internlm(fields: Fields, style: Style) -> Style:
    bias = fields.flag("bias")
    return replace(style, qkv_bias=bias, out_bias=bias)


def _qwen(fields: Fields, style: Style) -> Style:
    """`intermediate_size` counts gate and up together."""
    fields.substitute("intermediate_size", fields.integer("intermediate_size") // 2)
    return style


def _chatglm(fields: Fields, style: Style) -> Style:
    """Groups of KV heads only where `multi_query_attention` says so."""
    if not fields.flag("multi_query_attention"):
        fields.without("multi_query_group_num")
    bias = fields.flag("add_qkv_bias") or fields.flag("add_bias_linear")
    return replace(style, qkv_bias=bias, out_bias=fields.flag("add_bias_linear"), dense_keys=("ffn_hidden_size",))


_CHANGES: dict[str, Callable[[Fields, Style], Style]] = {
    "GPT2LMHeadModel": _wide,
    "GPTJForCausalLM": _wide,
    "GPTBigCodeForCausalLM": _bigcode,
    "BloomForCausalLM": _bloom,
    "FalconForCausalLM": _falcon,
    "GPTNeoXForCausalLM": _neox,
    "PersimmonForCausalLM": _persimmon,
    "InternLM2ForCausalLM": _internlm,
    "QWenLMHeadModel": _qwen,
    "TeleChat2ForCausalLM": lambda fields, style: replace(style, dense_keys=("ffn_hidden_size", "intermediate_size")),
    "ChatGLMModel": _chatglm,
    "ChatGLMForConditionalGeneration": _chatglm,
}


def _added(name: str, fields: Fields, found: ModelShape) -> ModelShape:
    """What stands outside the layers or differs in every one: learned positions, a norm on the input, biases of the head, biases of KV norms, missing scales."""
    hidden, extra = found.hidden, list[Weight]()
    if name in ("GPT2LMHeadModel", "GPTBigCodeForCausalLM"):
        extra.append(_table("transformer.wpe", fields.integer("n_positions", "max_position_embeddings"), hidden))
    elif name == "OPTForCausalLM":
        extra.append(_table("model.decoder.embed_positions", fields.integer("max_position_embeddings") + 2, hidden))
    elif name == "BloomForCausalLM":
        extra += [_vector("transformer.word_embeddings_layernorm", hidden), _vector("transformer.word_embeddings_layernorm.bias", hidden)]
    elif name == "GPTJForCausalLM":
        extra.append(_vector("lm_head.bias", found.vocab))
    elif name == "PersimmonForCausalLM":
        extra += [
            _vector(f"{weight.path}.bias", weight.shape[0], weight.layer) for weight in found.weights if weight.path.endswith(("q_layernorm", "k_layernorm"))
        ]
    elif name == "OlmoForCausalLM":
        return replace(found, weights=tuple(weight for weight in found.weights if weight.part != "norm"))
    return replace(found, weights=(*found.weights, *extra))


def _table(path: str, rows: int, width: int) -> Weight:
    return Weight(path=path, part="embed", shape=(rows, width), shard="replicated", linear=False)


def _vector(path: str, width: int, layer: int | None = None) -> Weight:
    return Weight(path=path, part="norm", shape=(width,), shard="replicated", linear=False, layer=layer)
