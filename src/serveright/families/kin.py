"""Llama's kin: its layout with one or two parts of their own (norms behind the blocks, other names, experts, layers run several times)."""

from collections.abc import Callable

from msgspec.structs import replace

from serveright.families.attention import Defaults
from serveright.families.decoder import SANDWICH, Style, biased, build
from serveright.families.ffn import FfnNames, dense
from serveright.families.fields import Fields
from serveright.families.frame import text_of
from serveright.types.model import Ffn, Layer, ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg

_T = "transformers 5.24"
_V = "vLLM 0.33.0"
_S = "SGLang 0.5.23"


def _plain(source: str) -> Style:
    return Style(dialect="kin", defaults=Defaults(source=source))


_GRANITE = FfnNames(
    block="block_sparse_moe",
    router="router.layer",
    shared="shared_mlp",
    outer_shared=True,
    matrices=("", "", "output_linear"),
    dense_fused="input_linear",
    fused=("input_linear", "output_linear"),
)
_STYLES: dict[str, Style] = {
    "LLaMAForCausalLM": _plain(f"{_V} llama"),
    "CwmForCausalLM": replace(_plain(""), defaults=Defaults(source=f"{_T} CwmConfig", kv_heads=8, head_dim=128, window=8192)),
    "IQuestCoderForCausalLM": _plain(f"{_V} llama"),
    "TeleChat3ForCausalLM": _plain(f"{_V} llama"),
    "TeleFLMForCausalLM": _plain(f"{_V} teleflm"),
    "TorchNativeLlamaForCausalLM": _plain(f"{_S} torch_native_llama"),
    "SolarForCausalLM": _plain(f"{_V} solar"),
    "XverseForCausalLM": _plain(f"{_S} xverse"),
    "XverseMoeForCausalLM": replace(_plain(f"{_S} xverse_moe"), names=FfnNames(router="router"), width_keys=("intermediate_size",)),
    "NanbeigeForCausalLM": _plain(f"{_S} nanbeige"),
    "PanguEmbeddedForCausalLM": _plain(f"{_V} openpangu"),
    "HyperCLOVAXForCausalLM": _plain(f"{_V} hyperclovax"),
    "MiniCPMForCausalLM": replace(_plain("MiniCPM configuration_minicpm"), tied=True, width_keys=("intermediate_size",)),
    "Step1ForCausalLM": replace(_plain(""), defaults=Defaults(source=f"{_V} step1", kv_heads=1), tied=True),
    "Plamo3ForCausalLM": replace(
        _plain(f"{_V} plamo3"),
        root="model.",
        stem="layers.layers",
        attn="mixer",
        fused_qkv="qkv_proj",
        qk_norm="head",
        norms=("pre_mixer_norm", "post_mixer_norm", "pre_mlp_norm", "post_mlp_norm"),
        names=FfnNames(dense_fused="gate_up_proj"),
        tied=True,
    ),
    "Rnj1ForCausalLM": replace(_plain(f"{_V} rnj1"), qk_norm="head", norms=SANDWICH, tied=True),
    "VaultGemmaForCausalLM": replace(
        _plain(""),
        defaults=Defaults(source=f"{_T} VaultGemmaConfig", kv_heads=4, head_dim=256, window=4096, full_every=2),
        norms=("input_layernorm", "pre_feedforward_layernorm"),
        tied=True,
    ),
    "DeepseekForCausalLM": _plain(f"{_V} DeepseekForCausalLM"),
    "Spark2_5ForCausalLM": replace(_plain(""), defaults=Defaults(source=f"{_S} spark2_5", window=512), fused_qkv="q_k_v_proj", out="out_proj"),
    "AriaTextForCausalLM": replace(_plain(f"{_T} AriaTextConfig"), names=FfnNames(router="router", fused=("fc1", "fc2")), width_keys=("intermediate_size",)),
    "GraniteMoeForCausalLM": replace(_plain(f"{_T} GraniteMoeConfig"), names=_GRANITE, width_keys=("intermediate_size",)),
    "GraniteMoeSharedForCausalLM": replace(_plain(f"{_T} GraniteMoeSharedConfig"), names=_GRANITE, width_keys=("intermediate_size",)),
    "GraniteSWAForCausalLM": replace(_plain(f"{_T} GraniteSWAConfig"), sinks=frozenset({"full", "sliding"}), tied=True),
    "GraniteMoeSWAForCausalLM": replace(
        _plain(f"{_T} GraniteMoeSWAConfig"),
        sinks=frozenset({"full", "sliding"}),
        names=FfnNames(block="block_sparse_moe", router="router", shared="shared_mlp", outer_shared=True, fused=("gate_up_proj", "down_proj")),
        width_keys=("intermediate_size",),
    ),
    "Grok1ForCausalLM": replace(
        _plain(""),
        defaults=Defaults(source=f"{_S} Grok1ForCausalLM", head_dim=128),
        norms=("pre_attn_norm", "post_attn_norm", "pre_moe_norm", "post_moe_norm"),
        names=FfnNames(block="block_sparse_moe", matrices=("w1", "w3", "w2")),
        width_keys=("moe_intermediate_size", "intermediate_size"),
    ),
}
_GROK = {"Grok1ModelForCausalLM": "Grok1ForCausalLM"}
ARCHITECTURES = frozenset({*_STYLES, *_GROK})


