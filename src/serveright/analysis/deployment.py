"""A launch made ready for machines: roles, nodes, waiting times, room, router and cache tier. Pure: no cluster is asked."""

import json
import math
import re

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.joins import joins, knows
from serveright.types.deployment import Bound, Deployment, Role, RoleName, Router, Target, Tier
from serveright.types.design import FlagChoice, Launch
from serveright.types.engine import Parallel
from serveright.types.engine_table import EngineName, EngineTable
from serveright.types.hardware import Fleet
from serveright.types.text import Msg, msg
from serveright.versions import at_least

PORTS: dict[EngineName, int] = {"vllm": 8000, "sglang": 30000}
"""The engines' own defaults."""
LOAD_BYTES_PER_S = 0.5e9
"""A slow shared disk; NVMe reads ten times faster, so a probe that waits for this never kills a start that goes well."""
WARM_S = 900
"""Compiling, profiling and capturing graphs at their longest (start-up logs: 15 minutes for the largest models with cold caches)."""
LEAST_WAIT_S = 1200
SHM_PER_GPU = 2 << 30
LEAST_SHM = 8 << 30
DISK_SPARE = 1.2
LMCACHE_VERSION = "0.5.6"
LMCACHE_PORT = 6555
ROUTER_VERSIONS: dict[EngineName, str] = {"vllm": "0.1.17", "sglang": "0.3.2"}
ROUTER_PORT = 8080


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be deployed. `fleet` None for the CPU. `checkpoint_bytes` 0 where unknown: waiting times then take the least.

    `chunk_tokens` with `tier_bytes` asks for an LMCache tier whose chunk every cache group divides (`analysis.alignment`).
    """

    launch: Launch
    table: EngineTable
    parallel: Parallel
    fleet: Fleet | None
    checkpoint_bytes: int = 0
    served_name: str | None = None
    image: str | None = None
    tier_bytes: int = 0
    chunk_tokens: int | None = None
    bounds: tuple[Bound, ...] = ()
    metrics: dict[str, str] = {}
    copies: int | None = None
    """Independent copies; None: the layout's own."""
    highest_copies: int | None = None


def deploy(wanted: Wanted) -> Deployment:
    """The deployment of one aggregated server, with a router in front where there are several copies."""
    launch, fleet = wanted.launch, wanted.fleet
    target: Target = "cpu" if fleet is None else "gpu"
    copies = wanted.copies or wanted.parallel.replicas
    serve = role("serve", launch, wanted.table, wanted.parallel, fleet, copies)
    image, notes = _image(launch, fleet) if wanted.image is None else (wanted.image, ())
    made = Deployment(
        name=dns_label(launch.model),
        engine=launch.engine,
        version=launch.version,
        model=launch.model,
        served_name=wanted.served_name or launch.model,
        image=image,
        gpu=None if fleet is None else fleet.gpu,
        roles=(serve,),
        port=PORTS[launch.engine],
        target=target,
        router=router(launch.engine),
        startup_s=startup_s(wanted.checkpoint_bytes),
        shm_bytes=max(LEAST_SHM, SHM_PER_GPU * serve.node_gpus),
        cache_bytes=_ten_gib(wanted.checkpoint_bytes * DISK_SPARE),
        domain_gpus=1 if fleet is None else max(fleet.gpu.interconnect.domain_gpus, 1),
        bounds=wanted.bounds,
        metrics=wanted.metrics,
        lowest_copies=copies,
        highest_copies=max(copies, wanted.highest_copies or copies),
        notes=notes,
    )
    return with_tier(made, wanted.table, wanted.tier_bytes, wanted.chunk_tokens) if wanted.tier_bytes else made


def role(name: RoleName, launch: Launch, table: EngineTable, parallel: Parallel, fleet: Fleet | None, copies: int) -> Role:
    """One role with its nodes: as few as hold a copy, evenly filled."""
    per_node = max(1, min(fleet.per_node, fleet.gpu.gpus_per_node) if fleet else 1)
    nodes = math.ceil(parallel.gpus / per_node)
    while parallel.gpus % nodes:
        nodes += 1
    return Role(
        name=name,
        launch=launch,
        parallel=parallel,
        copies=copies,
        nodes=nodes,
        node_gpus=parallel.gpus // nodes if fleet else 0,
        joins=joins(table, parallel, nodes, per_node) if fleet else (),
    )


def router(engine: EngineName, transfer: str | None = None) -> Router:
    """The engine's own router; prefixes stay with the copy that has them."""
    return Router(
        name="vllm-router" if engine == "vllm" else "sglang-router",
        version=ROUTER_VERSIONS[engine],
        port=ROUTER_PORT,
        policy="cache_aware",
        transfer=transfer,
    )


