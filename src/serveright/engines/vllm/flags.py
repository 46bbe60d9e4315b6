"""Settings <-> vLLM's own words, both ways. Each pair is the exact inverse of the other for every setting vLLM knows.

`launch_flags` writes only what is set: whatever stays None is left to the engine. Flags nobody has a common word for travel in `Settings.extra`.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import asdict, replace

from serveright.types.engine import Parallel, Settings

Flags = dict[str, str | None]
"""Flag -> value; None for a bare switch."""
_NUMBERS = {
    "--tensor-parallel-size": "tp",
    "--pipeline-parallel-size": "pp",
    "--data-parallel-size": "dp",
    "--decode-context-parallel-size": "dcp",
}
_PLAIN_INT = {
    "--max-model-len": "context_tokens",
    "--max-num-seqs": "max_num_seqs",
    "--max-num-batched-tokens": "token_budget",
    "--block-size": "block_tokens",
    "--max-cudagraph-capture-size": "max_graph_batch",
}
_PLAIN_TEXT = {
    "--kv-cache-dtype": "kv_dtype",
    "--attention-backend": "attention_backend",
    "--moe-backend": "moe_backend",
    "--all2all-backend": "all2all_backend",
    "--mamba-ssm-cache-dtype": "state_dtype",
}
_PAIRS = {"prefix_caching": "enable-prefix-caching", "async_scheduling": "async-scheduling"}
_SWITCHES = {"eager": "--enforce-eager", "language_only": "--language-model-only"}
_SPECULATIVE = "--speculative-config"
EXTRA_SWITCHES = ("disable-hybrid-kv-cache-manager", "trust-remote-code", "enable-eplb", "no-enable-chunked-prefill", "use-replayssm", "skip-mm-profiling")
EXTRA_VALUES = (
    "kv-cache-memory-bytes",
    "num-gpu-blocks-override",
    "dtype",
    "mamba-cache-mode",
    "indexer-kv-dtype",
    "cp-kv-cache-interleave-size",
    "mm-encoder-tp-mode",
)
_BACKEND_CONFIG = "--attention-config"


def launch_flags(settings: Settings) -> Flags:
    """vLLM's flags for what is set, in a stable order. `replicas` has no flag: each replica is a command of its own."""
    parallel = settings.parallel
    flags: Flags = {flag: str(value) for flag, name in _NUMBERS.items() if (value := _number(parallel, name)) > 1}
    if parallel.ep > 1:
        flags["--enable-expert-parallel"] = None
    for flag, name in (_PLAIN_INT | _PLAIN_TEXT).items():
        value: object = _field(settings, name)
        if value is not None:
            flags[flag] = str(value)
    if settings.mem_fraction is not None:
        flags["--gpu-memory-utilization"] = repr(settings.mem_fraction)
    for name, flag in _PAIRS.items():
        chosen: object = _field(settings, name)
        if chosen is not None:
            flags[f"--{flag}" if chosen else f"--no-{flag}"] = None
    flags |= {flag: None for name, flag in _SWITCHES.items() if _field(settings, name)}
    if settings.speculative_method:
        flags[_SPECULATIVE] = _speculative(settings)
    return flags | _extra(settings.extra)


def settings_from_flags(flags: Mapping[str, str | None]) -> Settings:
    """The settings a command asks for; flags without a common word stay in `extra` under their name without dashes.

    Raises ValueError where a number is none; the caller names the place.
    """
    parallel = {name: int(value) for flag, name in _NUMBERS.items() if (value := flags.get(flag)) is not None}
    world = parallel.get("tp", 1) * parallel.get("dp", 1)
    ep = world if "--enable-expert-parallel" in flags else 1
    found: dict[str, object] = {name: int(value) for flag, name in _PLAIN_INT.items() if (value := flags.get(flag)) is not None}
    found |= {name: value for flag, name in _PLAIN_TEXT.items() if (value := flags.get(flag)) is not None}
    fraction = flags.get("--gpu-memory-utilization")
    if fraction is not None:
        found["mem_fraction"] = float(fraction)
    for name, flag in _PAIRS.items():
        if f"--{flag}" in flags or f"--no-{flag}" in flags:
            found[name] = f"--{flag}" in flags
    found |= {name: True for name, flag in _SWITCHES.items() if flag in flags}
    found |= _read_speculative(flags.get(_SPECULATIVE))
    return replace(Settings(parallel=Parallel(**parallel, ep=ep)), **found, extra=_read_extra(flags))


def _number(parallel: Parallel, name: str) -> int:
    return {"tp": parallel.tp, "pp": parallel.pp, "dp": parallel.dp, "dcp": parallel.dcp}[name]


def _field(settings: Settings, name: str) -> object:
    return asdict(settings)[name]


def _speculative(settings: Settings) -> str:
    config: dict[str, object] = {"method": settings.speculative_method}
    if settings.speculative_tokens:
        config["num_speculative_tokens"] = settings.speculative_tokens
    if model := settings.extra.get("speculative-model"):
        config["model"] = model
    return json.dumps(config)


def _read_speculative(text: str | None) -> dict[str, object]:
    if text is None:
        return {}
    config = _object(text)
    method, tokens = config.get("method"), config.get("num_speculative_tokens", 0)
    return {"speculative_method": str(method) if method else None, "speculative_tokens": int(tokens)}


def _extra(extra: Mapping[str, str]) -> Flags:
    flags: Flags = {f"--{name}": None for name in EXTRA_SWITCHES if extra.get(name) == "true"}
    return flags | {f"--{name}": extra[name] for name in EXTRA_VALUES if name in extra and name != "indexer-kv-dtype"} | _indexer(extra)


def _indexer(extra: Mapping[str, str]) -> Flags:
    return {_BACKEND_CONFIG: json.dumps({"indexer_kv_dtype": extra["indexer-kv-dtype"]})} if "indexer-kv-dtype" in extra else {}


def _read_extra(flags: Mapping[str, str | None]) -> dict[str, str]:
    found = {name: "true" for name in EXTRA_SWITCHES if f"--{name}" in flags}
    found |= {name: value for name in EXTRA_VALUES if (value := flags.get(f"--{name}")) is not None}
    text = flags.get(_BACKEND_CONFIG)
    if text and "indexer_kv_dtype" in (config := _object(text)):
        found["indexer-kv-dtype"] = str(config["indexer_kv_dtype"])
    spec = flags.get(_SPECULATIVE)
    if spec and (draft := _object(spec)).get("model"):
        found["speculative-model"] = str(draft["model"])
    return found


def _object(text: str) -> dict[str, Any]:
    value: object = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return cast("dict[str, Any]", value)
