"""vLLM's refusals on flags and shapes, each with the engine's own words, and silence where it would start."""

import pytest
from msgspec.structs import replace

from serveright.catalog.gpus import load_gpu
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.vllm import resolve
from serveright.types.engine import Parallel, Resolved, Settings
from serveright.types.model import Ffn, FormatRule, Layer, ModelShape, NumberFormat, Tower
from tests.engines.vllm.models import PLAIN, full, latent, model
from tests.engines.vllm.oracle import gpu

LLAMA = model(*[full(8, 32)] * 4)
GPT = model(*[full(8, 64, 64, window=128), full(8, 64, 64)] * 2)
INKLING = model(*[replace(full(8, 64), conv_rows=3, conv_channels=8 * 256 + 2 * 4096)] * 4, architecture="InklingForConditionalGeneration")
DEEPSEEK = model(*[latent()] * 4, architecture="DeepseekV3ForCausalLM", mtp=(Layer(index=4, mixers=(latent(),)),))


def asked(shape: ModelShape, capability: str = "9.0", version: str = "0.33.0", **settings: object) -> Resolved:
    return resolve(shape, PLAIN, gpu(capability), load_vllm_behaviour(version), Settings(**{"context_tokens": 8192, **settings}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "settings", "text"),
    [
        (LLAMA, {"parallel": Parallel(tp=3)}, "Total number of attention heads (32) must be divisible by tensor parallel size (3)."),
        (LLAMA, {"parallel": Parallel(tp=8, dcp=3)}, "tp_size=8 must be divisible by dcp_size=3."),
        (LLAMA, {"parallel": Parallel(tp=8, dcp=2)}, "Decode context parallelism for GQA/MQA requires `--tensor-parallel-size` (8)"),
        (LLAMA, {"parallel": Parallel(tp=16, dcp=4)}, "`--decode-context-parallel-size` (4) exceeds the maximum supported value (2)"),
        (GPT, {"parallel": Parallel(tp=16, dcp=2)}, "DCP not support sliding window."),
        (INKLING, {"parallel": Parallel(tp=16)}, "sconv SWA cache supports tp_size <= num_kv_heads (8), got 16"),
        (LLAMA, {"kv_dtype": "fp16"}, 'kv_cache_dtype="float16" is incompatible with dtype="bfloat16"'),
        (LLAMA, {"speculative_method": "mtp", "speculative_tokens": 1}, "ZeroDivisionError: integer modulo by zero"),
        (LLAMA, {"attention_backend": "FLASHMLA"}, "Selected backend AttentionBackendEnum.FLASHMLA is not valid for this configuration."),
    ],
)
def test_refused(shape: ModelShape, settings: dict[str, object], text: str) -> None:
    assert any(r.text.startswith(text) for r in asked(shape, **settings).refusals)


@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        (LLAMA, {}),
        (LLAMA, {"parallel": Parallel(tp=16, dcp=2)}),
        (DEEPSEEK, {"parallel": Parallel(tp=8, dcp=8)}),
        (DEEPSEEK, {"speculative_method": "mtp", "speculative_tokens": 3}),
        (LLAMA, {"kv_dtype": "bf16"}),
    ],
)
def test_started(shape: ModelShape, settings: dict[str, object]) -> None:
    assert asked(shape, **settings).refusals == ()


def test_fp8_cache_of_latent_models_needs_sm_89() -> None:
    assert asked(DEEPSEEK, "8.0", kv_dtype="fp8").refusals[0].text.startswith("FP8 KV cache is not supported by the Triton MLA backend on NVIDIA A100")
    assert asked(DEEPSEEK, "8.9", kv_dtype="fp8").refusals == ()


@pytest.mark.parametrize(
    ("version", "share", "budget", "seqs", "flight"),
    [("0.11.0", 0.9, 8192, 1024, 8192), ("0.22.0", 0.92, 8192, 1024, 8192), ("0.33.0", 0.92, 16384, 1024, 32768)],
)
def test_defaults_by_version(version: str, share: float, budget: int, seqs: int, flight: int) -> None:
    found = asked(LLAMA, "10.0", version)
    assert (found.mem_fraction, found.token_budget, found.max_num_seqs, found.in_flight_tokens) == (share, budget, seqs, flight)


