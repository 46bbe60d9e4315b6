"""What one SGLang version decides by name, by memory size or by constant: `facts/engines/sglang/behaviour.toml` read for a version, nothing else."""

import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

Where = Literal["any", "sm80_up", "sm80", "sm86", "sm89", "sm90", "sm100", "sm110", "sm120", "blackwell", "hip", "never"]
When = Literal["", "dsa", "windows", "state", "state_paged", "spec", "spec_tree", "nvfp4_experts", "kv_fp8_e4m3"]
Experts = Literal["", "nvfp4", "nvfp4_w4a16", "mxfp4", "int4_group32"]


class AttentionRule(Struct, frozen=True, kw_only=True):
    """What an architecture's override writes when the user left the attention backend alone; the first entry whose `when` holds wins.

    Maps go from a place (`Where`) to the value there. `forced` overwrites the user's backend too, `split` writes the prefill and decode flags; pages overwrite the user's unless `page_if_unset`.
    """

    architectures: tuple[str, ...]
    source: str
    backend: dict[Where, str] = {}
    page: dict[Where, int] = {}
    kv_dtype: dict[Where, str] = {}
    strategy: dict[Where, str] = {}
    when: When = ""
    forced: bool = False
    page_if_unset: bool = False
    split: bool = False
    decode_only: bool = False
    over_mib: int = 0
    capabilities: tuple[int, ...] = ()
    accepts: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()
    message: str = ""


class MoeRule(Struct, frozen=True, kw_only=True):
    """Which MoE runner replaces `auto`; the first entry that holds wins. `declared_only`: reads --quantization, not the checkpoint."""

    architectures: tuple[str, ...]
    on: tuple[Where, ...]
    runner: str
    source: str
    quantization: tuple[str, ...] = ()
    experts: Experts = ""
    a2a_none: bool = False
    ep_one: bool = False
    declared_only: bool = False


class MemoryRule(Struct, frozen=True, kw_only=True):
    """Chunk, graph batch and memory share by device memory.

    `tiers`: below so many MiB, chunk tokens, largest decode graph under 4 GPUs, and from 4 on. `terms`: the reserve is a sum of terms;
    `flat`: a reserve by tier (`flat_mib`: below MiB, GiB, GiB per GPU); `share`: a share by tensor-parallel size.
    """

    rule: Literal["terms", "flat", "share"]
    source: str
    tiers: tuple[tuple[float, int, int, int], ...]
    flat_gib: tuple[tuple[float, float, float], ...] = ()
    shares: tuple[tuple[int, float], ...] = ()
    prefill_graph: bool = True
    prefill_graph_each_mib: float = 0
    prefill_graph_mla_mib: float = 0
    prefill_graph_mla_tokens: int = 8192
    deepep_decode_mib: float = 0
    deepep_prefill_mib: float = 0
    speculative_mib: float = 0
    standalone_mib: float = 0
    attention_dp_mib: float = 0
    vision: bool = True


class Defaults(Struct, frozen=True, kw_only=True):
    """Numbers an architecture's override fills in when the user did not."""

    architectures: tuple[str, ...]
    source: str
    swa_full_tokens_ratio: float | None = None
    mamba_full_memory_ratio: float | None = None
    max_running_requests: int | None = None


class Constants(Struct, frozen=True, kw_only=True):
    """Numbers without a name of a model in them."""

    source: str
    swa_full_tokens_ratio: float
    mamba_full_memory_ratio: float
    window_eviction_tokens: int
    vision_cache_mib: int
    vision_transport_mib: int
    compress_state_bytes: int
    state_slots: dict[str, int]
    speculative_max_running: int
    index_keys: Literal["owners", "all"]
    dsa_kv_auto: Literal["blackwell_fp8", "model"]
    dsa_split: Literal["by_dtype", "flashmla", "by_dtype_bf16_trtllm"]
    state_strategy_auto: bool = True
    padding_slot: bool = True


class Behaviour(Struct, frozen=True, kw_only=True):
    """One version's decisions."""

    version: str
    names: dict[str, frozenset[str]]
    attention: tuple[AttentionRule, ...]
    moe: tuple[MoeRule, ...]
    memory: MemoryRule
    defaults: tuple[Defaults, ...]
    constants: Constants
    driver_mib: dict[str, int]

    def listed(self, name: str, architecture: str) -> bool:
        """The architecture stands in that list of names."""
        return architecture in self.names.get(name, frozenset())


def version_key(version: str) -> tuple[int, ...]:
    """`0.5.8.post1` as numbers that sort; text other than numbers is ignored."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def behaviour_for(data: dict[str, Any], version: str) -> Behaviour:
    """The behaviour of `version` from the parsed behaviour.toml: entries whose `since`/`until` exclude it are dropped, of `memory` and `constants` the last one left counts.

    Raises ValueError where no entry is left for a version.
    """
    at = version_key(version)
    names: dict[str, frozenset[str]] = {}
    for entry in _kept(data["names"], at):
        names[entry["list"]] = names.get(entry["list"], frozenset()) | frozenset(entry["architectures"])
    memory, constants = _kept(data["memory"], at), _kept(data["constants"], at)
    if not memory or not constants:
        raise ValueError(f"behaviour.toml knows nothing of sglang {version}")
    return Behaviour(
        version=version,
        names=names,
        attention=msgspec.convert(_kept(data["attention"], at), tuple[AttentionRule, ...]),
        moe=msgspec.convert(_kept(data["moe"], at), tuple[MoeRule, ...]),
        memory=msgspec.convert(memory[-1], MemoryRule),
        defaults=msgspec.convert(_kept(data["default"], at), tuple[Defaults, ...]),
        constants=msgspec.convert({key: value for entry in constants for key, value in entry.items()}, Constants),
        driver_mib=data["driver_mib"],
    )


def _kept(entries: list[dict[str, Any]], at: tuple[int, ...]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in entry.items() if key not in ("since", "until")}
        for entry in entries
        if at >= version_key(entry.get("since", "0")) and not ("until" in entry and at >= version_key(entry["until"]))
    ]
