"""What a start-up holds beyond the weights: buffers of the engine's own arithmetic, runners, graphs and images by version, device and layout."""

import pytest
from msgspec.structs import replace

from serveright.catalog.gpus import load_gpu
from serveright.catalog.models import load
from serveright.catalog.vllm import load_vllm_behaviour, load_vllm_memory
from serveright.engines.vllm import resolve
from serveright.engines.vllm.memory import build, load_of, reach, split
from serveright.engines.vllm.plan import plan
from serveright.engines.vllm.profile import Load, price
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings

GIB = 2**30


def of(model: str, version: str, gpu: str = "h200-sxm", **settings: object) -> Load:
    files, device = load(model), load_gpu(gpu)
    shape, checkpoint = read_model(files), read_checkpoint(files)
    asked = replace(Settings(), **settings)
    return load_of(shape, plan(shape, checkpoint, device, load_vllm_behaviour(version), asked), device, asked)


def test_sparse_latent_models_keep_keys_gathered_for_the_longest_request() -> None:
    kept = of("zai-org/GLM-5.1", "0.20.0", parallel=Parallel(tp=8), context_tokens=202752, eager=True)
    assert kept.workspace == 202752 * 40 * 132
    assert of("zai-org/GLM-5.1", "0.20.0", parallel=Parallel(tp=8), context_tokens=101376, eager=True).workspace == kept.workspace // 2
    assert of("deepseek-ai/DeepSeek-R1", "0.20.0", parallel=Parallel(tp=8), context_tokens=131072).workspace == 0


def test_compressed_models_keep_a_quarter_of_the_keys() -> None:
    kept = of("deepseek-ai/DeepSeek-V4-Flash", "0.33.0", context_tokens=1048576)
    assert kept.workspace == max(1048576 * 10 * 132, 4 * (262144 + 128 + 8192) * 1024)
    assert kept.reserved == 512 * 2**20


def test_latent_layers_stand_in_for_prefill_rows_of_all_their_heads() -> None:
    one, eight = (of("deepseek-ai/DeepSeek-R1", "0.20.0", parallel=Parallel(tp=tp), context_tokens=131072).reserved for tp in (1, 8))
    assert one == 65536 * 128 * (128 + 128) * 2
    assert eight == one // 8


