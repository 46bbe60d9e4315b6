"""From symptom to cause: whatever the operator has -> signs -> causes, with the repair as a command."""

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.evidence import command_signs, log_signs, scrape_signs, shape_signs, sized_signs, window_signs
from serveright.analysis.memory_from_log import memory_parts
from serveright.analysis.not_a_fault import not_a_fault
from serveright.api.commands import Ask, facts_of, read
from serveright.api.loading import load_model
from serveright.catalog.gpus import counts_gpus
from serveright.catalog.own import existing, read_own, refuse_utf16
from serveright.errors import InputError, UserError, os_reason
from serveright.readers.benchmark import BenchPoint, parse_benchmark
from serveright.readers.echo import command_of_echo
from serveright.readers.engine_log import Progress, read_log, read_stream, read_text
from serveright.readers.log_lines import facts_alone
from serveright.readers.nvidia_smi import is_smi, parse_smi
from serveright.readers.prometheus import read_scrapes
from serveright.readers.symptom_text import read_symptom
from serveright.rules import repair as repairing
from serveright.rules.causes.edits import edits_from
from serveright.rules.causes.rank import next_checks, ranked, ruled_out, score
from serveright.rules.causes.unknown import missing_root, unknown_error
from serveright.rules.context import Context, Facts
from serveright.rules.run import audit_command
from serveright.types.command import LaunchCommand
from serveright.types.diagnosis import Cause, DiagnoseReport, LogReading, Scrape, Sign
from serveright.types.engine import Sized
from serveright.types.engine_table import EngineName
from serveright.types.report import Edit, Finding
from serveright.types.text import Msg, msg

ROUNDS = 4
"""Repairs may need a repair of their own."""
SURE = 0.2
"""Causes with a smaller share do not touch the command."""


class Bundle(Struct, frozen=True, kw_only=True):
    """What there is. `logs` and `metrics` are files or URLs, `command` a file or the command itself, `model` as every verb takes it."""

    logs: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    command: str | None = None
    model: str | None = None
    gpu: str | None = None
    engine: EngineName | None = None
    version: str | None = None
    symptoms: tuple[str, ...] = ()
    smi: str | None = None
    bench: str | None = None
    url: str | None = None
    probe: bool = False
    """Send a few requests to `url`."""
    local: bool = True
    """False for texts of strangers: no path that a log or command names is looked at."""


class Seen(Struct, frozen=True, kw_only=True):
    """Everything read from a bundle."""

    logs: tuple[LogReading, ...]
    scrapes: tuple[Scrape, ...]
    command: LaunchCommand | None
    command_text: str
    signs: tuple[Sign, ...]
    bench: tuple[BenchPoint, ...]
    notes: tuple[Msg, ...]
    inputs: tuple[str, ...]


def diagnose(bundle: Bundle, progress: Progress | None = None, tell: Callable[[Msg], None] | None = None) -> DiagnoseReport:
    """Causes, likeliest first. Raises UserError where nothing was given or an input cannot be read; one dead URL among others is a note."""
    seen = gather(bundle, progress, tell)
    engine, version = _engine(bundle, seen)
    asked = Ask(engine=bundle.engine, version=bundle.version or version, gpu=bundle.gpu, model=bundle.model, local=bundle.local)
    context = None if seen.command is None else Context.of(seen.command, _facts(seen.command, asked))
    findings: list[Finding] = [] if context is None else audit_command(context)
    signs = seen.signs if context is None else (*seen.signs, *command_signs(context, context.shape), *window_signs(seen.signs, context))
    sized = _sized_alone(bundle, asked, engine) if context is None else context.sized
    if context is None and bundle.model is not None:
        signs = (*signs, *shape_signs(load_model(bundle.model).shape, "--config"))
    if sized is not None:
        signs = (*signs, *sized_signs(sized, context.command.location.file if context else "--config"))
    scored = score(signs, findings, engine)
    causes = ranked(scored)
    if not any(cause.likelihood > 0.4 for cause in causes):
        causes = tuple(sorted((*causes, *unknown_error(seen.logs, causes)), key=lambda cause: -cause.likelihood))
    checks = next_checks(causes, signs)
    if not causes:
        checks = (*missing_root(seen.logs), *checks)
    return DiagnoseReport(
        inputs=seen.inputs,
        engine=engine,
        version=version,
        causes=causes,
        corrected_command=None if context is None else corrected(seen, causes, context, asked),
        ruled_out=ruled_out(scored, causes),
        not_a_fault=not_a_fault(signs, seen.scrapes, any(point.random for point in seen.bench), sized),
        next_checks=checks,
        memory=() if sized is None else memory_parts(seen.logs, sized),
        notes=seen.notes,
    )