@pytest.mark.parametrize(
    ("capability", "kv", "decode", "block"),
    [("9.0", None, "FLASH_ATTN_MLA", 16), ("9.0", "fp8", "FLASHMLA", 64), ("10.0", None, "FLASHINFER_MLA", 32), ("12.0", None, "TRITON_MLA", 16)],
)
def test_backends_of_latent_models(capability: str, kv: str | None, decode: str, block: int) -> None:
    found = asked(DEEPSEEK, capability, kv_dtype=kv)
    assert (found.attention_decode, found.block_tokens) == (decode, block)


GLM_V = replace(LLAMA, architecture="Glm4vMoeForConditionalGeneration", towers=(Tower(kind="vision", layers=24, hidden=1536, heads=12),))


@pytest.mark.parametrize(("tp", "kv"), [(8, 10), (4, 10), (3, 4), (8, 3)])
def test_kv_heads_must_divide_or_be_divided(tp: int, kv: int) -> None:
    found = asked(model(*[full(kv, 24 * 10)] * 4), parallel=Parallel(tp=tp))
    assert "kv_heads_not_divisible" in {r.code for r in found.refusals}


def test_image_encoders_with_uneven_heads() -> None:
    assert [r.text for r in asked(GLM_V, parallel=Parallel(tp=8)).refusals] == ["AssertionError: 12 is not divisible by 8"]
    assert asked(GLM_V, parallel=Parallel(tp=4)).refusals == ()
    assert asked(GLM_V, parallel=Parallel(tp=8), language_only=True).refusals == ()
    assert asked(GLM_V, parallel=Parallel(tp=8), extra={"mm-encoder-tp-mode": "data"}).refusals == ()


def test_a_storage_format_is_no_dtype_and_drags_nothing_along() -> None:
    found = asked(LLAMA, extra={"dtype": "fp8"})
    assert [r.code for r in found.refusals] == ["dtype_unknown"]
    assert found.attention_decode == "FLASH_ATTN"


def test_float32_configs_run_in_16_bits() -> None:
    assert asked(replace(LLAMA, dtype="float32")).kv_dtype == "bf16"
    assert asked(replace(LLAMA, dtype="float32"), extra={"dtype": "float"}).kv_dtype == "fp32"


@pytest.mark.parametrize(
    ("shape", "backend"),
    [(LLAMA, "ROCM_ATTN"), (GPT, "ROCM_ATTN"), (DEEPSEEK, "TRITON_MLA"), (model(*[full(8, 64, 72)] * 2), "ROCM_AITER_UNIFIED_ATTN")],
)
def test_amd_takes_its_own_backends(shape: ModelShape, backend: str) -> None:
    amd = replace(gpu("9.0"), vendor="AMD", capability=None, name="AMD Instinct MI300X")
    found = resolve(shape, PLAIN, amd, load_vllm_behaviour("0.33.0"), Settings(context_tokens=8192))
    assert (found.refusals, found.attention_decode) == ((), backend)


def test_other_platforms_are_unknown_and_name_no_kernel() -> None:
    npu = replace(gpu("9.0"), vendor="Huawei", capability=None, name="Ascend")
    found = resolve(LLAMA, PLAIN, npu, load_vllm_behaviour("0.33.0"), Settings(context_tokens=8192))
    assert [(r.code, r.text) for r in found.refusals] == [("layout_unknown", "")]
    assert found.attention_decode == found.attention_prefill == "unknown"


@pytest.mark.parametrize(("tp", "ep", "codes"), [(4, 1, []), (8, 1, ["no_expert_kernel"]), (8, 8, [])])
def test_fp8_tiles_that_a_slice_cuts_have_no_kernel_on_ampere(tp: int, ep: int, codes: list[str]) -> None:
    """Executed: 1536-wide experts run on 4 A100 (384 = 3 x 128) and are refused on 8 (192)."""
    expert = Ffn(kind="moe", intermediate=1536, experts=128, experts_per_token=8)
    shape = replace(LLAMA, layers=tuple(replace(layer, ffns=(expert,)) for layer in LLAMA.layers))
    tiles = NumberFormat(name="fp8", bits=8, block=(128, 128), scale_bits=32, activation_bits=8)
    checkpoint = replace(PLAIN, method="fp8", format="fp8", rules=(FormatRule(patterns=("*",), format=tiles),))
    settings = Settings(context_tokens=8192, parallel=Parallel(tp=tp, ep=ep))
    found = resolve(shape, checkpoint, load_gpu("a100-80gb-sxm"), load_vllm_behaviour("0.33.0"), settings)
    assert [r.code for r in found.refusals] == codes
