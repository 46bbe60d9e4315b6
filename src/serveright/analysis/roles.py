"""Prefill and decode apart as a deployment: the words of both roles and how caches travel between them. Whether it pays is `analysis.disaggregation`'s business."""

import json
from typing import Literal

from msgspec.structs import replace

from serveright.analysis.deployment import Wanted, deploy, role, router
from serveright.analysis.joins import knows
from serveright.analysis.layouts import all_to_all
from serveright.types.deployment import Deployment, Role, RoleName
from serveright.types.design import FlagChoice, Launch
from serveright.types.engine import Parallel
from serveright.types.engine_table import EngineTable
from serveright.types.hardware import Fleet
from serveright.types.text import Msg, msg
from serveright.versions import at_least

Transfer = Literal["nixl", "mooncake"]
BOOTSTRAP_PORT = 8998
"""SGLang's --disaggregation-bootstrap-port and vLLM's VLLM_MOONCAKE_BOOTSTRAP_PORT, both engines' defaults."""
SIDE_CHANNEL_PORT = 5600
"""vLLM's VLLM_NIXL_SIDE_CHANNEL_PORT, its default."""
PREFILL_RANK_TOKENS = 4096
"""A prefill step is as large as its token budget: always far above the point where throughput decides the exchange."""
_EXCHANGE = {"vllm": "--all2all-backend", "sglang": "--moe-a2a-backend"}


def disaggregate(
    wanted: Wanted, prefill: Parallel, decode: Parallel, prefill_copies: int, decode_copies: int, transfer: Transfer = "nixl", decode_rank_tokens: float = 64
) -> Deployment | Msg:
    """The same model with prefill and decode on GPUs of their own, or why this version cannot.

    `decode_rank_tokens`: tokens one decode rank holds in a step; decides the exchange of experts.
    """
    if wanted.fleet is None:
        return msg("Disaggregation needs GPUs of its own for each phase.")
    refusal = _refused(wanted.table, transfer)
    if refusal is not None:
        return refusal
    roles = (
        _role("prefill", wanted, wanted.fleet, prefill, prefill_copies, transfer, PREFILL_RANK_TOKENS),
        _role("decode", wanted, wanted.fleet, decode, decode_copies, transfer, decode_rank_tokens),
    )
    base = deploy(replace(wanted, parallel=decode, copies=decode_copies, tier_bytes=0))
    note = () if not wanted.tier_bytes else (msg("No cache tier: disaggregation already uses the engine's cache connector."),)
    return replace(base, roles=roles, router=router(base.engine, transfer), notes=(*base.notes, *note))


def _refused(table: EngineTable, transfer: Transfer) -> Msg | None:
    if table.engine == "vllm":
        if not knows(table, "--kv-transfer-config"):
            return msg("vLLM {version} has no --kv-transfer-config.", version=table.version)
        if transfer == "mooncake" and not at_least(table.version, "0.13.0"):
            return msg("MooncakeConnector came with vLLM 0.13; use nixl.")
        return None
    flag = next((known for known in table.flags if known.name == "--disaggregation-transfer-backend"), None)
    if flag is None or not knows(table, "--disaggregation-mode"):
        return msg("SGLang {version} has no --disaggregation-mode.", version=table.version)
    if flag.choices and transfer not in flag.choices:
        return msg("SGLang {version} cannot transfer by {transfer}.", version=table.version, transfer=transfer)
    return None


def _role(name: RoleName, wanted: Wanted, fleet: Fleet, parallel: Parallel, count: int, transfer: Transfer, tokens: float) -> Role:
    table = wanted.table
    flags = [flag for flag in _relaid(wanted.launch, parallel) if flag.flag != _EXCHANGE[table.engine]]
    flags += _exchange(name, table, fleet, parallel, tokens)
    flags += _vllm_words(name, transfer, table) if table.engine == "vllm" else _sglang_words(name, transfer)
    made = role(name, replace(wanted.launch, flags=tuple(flags)), table, parallel, fleet, count)
    return replace(made, environment=_environment(table, transfer))


_SIZES = {
    "vllm": (("--tensor-parallel-size", "tp"), ("--pipeline-parallel-size", "pp"), ("--data-parallel-size", "dp")),
    "sglang": (("--tp-size", "width"), ("--pp-size", "pp"), ("--attn-dp-size", "dp"), ("--ep-size", "ep")),
}