def gather(bundle: Bundle, progress: Progress | None = None, tell: Callable[[Msg], None] | None = None) -> Seen:
    """Reads every input."""
    notes: list[Msg] = []
    logs = tuple(_log(log, bundle.local, progress) for log in bundle.logs)
    scrapes = tuple(_scrapes(bundle, notes))
    signs: list[Sign] = [sign for log in logs for sign in (*log.signs, *log_signs(log))]
    signs += scrape_signs(scrapes)
    for text in bundle.symptoms:
        signs += read_symptom(text)
        signs += (sign for sign in read_text(text, "--symptom").signs if sign.key not in facts_alone())
    if bundle.smi:
        signs += _gpu_signs(bundle.smi)
    bench = parse_benchmark(_text(bundle.bench)) if bundle.bench else ()
    if bundle.bench and not bench:
        notes.append(msg("{file} is no result of vLLM's or SGLang's benchmark or of GuideLLM", file=bundle.bench))
    if bundle.url and bundle.probe:
        from serveright.probes.run import probe_signs

        signs += probe_signs(bundle.url, tell)
    text, file = _command_text(bundle, logs)
    asked = Ask(engine=bundle.engine, version=bundle.version or next((log.version for log in logs if log.version), None), local=bundle.local)
    command = None
    if text:
        reading = read(text.encode(), file, asked)
        command = reading.commands[0] if reading.commands else None
        if command is None:
            notes.append(msg("{file}: no vLLM or SGLang start was found", file=file))
    inputs = tuple(
        x for x in (*bundle.logs, *bundle.metrics, file if text else None, bundle.model, bundle.gpu, *bundle.symptoms, bundle.smi, bundle.bench) if x
    )
    if not inputs and not bundle.url:
        raise InputError(msg("nothing to diagnose was given"), msg("Give --log, --metrics, --command or --symptom."))
    notes += [note for log in logs for note in log.notes]
    notes += [msg("{source} is empty", source=log.source) for log in logs if not log.bytes]
    return Seen(
        logs=logs, scrapes=scrapes, command=command, command_text=text, signs=_once(signs), bench=bench, notes=tuple(notes), inputs=inputs
    )  # fmt: skip


def _log(where: str, local: bool, progress: Progress | None) -> LogReading:
    """One log; `-` is what is piped in."""
    if where == "-" and local:
        return read_stream(sys.stdin.buffer, "stdin", progress)
    return read_log(Path(where), progress)


def _once(signs: list[Sign]) -> tuple[Sign, ...]:
    """The first sign of each key, with the counts of all."""
    found: dict[str, Sign] = {}
    for sign in signs:
        known = found.get(sign.key)
        found[sign.key] = sign if known is None else replace(known, count=known.count + sign.count, numbers={**known.numbers, **sign.numbers})
    return tuple(found.values())


def _scrapes(bundle: Bundle, notes: list[Msg]) -> Iterator[Scrape]:
    wanted = (*bundle.metrics, *((bundle.url,) if bundle.url and not bundle.metrics else ()))
    for where in wanted:
        try:
            found = read_scrapes(where)
        except UserError as error:
            if len(wanted) == 1 and not bundle.logs and not bundle.command and not bundle.symptoms:
                raise
            notes.append(error.message)
            continue
        foreign = [scrape for scrape in found if scrape.engine is None]
        if _empty(where):
            notes.append(msg("{source} is empty", source=where))
        elif foreign:
            notes.append(msg("{source} is a metrics page, but not of vLLM or SGLang", source=where))
        yield from (scrape for scrape in found if scrape.engine is not None)


def _empty(where: str) -> bool:
    path = existing(where)
    return path is not None and path.is_file() and not path.stat().st_size


def _gpu_signs(where: str) -> Iterator[Sign]:
    text = _text(where)
    if not is_smi(text):
        raise InputError(msg("{file} is not the output of nvidia-smi", file=where), msg("Save plain `nvidia-smi` as it stands."))
    reading = parse_smi(text)
    for gpu in reading.gpus:
        if gpu.load is not None and gpu.load >= 0.95 and gpu.power_w and gpu.power_limit_w and gpu.power_w < 0.35 * gpu.power_limit_w:
            yield Sign(key="gpu:busy_idle", source=where, text=msg("GPU {i}: {load:pct} busy at {power:g} W", i=gpu.index, load=gpu.load, power=gpu.power_w))
    loads = [gpu.load for gpu in reading.gpus if gpu.load is not None]
    if len(loads) > 1 and max(loads) < 0.5:
        yield Sign(key="gpu:idle", source=where, text=msg("no GPU is more than {load:pct} busy", load=max(loads)))
    foreign = [(gpu, name, used) for gpu, name, used in reading.processes if not any(word in name.lower() for word in ("vllm", "sglang", "python"))]
    for gpu, name, used in foreign[:4]:
        yield Sign(key="gpu:taken", source=where, text=msg("GPU {i}: {name} holds {used:gib}", i=gpu, name=name, used=used))


