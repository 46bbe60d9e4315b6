"""Two small tables, enough for every form of the grammar."""

from serveright.readers.launch import Reader
from serveright.types.engine_table import EngineName, EngineTable, Flag

VLLM = EngineTable(
    engine="vllm",
    version="0.33.0",
    flags=(
        Flag(name="--model"),
        Flag(name="--config"),
        Flag(name="--tensor-parallel-size", aliases=("-tp",), type="int"),
        Flag(name="--max-model-len", type="int"),
        Flag(name="--port", type="int"),
        Flag(name="--enforce-eager", switch=True, type="bool", negative="--no-enforce-eager"),
        Flag(name="--enable-prefix-caching", switch=True, type="bool", negative="--no-enable-prefix-caching", negatives=("--disable-prefix-caching",)),
        Flag(name="--speculative-config", aliases=("-sc",), type="json", fields=("method",)),
        Flag(name="--compilation-config", aliases=("-cc",), type="json"),
        Flag(name="--optimization-level", type="int"),
        Flag(name="--lora-modules", repeatable=True),
        Flag(name="--limit-mm-per-prompt", type="json"),
        Flag(name="--served-model-name", repeatable=True),
    ),
)
SGLANG = EngineTable(
    engine="sglang",
    version="0.5.23",
    flags=(
        Flag(name="--model-path", aliases=("--model",)),
        Flag(name="--tp-size", aliases=("--tensor-parallel-size",), type="int"),
        Flag(name="--mem-fraction-static", type="float"),
        Flag(name="--cuda-graph-max-bs-decode", type="int"),
        Flag(name="--cuda-graph-max-bs-prefill", type="int"),
        Flag(name="--trust-remote-code", switch=True, type="bool"),
        Flag(name="--port", type="int"),
    ),
)


def table(engine: EngineName, version: str | None) -> EngineTable:
    return VLLM if engine == "vllm" else SGLANG


READER = Reader(table)
