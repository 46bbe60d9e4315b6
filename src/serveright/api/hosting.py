"""Whether and with what a model is served on these GPUs: the first of its checkpoints, in order of preference, that some engine runs."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from serveright.analysis import choosing as rules
from serveright.analysis.gates import gate_reason
from serveright.api.engines import Engine
from serveright.api.estimating import Served, serve, work_of
from serveright.api.loading import Model
from serveright.catalog.gates import load_gates
from serveright.catalog.models import find
from serveright.families.read import read_model
from serveright.families.verdict import family
from serveright.formats.read import read_checkpoint
from serveright.types.choosing import Choice, StepReason
from serveright.types.design import Reason, VerdictName
from serveright.types.hardware import Fleet
from serveright.types.model import Checkpoint, Family, ModelShape
from serveright.types.source import ModelFiles
from serveright.types.text import msg
from serveright.types.traffic import Traffic


class Question(Struct, frozen=True, kw_only=True):
    """What every model is held against."""

    fleet: Fleet
    traffic: Traffic
    engines: tuple[Engine, ...]
    needs: tuple[str, ...]
    scores: Mapping[str, float]


class Subject(Struct, frozen=True, kw_only=True):
    """One model of the catalogue, read as far as its config alone goes."""

    files: ModelFiles
    shape: ModelShape
    checkpoint: Checkpoint
    family: Family


class Standing(Struct, frozen=True, kw_only=True):
    """A model that came through, with what serves it best."""

    choice: Choice
    model: Model
    served: Served


def with_context(traffic: Traffic) -> Traffic:
    """The longest request: as asked, else p95 prompt and answer."""
    if traffic.context_tokens is not None:
        return traffic
    return msgspec.structs.replace(traffic, context_tokens=traffic.input_tokens[1] + traffic.output_tokens[1])


def subject_of(files: ModelFiles) -> Subject:
    """Step 1 without the weights' bytes. Raises UserError."""
    shape = read_model(files)
    return Subject(files=files, shape=shape, checkpoint=read_checkpoint(files), family=family(shape))


class Hosted(Struct, frozen=True, kw_only=True):
    """A model with the checkpoint and engine that serve it here."""

    model: Model
    served: Served
    reasons: list[StepReason]
    assumed: bool


def checkpoints(subject: Subject, fleet: Fleet) -> list[tuple[str, Checkpoint, bool]]:
    """(id, checkpoint, assumed) in the order to try: what this GPU computes natively first. One published checkpoint a precision, the publisher's own first.

    A checkpoint whose own config the catalogue holds is read, not assumed.
    """
    files, dtype = subject.files, subject.checkpoint.dtype
    own = (files.id, subject.checkpoint, False)
    by_format: dict[str, tuple[str, Checkpoint, bool]] = {rules.main_format(subject.checkpoint).name: own}
    entries = cast("list[dict[str, Any]]", files.facts.get("checkpoints", []))
    organisation = files.id.partition("/")[0]
    for entry in sorted(entries, key=lambda e: (not str(e["id"]).startswith(f"{organisation}/"), e.get("source") != "vllm recipe")):
        own_config = find(str(entry["id"]))
        checkpoint = read_checkpoint(own_config) if own_config else rules.assumed_checkpoint(str(entry.get("precision")), dtype)
        hardware = cast("list[str]", entry.get("hardware", []))
        if checkpoint is not None and (not hardware or fleet.gpu.key.partition("-")[0] in hardware):
            by_format.setdefault(rules.main_format(checkpoint).name, (str(entry["id"]), checkpoint, own_config is None))
    return sorted(by_format.values(), key=lambda item: rules.preference(fleet.gpu, rules.main_format(item[1])))


def host(subject: Subject, question: Question) -> Hosted | list[StepReason]:
    """The first checkpoint, in order of preference, that some engine serves; else why each did not."""
    fleet, traffic = question.fleet, question.traffic
    if (short := rules.context_reason(subject.shape, traffic.context_tokens or 0)) is not None:
        return [short]
    elements = sum(weight.elements for weight in subject.shape.weights if weight.part not in ("vision", "audio"))
    room = fleet.gpu.memory_bytes * fleet.count
    bare = msgspec.structs.replace(subject.checkpoint, rules=())
    missing = [reasons for engine in question.engines if (reasons := _blocked(engine, subject, bare, fleet))]
    if len(missing) == len(question.engines):
        return [reason for reasons in missing for reason in reasons]
    why: list[StepReason] = []
    for name, checkpoint, assumed in checkpoints(subject, fleet):
        form = rules.main_format(checkpoint)
        if rules.least_bytes(elements, form) > room:
            text = msg("{n:n} parameters in {format} need more than the {room:gib} of these GPUs", n=elements, format=form.name, room=room)
            why.append(StepReason(step="hardware", code="weights-do-not-fit", text=text, against=True))
            continue
        hosted = _on_engines(subject, name, checkpoint, assumed, question)
        if isinstance(hosted, Hosted):
            return hosted
        why += hosted
    return why[::-1] or [StepReason(step="hardware", code="no-checkpoint", text=msg("no checkpoint of a known format"), against=True)]