def shape(fields: Fields, files: ModelFiles) -> ModelShape:
    """See the package."""
    listed: str = files.config["architectures"][0]
    name = _GROK.get(listed, listed)
    text = text_of(fields)
    change, add = _CHANGES.get(name), _ADDITIONS.get(name)
    style = biased(text, _STYLES[name])
    found = build(fields, files, change(text, style) if change else style)
    return add(text, style, found) if add else found


def _clova(text: Fields, style: Style) -> Style:
    """Two more norms behind the blocks where `use_post_norm` says so."""
    if not text.flag("use_post_norm"):
        return style
    text.note("use_post_norm", msg("norms behind attention and MLP too"))
    return replace(style, norms=(*style.norms, "post_norm1", "post_norm2"))


def _granite(text: Fields, style: Style) -> Style:
    """One shared MLP of `shared_intermediate_size`, 0 for none."""
    if text.opt_int("shared_intermediate_size") == 0:
        text.without("shared_intermediate_size")
    return style


def _deepseek(text: Fields, style: Style) -> Style:
    """Configs of the later class name the widths of latent attention as 0 where there is none."""
    for key in ("v_head_dim", "qk_nope_head_dim", "qk_rope_head_dim", "q_lora_rank", "kv_lora_rank"):
        if not text.raw.get(key):
            text.without(key)
    text.ignore("use_mla", "lm_head", "rm_head")
    return style


def _spark(text: Fields, style: Style) -> Style:
    return replace(style, gate="head" if text.flag("headwise_attn_output_gate", default=True) else "none")


def _minicpm(text: Fields, style: Style) -> Style:
    """Experts only where `num_experts` is above 0; the small models share table and head."""
    return replace(style, names=FfnNames(matrices=("w1", "w3", "w2"), dense_block="mlp")) if text.opt_int("num_experts") else style


_CHANGES: dict[str, Callable[[Fields, Style], Style]] = {
    "HyperCLOVAXForCausalLM": _clova,
    "GraniteMoeSharedForCausalLM": _granite,
    "GraniteMoeSWAForCausalLM": _granite,
    "MiniCPMForCausalLM": _minicpm,
    "DeepseekForCausalLM": _deepseek,
    "Spark2_5ForCausalLM": _spark,
}


def _looped(text: Fields, style: Style, found: ModelShape) -> ModelShape:
    """The layers run `num_loops` times with the same weights; each pass keeps rows of its own."""
    loops = text.int_or(1, style.defaults.source, "num_loops", minimum=1)
    text.ignore("skip_loop_final_norm")
    text.note("num_loops", msg("the layers run {loops} times, and each pass keeps K and V rows of its own", loops=loops))
    return replace(found, layers=tuple(replace(layer, mixers=layer.mixers * loops) for layer in found.layers))


def _residual_moe(text: Fields, style: Style, found: ModelShape) -> ModelShape:
    """A dense MLP beside the experts where `residual_moe` says so (Grok 2)."""
    text.ignore("router_logit_softcapping", "merge_gate_up", "attn_temperature_len", "rope_rotate_half_dims")
    if not text.flag("residual_moe"):
        return found
    text.note("residual_moe", msg("a dense MLP runs beside the experts"))
    side = Ffn(kind="dense", intermediate=text.integer("intermediate_size"))
    layers = tuple(Layer(index=one.index, mixers=one.mixers, ffns=(*one.ffns, side), cache_from=one.cache_from) for one in found.layers)
    extra = [w for one in layers for w in dense(f"model.layers.{one.index}.mlp", one.index, found.hidden, side, FfnNames())]
    return replace(found, layers=layers, weights=(*found.weights, *extra))


def _pangu(text: Fields, style: Style, found: ModelShape) -> ModelShape:
    """Learned sink rows would change the cache's start; no published dense model has them."""
    if text.opt_int("param_sink_number"):
        text.unknown("param_sink_number", msg("learned sink rows are not counted"))
    return found


_ADDITIONS: dict[str, Callable[[Fields, Style, ModelShape], ModelShape]] = {
    "NanbeigeForCausalLM": _looped,
    "Grok1ForCausalLM": _residual_moe,
    "PanguEmbeddedForCausalLM": _pangu,
}
