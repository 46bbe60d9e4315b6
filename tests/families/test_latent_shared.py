"""Against the material beside the project: every config reads, totals meet the published ones, rows and states meet vLLM's own sizing."""

import fnmatch
import json
import re
from pathlib import Path

import pytest

from serveright.analysis.cache import logical_cache
from serveright.families.dialects import claims
from serveright.families.read import read_model
from serveright.types.model import Latent, UnknownMixer
from serveright.types.source import ModelFiles

DIALECTS = frozenset(
    {
        "deepseek",
        "deepseek_v4",
        "kimi",
        "hy4",
        "longcat",
        "bailing",
        "solar2",
        "qwen_hybrid",
        "qwen4",
        "nemotron_h",
        "state_mixes",
        "inkling",
        "glm5_next",
        "minicpmv",
    }
)
KNOWN_MISSES = {
    "DeepSeek-V4-Pro-0813": "the stored config names one prediction layer, the checkpoint holds three",
    "Qwen3-Next-80B-A3B-Instruct": "the checkpoint holds a prediction layer that the config does not name",
    "MiniCPM-V-4.6": "the config names a prediction layer that the checkpoint does not hold",
    "NVIDIA-Nemotron-Nano-12B-v2-VL-BF16": "the stored config is the text model's, without its vision encoder",
}


def _read(path: Path) -> ModelFiles:
    return ModelFiles(id=path.stem, origin=str(path), config=json.loads(path.read_text()))


def _mine(shared: Path) -> list[Path]:
    found: list[Path] = []
    for path in sorted((shared / "configs").glob("*.json")):
        names = json.loads(path.read_text()).get("architectures") or [""]
        reader = claims().get(names[0])
        if reader is not None and reader.__module__.rsplit(".", 1)[1] in DIALECTS:
            found.append(path)
    return found


@pytest.mark.shared
def test_every_config_reads_without_unknown_layers(shared: Path) -> None:
    paths = _mine(shared)
    assert len(paths) >= 72
    for path in paths:
        shape = read_model(_read(path))
        assert not any(isinstance(mixer, UnknownMixer) for layer in shape.layers for mixer in layer.mixers), path.name
        assert all(layer.mixers or layer.ffns for layer in shape.layers), path.name


@pytest.mark.shared
def test_totals_meet_the_published_ones(shared: Path) -> None:
    models = {row["hf_id"]: row for row in json.loads((shared / "facts/models.json").read_text())["models"]}
    checked, worst = 0, 0.0
    for path in _mine(shared):
        name = path.stem.replace("--", "/")
        published = models.get(name, {}).get("params_total_published")
        if not published or name.split("/")[1] in KNOWN_MISSES:
            continue
        error = abs(sum(weight.elements for weight in read_model(_read(path)).weights) / published - 1)
        assert error < 0.001, (name, error)
        checked, worst = checked + 1, max(worst, error)
    print(f"{checked} totals, worst {worst:.4%}")
    assert checked >= 40


@pytest.mark.shared
def test_rows_and_states_meet_vllm_where_it_stores_what_was_asked(shared: Path) -> None:
    """On one GPU without speculation, where the engine keeps the type asked for and no layout of its own (656-byte rows, 132-byte index keys)."""
    equal = 0
    for case in json.loads((shared / "cases/vllm_cache.json").read_text())["cases"]:
        path = shared / "configs" / f"{case['model'].replace('/', '--')}.json"
        if case["tp"] != 1 or case.get("num_speculative_tokens") or case.get("how") != "executed" or not path.exists():
            continue
        if case["kv_dtype"] == "auto" and case["resolved_cache_dtype"] != "auto":
            continue
        shape = read_model(_read(path))
        if any(isinstance(mixer, Latent) and mixer.kind != "mla" for layer in shape.layers for mixer in layer.mixers):
            continue
        cache = logical_cache(shape, 32768, case["kv_dtype"])
        assert cache.bytes_per_token == case["bytes_per_token_total_per_gpu"], (case["model"], case["kv_dtype"])
        assert cache.state_bytes == case["state_bytes_per_seq_per_gpu"], case["model"]
        equal += 1
    print(f"{equal} cases equal")
    assert equal >= 110


def _matches(pattern: str, paths: set[str]) -> bool:
    if pattern.startswith("re:"):
        return any(re.match(pattern[3:], path) for path in paths)
    return any(path == pattern or path.startswith(f"{pattern}.") or fnmatch.fnmatchcase(path, f"{pattern}*") for path in paths)


@pytest.mark.shared
def test_module_paths_are_the_checkpoints_own(shared: Path) -> None:
    """Every exception and every per-module format in the quantisation lists beside these models names a tensor that was derived."""
    checked = 0
    for path in sorted((shared / "configs").glob("nvidia--*_hf_quant_config.json")):
        config = path.with_name(path.name.replace("_hf_quant_config", ""))
        if config not in _mine(shared):
            continue
        listed = json.loads(path.read_text())["quantization"]
        patterns = [*(listed.get("exclude_modules") or ()), *(listed.get("quantized_layers") or ())]
        names = {re.sub(r"experts\.\d+\.", "experts.*.", pattern) for pattern in patterns}
        paths = {weight.path for weight in read_model(_read(config)).weights}
        assert [name for name in sorted(names) if not _matches(name, paths)] == [], config.stem
        checked += len(names)
    print(f"{checked} names found")
    assert checked >= 2000