def _on_engines(subject: Subject, name: str, checkpoint: Checkpoint, assumed: bool, question: Question) -> Hosted | list[StepReason]:
    """The faster of the engines that run this checkpoint here."""
    fleet = question.fleet
    why: list[StepReason] = []
    open_to: list[Engine] = []
    for engine in question.engines:
        blocked = _blocked(engine, subject, checkpoint, fleet)
        why += blocked
        open_to += [] if blocked else [engine]
    if not open_to:
        return why
    files = msgspec.structs.replace(subject.files, id=name)
    model = Model(files=files, shape=subject.shape, checkpoint=checkpoint, family=subject.family)
    work = work_of(model)
    best: Served | None = None
    for engine in open_to:
        served = serve(engine, model, fleet, question.traffic, work)
        if isinstance(served, Reason):
            text = rules.worded(served.text, engine.name)
            why.append(StepReason(step="hardware", code=served.code, text=text, against=True, source=served.source))
        elif best is None or speed(served) > speed(best):
            best = served
    if best is None:
        return why
    notes: list[StepReason] = []
    if assumed:
        text = msg(
            "{name} is published, its config was not at hand: {format} on every linear layer but head, router and towers is assumed",
            name=name,
            format=checkpoint.format,
        )
        notes.append(StepReason(step="hardware", code="checkpoint-assumed", text=text))
    notes += [reason for verdict, reason in _verdicts(best.engine, subject, checkpoint, fleet) if verdict in ("unknown", "degraded")]
    notes += rules.format_reasons(fleet.gpu, rules.main_format(checkpoint))
    passed_over = [msgspec.structs.replace(r, against=False, text=msg("passed over: {why}", why=r.text)) for r in why]
    return Hosted(model=model, served=best, reasons=[*notes, *passed_over], assumed=assumed)


def _blocked(engine: Engine, subject: Subject, checkpoint: Checkpoint, fleet: Fleet) -> list[StepReason]:
    """What no layout mends: the engine has no class for it, or no kernel on this chip."""
    if not any(a.name == subject.shape.architecture for a in engine.table.architectures):
        text = msg("{engine} {version} has no class for {name}", engine=engine.name, version=engine.version, name=subject.shape.architecture)
        return [StepReason(step="hardware", code="architecture-unknown", text=text, against=True, source=engine.table.source)]
    verdicts = _verdicts(engine, subject, checkpoint, fleet)
    found = [reason for verdict, reason in verdicts if verdict == "blocked"]
    if found or not verdicts or any(verdict != "unknown" for verdict, _ in verdicts):
        return [msgspec.structs.replace(reason, against=True) for reason in found]
    text = msg("no source says that {engine} {version} runs on {gpu} at all", engine=engine.name, version=engine.version, gpu=fleet.gpu.name)
    return [StepReason(step="hardware", code="no-source", text=text, against=True)]


def _verdicts(engine: Engine, subject: Subject, checkpoint: Checkpoint, fleet: Fleet) -> list[tuple[VerdictName, StepReason]]:
    """What each gate that concerns this model says on this engine and chip."""
    wanted = rules.asked_of_gates(subject.shape, checkpoint)
    found: list[tuple[VerdictName, StepReason]] = []
    for gate in load_gates():
        if not wanted.isdisjoint(gate.needs):
            verdict, reason, _ = gate_reason(gate, engine.name, engine.version, fleet.gpu, wanted)
            found.append((verdict, StepReason(step="hardware", code=reason.code, text=rules.worded(reason.text, engine.name), source=reason.source)))
    return found


def speed(served: Served) -> float:
    """Output tokens a second of all GPUs, 0 where nothing was estimated."""
    return served.candidate.estimate.output_tokens_per_s if served.candidate.estimate else 0.0