def _relaid(launch: Launch, parallel: Parallel) -> list[FlagChoice]:
    """The launch's flags with the role's own parallel sizes."""
    sizes = {"tp": parallel.tp, "pp": parallel.pp, "dp": parallel.dp, "ep": parallel.ep, "width": parallel.tp * parallel.dp}
    ours = {flag for flag, _ in _SIZES[launch.engine]} | {"--dp-size", "--enable-dp-attention", "--enable-expert-parallel"}
    old_spelling = any(flag.flag == "--enable-dp-attention" for flag in launch.flags)
    kept = [flag for flag in launch.flags if flag.flag not in ours]
    made: list[FlagChoice] = []
    for flag, size in _SIZES[launch.engine]:
        if sizes[size] > 1:
            spelled = "--dp-size" if old_spelling and flag == "--attn-dp-size" else flag
            made.append(FlagChoice(flag=spelled, value=str(sizes[size]), why=msg("the layout of this role")))
    if old_spelling and parallel.dp > 1:
        made.append(FlagChoice(flag="--enable-dp-attention", value=None, why=msg("the layout of this role")))
    if launch.engine == "vllm" and parallel.ep > 1:
        made.append(FlagChoice(flag="--enable-expert-parallel", value=None, why=msg("whole experts stay on one GPU; tokens travel instead of expert slices")))
    return made + kept


def _exchange(name: RoleName, table: EngineTable, fleet: Fleet, parallel: Parallel, tokens: float) -> list[FlagChoice]:
    if fleet.gpu.gpus_per_node >= parallel.gpus:
        return []  # inside one node the engine's own gathering over NVLink beats an exchange library
    chosen = all_to_all(table.engine, fleet.gpu, parallel, tokens, "prefill" if name == "prefill" else "decode")
    if chosen is None or (table.all2all_backends and chosen[0] not in table.all2all_backends) or not knows(table, _EXCHANGE[table.engine]):
        return []
    backend, why = chosen
    flags = [FlagChoice(flag=_EXCHANGE[table.engine], value=backend, why=why)]
    if backend == "deepep" and knows(table, "--deepep-mode"):
        mode = "normal" if name == "prefill" else "low_latency"
        flags.append(FlagChoice(flag="--deepep-mode", value=mode, why=msg("many tokens at once in prefill, few and urgent ones in decode")))
    return flags


def _vllm_words(name: RoleName, transfer: Transfer, table: EngineTable) -> list[FlagChoice]:
    if transfer == "nixl":
        config = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
    else:
        config = {"kv_connector": "MooncakeConnector", "kv_role": "kv_producer" if name == "prefill" else "kv_consumer"}
    flag = next(known for known in table.flags if known.name == "--kv-transfer-config")
    if "kv_load_failure_policy" in flag.fields:
        config["kv_load_failure_policy"] = "fail"
    return [FlagChoice(flag="--kv-transfer-config", value=json.dumps(config), why=msg("finished prompts' caches travel from prefill to decode"))]


def _sglang_words(name: RoleName, transfer: Transfer) -> list[FlagChoice]:
    why = msg("finished prompts' caches travel from prefill to decode")
    flags = [
        FlagChoice(flag="--disaggregation-mode", value=name, why=msg("this server does only this phase")),
        FlagChoice(flag="--disaggregation-transfer-backend", value=transfer, why=why),
    ]
    if name == "prefill":
        flags.append(FlagChoice(flag="--disaggregation-bootstrap-port", value=str(BOOTSTRAP_PORT), why=msg("where decode finds this prefill server")))
    return flags


def _environment(table: EngineTable, transfer: Transfer) -> tuple[tuple[str, str, Msg], ...]:
    if table.engine != "vllm":
        return ()
    if transfer == "nixl":
        address = ("VLLM_NIXL_SIDE_CHANNEL_HOST", "@address@", msg("the address the other role reaches; the default is localhost"))
        port = ("VLLM_NIXL_SIDE_CHANNEL_PORT", str(SIDE_CHANNEL_PORT), msg("one port a rank is used from here on"))
        return tuple(entry for entry in (address, port) if not table.environment or entry[0] in table.environment)
    return (("VLLM_MOONCAKE_BOOTSTRAP_PORT", str(BOOTSTRAP_PORT), msg("where decode finds this prefill server")),)