@pytest.mark.parametrize(
    ("model", "version", "tables"),
    [
        ("Qwen/Qwen3-32B", "0.20.0", False),
        ("Qwen/Qwen3-32B", "0.22.0", True),
        ("Qwen/Qwen3-32B-FP8", "0.22.0", False),
        ("Qwen/Qwen3-32B-FP8", "0.25.1", True),
        ("Qwen/Qwen3-30B-A3B", "0.28.0", False),
        ("Qwen/Qwen3.8-27B", "0.28.0", False),
        ("Qwen/Qwen3.8-27B", "0.29.0", True),
        ("Qwen/Qwen3-30B-A3B", "0.33.0", True),
    ],
)
def test_the_second_runner_counts_the_vocabulary_of_every_request(model: str, version: str, *, tables: bool) -> None:
    vocab, seqs = read_model(load(model)).vocab, 64
    found = of(model, version, max_num_seqs=seqs, context_tokens=4096).tables
    assert found == (seqs * (4 * vocab + 4 * -(-vocab // 32)) if tables else 0)


@pytest.mark.parametrize(
    ("version", "gpu", "eager", "counted"),
    [
        ("0.19.1", "h200-sxm", False, False),
        ("0.20.0", "h200-sxm", False, True),
        ("0.20.0", "h200-sxm", True, False),
        ("0.24.0", "mi300x", False, False),
        ("0.26.0", "mi300x", False, True),
        ("0.33.0", "h200-sxm", False, True),
    ],
)
def test_graphs_are_taken_from_the_cache_by_version_maker_and_mode(version: str, gpu: str, *, eager: bool, counted: bool) -> None:
    assert (of("Qwen/Qwen3-30B-A3B", version, gpu, eager=eager, context_tokens=4096).graphs > 0) is counted


def test_a_dense_models_second_runner_estimated_no_graphs_before_it_could() -> None:
    assert of("Qwen/Qwen3-32B", "0.25.1", context_tokens=4096).graphs == 0
    assert of("Qwen/Qwen3-32B", "0.29.0", context_tokens=4096).graphs > 0


def test_fewer_sizes_are_fewer_graphs() -> None:
    wide, narrow = (of("Qwen/Qwen3-30B-A3B", "0.24.0", context_tokens=4096, max_num_seqs=seqs).graphs for seqs in (256, 16))
    assert wide == 48 * (51 + 35)
    assert narrow == 48 * (7 + 5)


def test_images_are_profiled_unless_they_are_shut_out() -> None:
    seen = of("Qwen/Qwen3.8-27B", "0.27.0", context_tokens=32768)
    assert seen.patches == 16384 * 4
    assert of("Qwen/Qwen3.8-27B", "0.27.0", context_tokens=32768, token_budget=65536).patches == 4 * seen.patches
    assert of("Qwen/Qwen3.8-27B", "0.27.0", context_tokens=32768, language_only=True).patches == 0
    assert of("Qwen/Qwen3.8-27B", "0.27.0", context_tokens=32768, extra={"skip-mm-profiling": "true"}).patches == 0
    assert of("Qwen/Qwen3-32B", "0.27.0", context_tokens=32768).patches == 0


def test_encoders_that_hand_on_deeper_levels_leave_more_per_token() -> None:
    one, four = (of(model, "0.33.0", context_tokens=32768).encoded for model in ("Qwen/Qwen3.6-35B-A3B", "Qwen/Qwen3-VL-30B-A3B-Instruct"))
    assert (one, four) == (2 * 16384 * 2048, 2 * 16384 * 2048 * 4)
    assert of("Qwen/Qwen3-VL-30B-A3B-Instruct", "0.11.0", context_tokens=32768).encoded == 2 * 153600 * 2048 * 4


def test_heads_that_cannot_be_dealt_out_make_ranks_encode_whole_images() -> None:
    split_up, whole = (of("moonshotai/Kimi-K3", "0.33.0", parallel=Parallel(tp=tp), context_tokens=8192) for tp in (4, 8))
    assert split_up.gathered == 0
    assert whole.gathered == 2 * 10 * whole.patches * 1024
    assert of("moonshotai/Kimi-K3", "0.33.0", parallel=Parallel(tp=4), context_tokens=8192, extra={"mm-encoder-tp-mode": "data"}).gathered > 0


def test_the_hosts_images_count_only_where_memory_is_shared() -> None:
    calibration = load_vllm_memory()
    apart, shared = (price(of("Qwen/Qwen3.8-27B", "0.27.0", gpu, context_tokens=32768), calibration)["host_images"] for gpu in ("h200-sxm", "gb10"))
    assert apart == 0
    assert shared > GIB


def test_ranks_reach_one_another_by_the_machine() -> None:
    two = Settings(parallel=Parallel(tp=2))
    assert reach(load_gpu("l40s"), two) == "pcie"
    assert reach(load_gpu("h200-sxm"), two) == "node"
    assert reach(load_gpu("h200-sxm"), Settings(parallel=Parallel(tp=8, pp=2))) == "nodes"


def test_a_build_of_ones_own_has_the_wider_range_and_a_given_cache_none() -> None:
    assert [build(v) for v in ("0.33.0", "0.20.1.post1", "0.26.1.dev0+gd3d3b2cca", "0.24.0+mine", "0.29.1rc1")] == ["released"] * 2 + ["built"] * 3
    calibration, files, gpu = load_vllm_memory(), load("Qwen/Qwen3-32B"), load_gpu("h200-sxm")
    shape, checkpoint = read_model(files), read_checkpoint(files)
    widths: list[int] = []
    for version in ("0.24.0", "0.24.0+mine"):
        settings = Settings(context_tokens=4096)
        found = split(shape, plan(shape, checkpoint, gpu, load_vllm_behaviour(version), settings), 61 * GIB, gpu, calibration, settings)
        assert found.kv_pool_range is not None
        low, high = found.kv_pool_range
        assert low <= found.kv_pool_bytes <= high
        widths.append(high - low)
    assert widths[0] < widths[1]
    given = Settings(context_tokens=4096, extra={"kv-cache-memory-bytes": str(10 * GIB)})
    fixed = split(shape, plan(shape, checkpoint, gpu, load_vllm_behaviour("0.24.0"), given), 61 * GIB, gpu, calibration, given)
    assert (fixed.kv_pool_bytes, fixed.kv_pool_range) == (10 * GIB, None)


def test_the_second_runners_tables_are_told() -> None:
    files, device = load("Qwen/Qwen3-32B"), load_gpu("h200-sxm")
    shape, checkpoint = read_model(files), read_checkpoint(files)
    asked = Settings(context_tokens=4096, speculative_method="eagle3", speculative_tokens=3, extra={"speculative-model": "somebody/draft"})
    said = [choice.template for choice in resolve(shape, checkpoint, device, load_vllm_behaviour("0.33.0"), asked).choices]
    assert any(text.startswith("the second model runner serves") for text in said)
    plain = [choice.template for choice in resolve(shape, checkpoint, device, load_vllm_behaviour("0.19.1"), Settings(context_tokens=4096)).choices]
    assert not any(text.startswith("the second model runner") for text in plain)
