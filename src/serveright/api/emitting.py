"""From the chosen design to files: the deployment with its waiting times, limits, metrics and cache tier, and any format made of it."""

from msgspec.structs import replace

from serveright.analysis.alignment import alignment
from serveright.analysis.autoscaling import bounds
from serveright.analysis.deployment import Wanted, deploy
from serveright.analysis.disaggregation import Pools
from serveright.analysis.roles import Transfer, disaggregate
from serveright.api.auditing import audit_text
from serveright.api.commands import Ask
from serveright.api.engines import Engine
from serveright.api.loading import Model
from serveright.api.planning import launch_of
from serveright.catalog.metrics import load_metrics
from serveright.errors import UsageError
from serveright.outputs import emit as emitting
from serveright.outputs.language import render
from serveright.types.deployment import Deployment, Emitted
from serveright.types.design import Candidate
from serveright.types.hardware import Fleet
from serveright.types.text import msg
from serveright.types.traffic import Traffic

_YOURS = frozenset({"SEC01", "SEC02", "PARSE05"})
"""Remarks that no plan can answer: they are about who calls the server."""


def formats() -> tuple[str, ...]:
    """What `--emit` accepts."""
    return emitting.formats()


def deployment(
    engine: Engine, model: Model, fleet: Fleet, traffic: Traffic, candidate: Candidate, *, tier_bytes: int = 0, highest_copies: int | None = None
) -> Deployment:
    """The chosen candidate made ready for machines. `tier_bytes` of host memory ask for an LMCache tier; `highest_copies` for room to scale."""
    return deploy(wanted(engine, model, fleet, traffic, candidate, tier_bytes=tier_bytes, highest_copies=highest_copies))


def apart(
    engine: Engine,
    model: Model,
    fleet: Fleet,
    traffic: Traffic,
    candidate: Candidate,
    pools: Pools,
    transfer: Transfer = "nixl",
    decode_rank_tokens: float = 64,
) -> Deployment:
    """The same with prefill and decode on GPUs of their own, as `analysis.disaggregation.best_pools` split them. Raises UsageError where the version cannot."""
    made = disaggregate(
        wanted(engine, model, fleet, traffic, candidate),
        pools.prefill,
        pools.decode,
        pools.prefill.replicas,
        pools.decode.replicas,
        transfer,
        decode_rank_tokens,
    )
    if isinstance(made, Deployment):
        return made
    raise UsageError(made, msg("Leave prefill and decode together, or take another version."))


def wanted(
    engine: Engine, model: Model, fleet: Fleet, traffic: Traffic, candidate: Candidate, *, tier_bytes: int = 0, highest_copies: int | None = None
) -> Wanted:
    """What `deploy` is handed. Raises UsageError where the candidate was never sized."""
    sized = candidate.sized
    if sized is None:
        raise UsageError(msg("nothing fits, so nothing can be deployed"), msg("The report's ways out say what would."))
    copies = candidate.parallel.replicas
    return Wanted(
        launch=launch_of(engine, model, traffic, candidate),
        table=engine.table,
        parallel=candidate.parallel,
        fleet=fleet,
        checkpoint_bytes=model.checkpoint.file_bytes or model.need.total_bytes,
        tier_bytes=tier_bytes,
        chunk_tokens=alignment(model.shape, sized).lmcache_chunk_tokens if tier_bytes else None,
        bounds=bounds(sized, candidate.estimate, traffic, copies),
        metrics=load_metrics(engine.name, engine.version),
        highest_copies=highest_copies,
    )


def emit(format: str, made: Deployment, lang: str = "en") -> tuple[Emitted, ...]:
    """The files of one format, the main one first; what our own audit would remark stands in each as an answered remark. Raises UserError."""
    return tuple(_answered(file, made, lang) for file in emitting.emit(format, made, lang))


def _answered(file: Emitted, made: Deployment, lang: str) -> Emitted:
    """A file with the notes of its own audit suppressed for the reason that holds here; warnings and errors are never answered away."""
    if not file.name.endswith((".yaml", ".yml", ".sh", ".sbatch", ".slurm")):
        return file
    asked = Ask(engine=made.engine, version=made.version, local=False)
    asks = (asked,) if made.gpu is None else (asked, replace(asked, gpu=f"{made.role.nodes * made.role.node_gpus}x{made.gpu.key}"))
    codes = {one.code for ask in asks for one in audit_text(file.text.encode(), file.name, ask).findings if one.severity == "note"}
    weighed, open_questions = sorted(codes - _YOURS), sorted(codes & _YOURS)
    lines: list[str] = []
    if weighed:
        lines.append(f"# serveright: ignore-file[{', '.join(weighed)}] {render(msg('the plan that made this file weighed it'), lang)}\n")
    if open_questions:
        reason = msg("yours to settle: who may reach the port, which revision is pinned, whether clients think by default")
        lines.append(f"# serveright: ignore-file[{', '.join(open_questions)}] {render(reason, lang)}\n")
    first, newline, rest = file.text.partition("\n") if file.text.startswith("#!") else ("", "", file.text)
    return replace(file, text=first + newline + "".join(lines) + rest)
