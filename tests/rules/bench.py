"""A command with GPU and version -> the context rules see, put together the way `api.audit` does it, from the catalogue only."""

from functools import cache
from typing import Any

from msgspec.structs import replace

from serveright.analysis.given import Given
from serveright.analysis.parsers import choose_parsers
from serveright.api.engines import Engine, load_engines
from serveright.api.loading import Model, load_model
from serveright.api.online import as_loaded
from serveright.api.sized import size_on
from serveright.catalog import models
from serveright.catalog.engines import load_table, table_index
from serveright.catalog.gpus import parse_gpu_spec
from serveright.errors import UserError
from serveright.readers.launch import Override, Reader
from serveright.readers.lore import load_lore, load_parser_facts
from serveright.rules.context import Context, Facts
from serveright.types.command import LaunchCommand
from serveright.types.engine import Settings, Sized
from serveright.types.engine_table import EngineName, EngineTable
from serveright.types.hardware import Fleet


def table_of(engine: EngineName, version: str | None) -> EngineTable:
    try:
        return load_table(engine, version)[0]
    except UserError:  # older than any table
        return load_table(engine, table_index(engine).versions[0])[0]


READER = Reader(table_of)


def command_of(text: str, version: str | None = None, file: str = "-") -> LaunchCommand:
    reading = (READER if version is None else Reader(table_of, Override(version=version))).text(text, file)
    assert len(reading.commands) == 1, (text, reading)
    return reading.commands[0]


AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}
NVFP4 = {
    "quant_method": "modelopt",
    "quant_algo": "NVFP4",
    "kv_cache_scheme": None,
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {"num_bits": 4, "type": "float", "group_size": 16},
            "input_activations": {"num_bits": 4, "type": "float", "group_size": 16},
        }
    },
}
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
STORED = {"FP8": FP8, "AWQ": AWQ, "GPTQ-Int4": GPTQ, "NVFP4": NVFP4}
"""Checkpoints the catalogue does not hold: the base model's config with what such a checkpoint's config says."""


@cache
def model_of(name: str) -> Model | None:
    files = models.find(name)
    if files is None:
        base, ending = models.base_of(name), next((ending for ending in STORED if name.endswith(f"-{ending}")), None)
        stem = name if ending is None else name.removesuffix(f"-{ending}")
        files = models.find(base or "") or models.find(stem) or models.find(stem.replace("nvidia/", "Qwen/"))
        if files is None or ending is None:
            return None
        files = replace(files, id=name, config={**files.config, "quantization_config": STORED[ending]})
    return load_model(files)


def catalogue_facts(model: Model) -> dict[str, Any]:
    """The checkpoint's own facts, its base model's where it has no parsers of its own."""
    facts = model.files.facts
    base = models.base_of(model.files.id)
    found = models.find(base) if "parsers" not in facts and base else None
    return facts if found is None else {**found.facts, **facts}


@cache
def engine_of(name: EngineName, version: str | None) -> Engine | None:
    try:
        return load_engines(name if version is None else f"{name}@{version}")[0]
    except UserError:
        return None


def facts_of(command: LaunchCommand, gpu: str = "", model: Model | None = None) -> Facts:
    table = table_of(command.engine, command.engine_version)
    other: EngineName = "sglang" if command.engine == "vllm" else "vllm"
    model = model or (model_of(command.model) if command.model else None)
    fleet = parse_gpu_spec(gpu) if gpu else None
    facts = Facts(
        table=table,
        lore=load_lore(),
        indexes={"vllm": table_index("vllm"), "sglang": table_index("sglang")},
        other_table=table_of(other, None),
        gpu=fleet.gpu if fleet else None,
        gpu_count=fleet.count if fleet else None,
        parsers=choose_parsers(None, None, {}, table, load_parser_facts()),
        read_from=table_index(command.engine).versions[-1],
    )
    if model is None:
        return facts
    stored, model = model, as_loaded(model, Given(command, table).settings)
    parsers = choose_parsers(model.shape, model.files.chat_template, catalogue_facts(model), table, load_parser_facts())
    facts = replace(facts, files=model.files, shape=model.shape, checkpoint=model.checkpoint, need=model.need, family=model.family, parsers=parsers)
    facts = replace(facts, online=model is not stored)
    engine = engine_of(command.engine, command.engine_version)
    if fleet is None or engine is None:
        return facts
    return _sized(facts, command, engine, model, fleet)


def _sized(facts: Facts, command: LaunchCommand, engine: Engine, model: Model, fleet: Fleet) -> Facts:
    settings = Given(command, facts.table).settings

    def resize(changed: Settings) -> Sized:
        return size_on(engine, model, fleet, changed, changed.context_tokens or model.shape.max_context_tokens or 4096)

    heads = [mixer.query_heads for layer in model.shape.layers for mixer in layer.mixers if hasattr(mixer, "query_heads")]
    if any(count % settings.parallel.tp for count in heads):
        return facts
    return replace(facts, sized=resize(settings), resize=resize)


def context_of(text: str, gpu: str = "", version: str | None = None) -> Context:
    command = command_of(text, version)
    return Context.of(command, facts_of(command, gpu))
