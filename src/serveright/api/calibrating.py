"""The user's measurements beside what the model says for the same server: the anchors that correct a plan."""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from serveright.analysis import layouts
from serveright.analysis import traffic as service
from serveright.analysis.anchors import Anchor
from serveright.analysis.search import Found, Question, conditions
from serveright.analysis.work import ModelWork
from serveright.api.engines import Engine
from serveright.api.loading import Model
from serveright.api.sized import size_on
from serveright.errors import InputError, UsageError
from serveright.readers.measured import MeasuredRun
from serveright.types.answers import MeasuredPoint
from serveright.types.engine import Parallel, Settings
from serveright.types.engine_table import EngineName
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic


class Anchored(Struct, frozen=True, kw_only=True):
    """Anchors by engine, and the points as the report shows them."""

    anchors: Mapping[EngineName, tuple[Anchor, ...]]
    points: tuple[MeasuredPoint, ...]


class Server(Struct, frozen=True, kw_only=True):
    """What was measured: model, engines asked for, GPUs and settings, and `plan()` that finds the layout where nobody said one."""

    model: Model
    work: ModelWork
    engines: tuple[Engine, ...]
    question: Question
    settings: Settings
    plan: Callable[[], Found]


def anchored(runs: tuple[MeasuredRun, ...], layout: str | None, server: Server) -> Anchored:
    """Predict each run without correction. `layout` is the user's word where the file has none. Raises UserError."""
    engine = _engine(runs, server.engines)
    words = next((run.layout for run in runs if run.layout), layout)
    parallel, note = _layout(words, engine, server)
    anchors: list[Anchor] = []
    points: list[MeasuredPoint] = []
    for run in runs:
        predicted = _predicted(run, parallel, engine, server)
        measured = run.measured
        anchors.append(Anchor(concurrency=run.concurrency, measured=measured, predicted=predicted))
        points.append(
            MeasuredPoint(
                engine=engine.name, layout=layouts.name(parallel), concurrency=run.concurrency, input_tokens=round(run.input_tokens),
                output_tokens=round(run.output_tokens), measured=measured, predicted={name: predicted[name] for name in measured}, note=note,
            )
        )  # fmt: skip
    return Anchored(anchors={engine.name: tuple(anchors)}, points=tuple(points))


def _engine(runs: tuple[MeasuredRun, ...], engines: tuple[Engine, ...]) -> Engine:
    """The file's word, else the only engine asked for, else the benchmark client's own engine."""
    named = next((run.engine for run in runs if run.engine), None)
    if named is None and len(engines) > 1:
        named = next((run.tool for run in runs if run.tool in {e.name for e in engines}), None)
    if named is None and len(engines) == 1:
        return engines[0]
    found = next((engine for engine in engines if engine.name == named), None)
    if found is None:
        raise UsageError(msg("--calibrate: the measurements do not say which engine they are of"), msg("Add --engine vllm or --engine sglang."))
    return found


def _layout(words: str | None, engine: Engine, server: Server) -> tuple[Parallel, Msg | None]:
    if words is not None:
        parallel = layouts.parse(words)
        if parallel is None:
            raise UsageError(msg("{words} is not a layout", words=words), msg("Write TP8, TP8+EP8, DP8+EP8 or 2xTP4."))
        return parallel, None
    best = next((c for c in server.plan().candidates if c.fits and c.engine == engine.name), None)
    if best is None:
        raise InputError(msg("--calibrate: no layout of {engine} fits here, so there is nothing to compare with", engine=engine.name))
    return best.parallel, msg("the file does not say the layout; the plan's own was taken: say it with --measured-with")


def _predicted(run: MeasuredRun, parallel: Parallel, engine: Engine, server: Server) -> dict[str, float]:
    fleet = msgspec.structs.replace(server.question.fleet, count=parallel.gpus * parallel.replicas, nodes=1)
    if fleet.count > server.question.fleet.per_node:
        fleet = msgspec.structs.replace(fleet, nodes=-(-fleet.count // server.question.fleet.per_node))
    tokens = (round(run.input_tokens), round(run.output_tokens))
    asked = Traffic(concurrency=max(1, round(run.concurrency)), input_tokens=(tokens[0], tokens[0]), output_tokens=(tokens[1], tokens[1]))
    settings = msgspec.structs.replace(server.settings, parallel=parallel)
    sized = size_on(engine, server.model, fleet, settings, max(settings.context_tokens or 0, sum(tokens)))
    if not sized.fits:
        raise InputError(
            msg("--calibrate: {layout} does not fit here, so it cannot be what was measured", layout=layouts.name(parallel)),
            msg("Name the measured layout with --measured-with."),
        )
    question = msgspec.structs.replace(server.question, fleet=fleet, traffic=asked, correction=_none)
    estimate = service.estimate(
        server.work, fleet.gpu, parallel, asked, question.calibration, conditions(question, engine.name, sized, None, engine.table.released)
    )
    return {
        "tpot_s": estimate.tpot_s, "ttft_mean_s": estimate.ttft_mean_s, "ttft_median_s": estimate.ttft_median_s,
        "output_tokens_per_s": estimate.output_tokens_per_s,
    }  # fmt: skip


def _none(engine: EngineName) -> None:
    return None
