"""A design's files from its report alone: the chosen candidate sized again, then emitted. For fronts that keep reports, not candidates."""

from collections.abc import Iterator, Sequence

from serveright.analysis.launch import AITER, EXCHANGE
from serveright.api import emitting
from serveright.api.engines import load_engines
from serveright.api.loading import load_model
from serveright.api.sized import size_on
from serveright.catalog.gpus import parse_gpu_spec
from serveright.errors import UsageError, UserError
from serveright.types.deployment import Deployment, Emitted
from serveright.types.design import Candidate
from serveright.types.engine import Settings
from serveright.types.reports import Chosen, PlanReport
from serveright.types.source import ModelFiles
from serveright.types.text import msg
from serveright.types.traffic import Traffic


def deployment_of(report: PlanReport, chosen: Chosen, files: ModelFiles) -> Deployment:
    """`chosen`, one of the report's designs of `files`, made ready for machines. Raises UserError."""
    model, traffic = load_model(files), _traffic(report)
    fleet = parse_gpu_spec(report.gpu.key, report.gpu.count, report.gpu.nodes)
    engine = load_engines(f"{chosen.engine.name}@{chosen.engine.version}")[0]
    found = next(c for c in report.candidates if c.fits and c.engine == chosen.engine and c.parallel == chosen.parallel)
    exchange = next((flag for flag in chosen.flags if flag.flag == EXCHANGE[engine.name]), None)
    settings = Settings(
        parallel=chosen.parallel,
        context_tokens=traffic.context_tokens,
        language_only=bool(model.shape.towers) and not traffic.images_per_request,
        speculative_method="mtp" if found.speculative_tokens else None,
        speculative_tokens=found.speculative_tokens,
        all2all_backend=exchange.value if exchange else None,
        extra={AITER: chosen.env[AITER]} if AITER in chosen.env else {},
    )
    sized = size_on(engine, model, fleet, settings, traffic.context_tokens or 0)
    candidate = Candidate(
        engine=engine.name,
        version=engine.version,
        checkpoint=found.checkpoint,
        parallel=chosen.parallel,
        settings=sized.settings,
        fits=True,
        sized=sized,
        estimate=found.estimate,
        settings_why={"all2all_backend": exchange.why} if exchange else {},
    )
    return emitting.deployment(engine, model, fleet, traffic, candidate)


def files(report: PlanReport, model: ModelFiles, formats: Sequence[str], lang: str) -> Iterator[tuple[str, tuple[Emitted, ...]]]:
    """(format, files) of the chosen design; formats that cannot carry it are left out."""
    if report.chosen is None:
        return
    try:
        made = deployment_of(report, report.chosen, model)
    except UserError:
        return
    for name in formats:
        try:
            yield name, emitting.emit(name, made, lang)
        except UserError:
            continue


def emit(report: PlanReport, model: ModelFiles, format: str, lang: str) -> tuple[Emitted, ...]:
    """The files of one format of the chosen design. Raises UserError where the format cannot carry it."""
    if report.chosen is None:
        raise UsageError(msg("nothing fits, so nothing can be deployed"), msg("The report's ways out say what would."))
    return emitting.emit(format, deployment_of(report, report.chosen, model), lang)


def _traffic(report: PlanReport) -> Traffic:
    return report.steps["design"]["traffic"]
