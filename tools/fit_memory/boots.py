"""Public vLLM start-ups as inputs and observations: what was asked, on what, and what the engine then printed.

Only `observed` figures are truth; anything the collector computed from them is never read. Observed weights are an input, and reported as such.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from serveright.catalog.gpus import load_gpu
from serveright.engines.vllm import settings_from_flags
from serveright.errors import UserError
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings
from serveright.types.hardware import Gpu, Interconnect
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.source import ModelFiles
from serveright.units import GIB

WORDS = tomllib.loads(Path(__file__).with_name("vllm_logs.toml").read_text(encoding="utf-8"))
OBSERVED = ("weights_gib_per_gpu", "available_kv_gib", "kv_tokens", "max_concurrency", "block_size", "failed")
_NAMED = re.compile(r"--[a-z0-9-]+")


class Boot(Struct, frozen=True, kw_only=True):
    """One start-up. Sizes are bytes; None where the log does not say."""

    id: str
    model: str
    version: str
    fork: bool
    confidence: str
    gpu: Gpu
    shape: ModelShape
    checkpoint: Checkpoint
    settings: Settings
    weights: int | None
    available: int | None
    tokens: int | None
    concurrency: float | None
    block: int | None
    failed: bool
    graphs_counted: bool | None
    draft: bool
    """Speculates with a separate draft model, whose layers the log does not describe."""


def read_boots(shared: Path) -> tuple[list[Boot], list[str]]:
    """Every vLLM start-up that can be rebuilt here, and why the others cannot."""
    found: list[Boot] = []
    left: list[str] = []
    for line in (shared / "cases" / "startup_logs.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["engine"] != "vllm":
            continue
        try:
            found.append(_boot(row, shared))
        except (KeyError, UserError) as error:
            left.append(f"{row['id']}: {type(error).__name__} {error}")
    return found, left


def _boot(row: dict[str, Any], shared: Path) -> Boot:
    seen = {name: row["observed"].get(name) for name in OBSERVED}
    shape, checkpoint = _model(row, shared)
    flags = " ".join(row.get("command_flags") or [])
    estimate = re.search(r"ESTIMATE_CUDAGRAPHS=(\d)", flags)
    return Boot(
        id=row["id"],
        model=row["model"],
        version=_version(row["engine_version"]),
        fork="fork" in row["engine_version"] or "custom" in row["engine_version"],
        confidence=row["confidence"],
        gpu=_gpu(row),
        shape=shape,
        checkpoint=checkpoint,
        settings=_settings(row, flags, shape),
        weights=_bytes(seen["weights_gib_per_gpu"]),
        available=_bytes(seen["available_kv_gib"]),
        tokens=seen["kv_tokens"],
        concurrency=seen["max_concurrency"],
        block=seen["block_size"],
        failed=bool(seen["failed"]),
        graphs_counted=bool(int(estimate[1])) if estimate else None,
        draft=((row.get("spec_config") or {}).get("method") or "mtp") not in ("mtp", "ngram", "suffix"),
    )


def _model(row: dict[str, Any], shared: Path) -> tuple[ModelShape, Checkpoint]:
    path = shared / "configs" / f"{WORDS['configs'][row['model']]}.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config |= _overrides(row, config)
    files = ModelFiles(id=row["model"], origin=str(path), config=config)
    return read_model(files), read_checkpoint(files)


def _overrides(row: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """`hf_overrides text_config.num_hidden_layers=4,...` of the dummy runs."""
    match = re.search(r"hf_overrides text_config\.(\S+)", " ".join(row.get("command_flags") or []))
    if match is None:
        return {}
    pairs = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", match[1])}
    return {"text_config": config["text_config"] | pairs}


def _version(text: str) -> str:
    """The release whose behaviour the build has; KeyError for engines before V1, which are another program."""
    known = WORDS["versions"].get(text, text.split(" ")[0])
    if not known:
        raise KeyError(f"{text} is the engine before V1")
    return known


def _gpu(row: dict[str, Any]) -> Gpu:
    key = WORDS["gpus"][row["gpu"]]
    known = load_gpu(key) if key else _unknown(row["gpu"])
    stated = row.get("device_memory_gib")
    return known if stated is None else _with_memory(known, round(stated * GIB))


def _with_memory(gpu: Gpu, memory: int) -> Gpu:
    return replace(gpu, memory_bytes=memory)


def _unknown(name: str) -> Gpu:
    link = Interconnect(kind="none")
    return Gpu(
        key=name,
        name=name,
        vendor="amd",
        architecture="",
        capability=None,
        memory_bytes=0,
        memory_marketing_bytes=0,
        bandwidth_bytes_per_s=0,
        flops={},
        interconnect=link,
        gpus_per_node=1,
    )


def _settings(row: dict[str, Any], flags: str, shape: ModelShape) -> Settings:
    given = settings_from_flags(_flags(flags))
    spec: dict[str, Any] = row.get("spec_config") or {}
    length = row.get("max_model_len")
    ep = row.get("ep") or 1
    return replace(
        given,
        parallel=Parallel(tp=row["tp"], pp=row["pp"], dp=row["dp"], ep=ep, dcp=given.parallel.dcp),
        context_tokens=length if isinstance(length, int) else shape.max_context_tokens,
        kv_dtype=None if row["kv_cache_dtype"] in ("auto", None) else row["kv_cache_dtype"],
        mem_fraction=row.get("gpu_memory_utilization"),
        attention_backend=None,
        speculative_method=spec.get("method"),
        speculative_tokens=spec.get("num_speculative_tokens") or 0,
        prefix_caching=False if "caching off" in flags else True if "caching on" in flags else given.prefix_caching,
    )


def _flags(text: str) -> dict[str, str | None]:
    words = text.split()
    found: dict[str, str | None] = {}
    for word, following in zip(words, [*words[1:], "--"], strict=False):
        name, _, value = word.partition("=")
        if _NAMED.fullmatch(name):
            found[name] = value or (None if following.startswith("--") else following)
    return found


def _bytes(value: float | None) -> int | None:
    return None if value is None else round(value * GIB)
