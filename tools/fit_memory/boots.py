"""Public vLLM start-ups as inputs and observations: what was asked, on what, and what the engine then printed.

Only `observed` figures are truth; anything the collector computed from them is never read. Observed weights are an input, and reported as such.
"""

import json
import re
import tomllib
from math import ceil
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.weights import per_gpu_bytes, weight_need
from serveright.catalog.gpus import load_gpu
from serveright.catalog.models import load
from serveright.catalog.vllm import load_vllm_behaviour
from serveright.engines.vllm import expert_growth, settings_from_flags
from serveright.errors import UserError
from serveright.families.read import read_model
from serveright.formats.read import read_checkpoint
from serveright.types.engine import Parallel, Settings
from serveright.types.hardware import Gpu, Interconnect
from serveright.types.model import Checkpoint, ModelShape
from serveright.types.source import ModelFiles
from serveright.units import GIB

WORDS = tomllib.loads(Path(__file__).with_name("vllm_logs.toml").read_text(encoding="utf-8"))
COLLECTED = Path(__file__).parents[2] / "tests" / "data" / "startup" / "logs.jsonl"
"""Start-ups collected beside those of the shared folder, in the same form; `config` names a model of the catalogue."""
OBSERVED = ("weights_gib_per_gpu", "available_kv_gib", "kv_tokens", "max_concurrency", "block_size", "failed", "cuda_graph_estimated_gib")
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
    computed: int | None
    """Weights by the config, where the config at hand is the checkpoint's own."""
    available: int | None
    tokens: int | None
    concurrency: float | None
    block: int | None
    failed: bool
    graphs_estimated: int | None
    graphs_counted: bool | None
    second_runner: bool | None
    """The log names its model runner: the first or the second; None where it does not."""
    draft: bool
    """Speculates with a separate draft model, whose layers the log does not describe."""

    @property
    def base(self) -> tuple[str, int, int]:
        """What makes two checkpoints the same model: class, width, depth. Number formats and sizes of context do not."""
        return self.shape.architecture, self.shape.hidden, len(self.shape.layers)


def rows(engine: str, shared: Path | None) -> list[dict[str, Any]]:
    """Rows of one engine: those collected here, after the shared folder's where it is given."""
    files = [*([shared / "cases" / "startup_logs.jsonl"] if shared else []), COLLECTED]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in map(json.loads, lines) if row["engine"] == engine]


def read_boots(shared: Path | None) -> tuple[list[Boot], list[str]]:
    """Every vLLM start-up that can be rebuilt here, and why the others cannot."""
    found: list[Boot] = []
    left: list[str] = []
    for row in rows("vllm", shared):
        try:
            found.append(_boot(row, shared))
        except (KeyError, UserError) as error:
            left.append(f"{row['id']}: {type(error).__name__} {error}")
    return found, left


def _boot(row: dict[str, Any], shared: Path | None) -> Boot:
    seen = {name: row["observed"].get(name) for name in OBSERVED}
    shape, checkpoint = _model(row, shared)
    flags = " ".join(row.get("command_flags") or [])
    settings = _settings(row, flags, shape)
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
        settings=settings,
        weights=_bytes(seen["weights_gib_per_gpu"]),
        computed=_computed(row, shape, checkpoint, settings),
        available=_bytes(seen["available_kv_gib"]),
        tokens=seen["kv_tokens"],
        concurrency=seen["max_concurrency"],
        block=seen["block_size"],
        failed=bool(seen["failed"]),
        graphs_estimated=_bytes(seen["cuda_graph_estimated_gib"]),
        graphs_counted=bool(int(estimate[1])) if estimate else None,
        second_runner=WORDS["runner"].get(row["id"]),
        draft=((row.get("spec_config") or {}).get("method") or "mtp") not in ("mtp", "ngram", "suffix"),
    )


def _model(row: dict[str, Any], shared: Path | None) -> tuple[ModelShape, Checkpoint]:
    files = model_files(row, shared, WORDS)
    files = replace(files, config=files.config | _overrides(row, files.config))
    return read_model(files), read_checkpoint(files)


def model_files(row: dict[str, Any], shared: Path | None, words: dict[str, Any]) -> ModelFiles:
    """The config a log ran: of the catalogue, written beside this tool, or of the shared folder. KeyError where none is known."""
    model = row["model"]
    named = row.get("config") or words.get("catalogue", {}).get(model)
    if model in words["inline"]:
        return ModelFiles(id=model, origin="written beside the tool", config=words["inline"][model])
    if named:
        return load(named)
    if shared is None:
        raise KeyError(model)
    stem = words["configs"][model]
    beside = shared / "configs" / f"{stem}_hf_quant_config.json"
    quant: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    config = json.loads((shared / "configs" / f"{stem}.json").read_text(encoding="utf-8"))
    return ModelFiles(id=model, origin=stem, config=config, hf_quant_config=quant)


def _computed(row: dict[str, Any], shape: ModelShape, checkpoint: Checkpoint, settings: Settings) -> int | None:
    model = row["model"]
    own = model in (row.get("config"), WORDS["catalogue"].get(model)) or WORDS["configs"].get(model) == model.replace("/", "--")
    if not own or "load-format dummy" in " ".join(row["command_flags"] or []):
        return None
    mtp = settings.speculative_method == "mtp"
    parts = per_gpu_bytes(weight_need(shape, checkpoint), settings.parallel, with_mtp=mtp, language_only=settings.language_only)
    growth = expert_growth(shape, checkpoint, _gpu(row), load_vllm_behaviour(_version(row["engine_version"])), settings)
    return sum(parts.values()) + ceil(parts.get("experts", 0) * (growth - 1))


def _overrides(row: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """`hf_overrides text_config.num_hidden_layers=4,...` of the dummy runs."""
    match = re.search(r"hf_overrides text_config\.(\S+)", " ".join(row.get("command_flags") or []))
    if match is None:
        return {}
    pairs = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", match[1])}
    text: dict[str, Any] = config["text_config"] | pairs
    linear: dict[str, Any] = text.get("linear_attn_config", {})
    within = {key: _up_to(value, text["num_hidden_layers"]) for key, value in linear.items()}
    return {"text_config": text | ({"linear_attn_config": within} if linear else {})}


def _up_to(value: Any, last: int) -> Any:
    """A list of layers without those that are no more; anything else as it is."""
    return [n for n in cast("list[int]", value) if n <= last] if isinstance(value, list) else value


def _version(text: str) -> str:
    """The release whose behaviour the build has; KeyError for engines before V1, which are another program."""
    known = WORDS["versions"].get(text, text.split(" ")[0])
    if not known:
        raise KeyError(f"{text} is the engine before V1")
    return known


def _gpu(row: dict[str, Any]) -> Gpu:
    key = WORDS["gpus"][row["gpu"]]
    known = load_gpu(key) if key else unknown_gpu(row["gpu"], "amd")
    stated = row.get("device_memory_gib")
    return known if stated is None else _with_memory(known, round(stated * GIB))


def _with_memory(gpu: Gpu, memory: int) -> Gpu:
    return replace(gpu, memory_bytes=memory)


def unknown_gpu(name: str, vendor: str) -> Gpu:
    """A device that is not in the catalogue; what it holds comes from its log."""
    link = Interconnect(kind="none")
    return Gpu(
        key=name,
        name=name,
        vendor=vendor,
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
    stated: dict[str, int] = WORDS["stated"].get(row["id"], {})
    return replace(
        given,
        token_budget=stated.get("token_budget", given.token_budget),
        max_num_seqs=stated.get("max_num_seqs", given.max_num_seqs),
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