def startup_s(checkpoint_bytes: int) -> int:
    """Seconds a start may take, in whole minutes: reading the checkpoint from a slow disk, then warming."""
    return max(LEAST_WAIT_S, math.ceil((checkpoint_bytes / LOAD_BYTES_PER_S + WARM_S) / 60) * 60)


def dns_label(text: str) -> str:
    """`Qwen/Qwen3.6-27B` -> `qwen3-6-27b`: at most 40 characters, so that suffixes fit into 63."""
    last = text.rstrip("/").rpartition("/")[2] or "model"
    label = re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")[:40].strip("-")
    return label if label[:1].isalpha() else f"m-{label}".strip("-")


def _ten_gib(size: float) -> int:
    step = 10 << 30
    return max(1, math.ceil(size / step)) * step


def _image(launch: Launch, fleet: Fleet | None) -> tuple[str, tuple[Msg, ...]]:
    amd = fleet is not None and fleet.gpu.vendor.lower() == "amd"
    if launch.engine == "vllm":
        name = "vllm/vllm-openai-rocm" if amd else "vllm/vllm-openai-cpu" if fleet is None else "vllm/vllm-openai"
        return f"{name}:v{launch.version}", ()
    if amd:
        note = msg("SGLang's AMD images carry the ROCm release in their tag; look up the one of this version before pulling.")
        return f"lmsysorg/sglang:v{launch.version}-rocm", (note,)
    return f"lmsysorg/sglang:v{launch.version}", ()


def with_tier(deployment: Deployment, table: EngineTable, host_bytes: int, chunk_tokens: int | None) -> Deployment:
    """The deployment with an LMCache server beside every engine. Where the engine cannot, a note says why and nothing is added."""
    why = _no_tier(deployment, table, chunk_tokens)
    if why is not None or chunk_tokens is None:
        return replace(deployment, notes=(*deployment.notes, why)) if why else deployment
    tier = Tier(
        version=LMCACHE_VERSION,
        image=f"lmcache/standalone:v{LMCACHE_VERSION}",
        chunk_tokens=chunk_tokens,
        host_bytes=host_bytes,
        port=LMCACHE_PORT,
        why=msg("chunks of {n:n} tokens: a multiple of every cache group's block, or the server refuses", n=chunk_tokens),
    )
    seed = ("PYTHONHASHSEED", "0", msg("chunk keys are hashes: every process must compute the same ones"))
    roles = tuple(replace(role, launch=_tiered(role.launch), environment=(*role.environment, seed)) for role in deployment.roles)
    return replace(deployment, tier=tier, roles=roles)


def _no_tier(deployment: Deployment, table: EngineTable, chunk_tokens: int | None) -> Msg | None:
    if chunk_tokens is None:
        return msg("No LMCache tier: the chunk size this model needs is not known.")
    if deployment.engine == "vllm":
        return None if at_least(table.version, "0.11.1") else msg("No LMCache tier: LMCacheMPConnector came with vLLM 0.11.1.")
    parallel = deployment.role.parallel
    if not knows(table, "--enable-lmcache") or not knows(table, "--lmcache-config-file"):
        return msg("No LMCache tier: this SGLang has no --lmcache-config-file.")
    speculative = any(flag.flag.startswith("--speculative") for flag in deployment.role.launch.flags)
    if parallel.dp > 1 or parallel.dcp > 1 or speculative or deployment.disaggregated:
        return msg("No LMCache tier: SGLang refuses it beside attention ranks, DCP, speculation or disaggregation; --enable-hierarchical-cache remains.")
    return None


def _tiered(launch: Launch) -> Launch:
    why = msg("caches move to host memory instead of being dropped, and come back from there")
    if launch.engine == "sglang":
        flags = (
            FlagChoice(flag="--enable-lmcache", value=None, why=why),
            FlagChoice(flag="--lmcache-config-file", value="/etc/lmcache/lmcache.yaml", why=msg("where the LMCache server listens")),
        )
        return replace(launch, flags=(*launch.flags, *flags))
    config = {
        "kv_connector": "LMCacheMPConnector",
        "kv_role": "kv_both",
        "kv_connector_module_path": "lmcache.integration.vllm.lmcache_mp_connector",
        "kv_connector_extra_config": {"lmcache.mp.host": "127.0.0.1", "lmcache.mp.port": LMCACHE_PORT},
    }
    return replace(launch, flags=(*launch.flags, FlagChoice(flag="--kv-transfer-config", value=json.dumps(config), why=why)))