def _text(where: str) -> str:
    data = read_own(where)
    refuse_utf16(data, where)
    return data.decode("utf-8", "replace")


def _command_text(bundle: Bundle, logs: tuple[LogReading, ...]) -> tuple[str, str]:
    """The command and what to call it: a file, the words themselves, or what the engine echoed in its log."""
    if bundle.command:
        path = existing(bundle.command)
        if path is not None and path.is_file():
            return _text(bundle.command), bundle.command
        if "\n" not in bundle.command and " " not in bundle.command.strip():
            raise InputError(msg("{path} cannot be read: {why}", path=bundle.command, why="no such file"), msg("Give a file, or the whole command in quotes."))
        return bundle.command, "--command"
    for log in logs:
        echo = command_of_echo(log.arguments or "")
        if echo:
            return echo, f"{log.source} (its own arguments)"
    return "", ""


def _engine(bundle: Bundle, seen: Seen) -> tuple[str | None, str | None]:
    engine = (
        bundle.engine
        or (seen.command.engine if seen.command else None)
        or next((log.engine for log in seen.logs if log.engine), None)
        or next((scrape.engine for scrape in seen.scrapes), None)
    )
    version = bundle.version or next((log.version for log in seen.logs if log.version), None) or (seen.command.engine_version if seen.command else None)
    return engine, version


def _sized_alone(bundle: Bundle, asked: Ask, engine: str | None) -> Sized | None:
    """Without a command, what the engine makes of the model with its defaults: enough to compare memory lines with, no ground for findings."""
    if bundle.model is None or bundle.gpu is None or engine is None:
        return None
    text = f"vllm serve {shlex.quote(bundle.model)}" if engine == "vllm" else f"python3 -m sglang.launch_server --model-path {shlex.quote(bundle.model)}"
    command = _first(text, "--config", asked)
    return None if command is None else facts_of(command, asked).sized


def corrected(seen: Seen, causes: tuple[Cause, ...], context: Context, asked: Ask) -> str | None:
    """The command with the likely causes and every error of its audit repaired; None where nothing can be changed by flags, or errors stay."""
    file = context.command.location.file
    likely = [cause for cause in causes if cause.likelihood >= SURE]
    groups = [tuple(edits_from([cause], seen.signs, context)) for cause in likely]
    groups = [group for group in groups if group] + [tuple(cause.edits) for cause in likely if cause.edits]
    text, touched = seen.command_text, set[str]()
    for number in range(ROUNDS):
        fresh = [group for group in groups if not touched & {edit.flag for edit in group}] if number == 0 else groups
        if not fresh:
            break
        done = repairing.repair(text, _apart(fresh), lambda changed: _first(changed, file, asked))
        text, touched = done.text, touched | {edit.flag for edit in done.applied}
        command = _first(text, file, asked)
        if command is None:
            return None
        errors = [f for f in audit_command(Context.of(command, _facts(command, asked))) if f.severity == "error"]
        groups = repairing.edits_of(errors, unsafe=True)
        if not errors:
            return text.strip() if text != seen.command_text else None
    return None


def _apart(groups: list[tuple[Edit, ...]]) -> list[tuple[Edit, ...]]:
    """Groups without a flag that an earlier group touched."""
    touched: set[str] = set()
    kept: list[tuple[Edit, ...]] = []
    for group in groups:
        names = {edit.flag for edit in group}
        if not names & touched:
            kept.append(group)
            touched |= names
    return kept


def write_calibration(report: DiagnoseReport, file: str) -> None:
    """What the log says of memory, beside what was derived, as JSON. Raises InputError where the log had no memory lines or the file cannot be written."""
    import json

    if not report.memory:
        raise InputError(msg("no memory lines to calibrate with"), msg("Give the start-up log with --log, the model with --config and the GPU with --gpu."))
    parts = {part.name: {"derived": part.derived, "observed": part.observed, "unit": part.unit, "verdict": part.verdict} for part in report.memory}
    told = {
        "schema": "serveright.calibration/1",
        "engine": report.engine,
        "version": report.version,
        "inputs": list(report.inputs),
        "memory": parts,
        "points": [],
    }
    try:
        Path(file).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(msg("{file}: cannot be written ({why})", file=file, why=os_reason(error))) from error


def _facts(command: LaunchCommand, asked: Ask) -> Facts:
    """What the rules look at; a GPU told by its bare name says which kind, not how many."""
    facts = facts_of(command, asked)
    return replace(facts, gpu_count=None) if asked.gpu is not None and not counts_gpus(asked.gpu) else facts


def _first(text: str, file: str, asked: Ask) -> LaunchCommand | None:
    commands = read(text.encode(), file, asked).commands
    return commands[0] if commands else None
