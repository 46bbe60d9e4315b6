"""Read somebody else's command against the model, the GPU and the engine's version. Nothing in an audited file is run, nothing is fetched unless asked."""

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.given import Given
from serveright.analysis.parsers import choose_parsers
from serveright.api.checking import template
from serveright.api.engines import Engine, load_engines, parse_engines
from serveright.api.loading import Model, load_model
from serveright.api.online import as_loaded
from serveright.api.sized import size_on
from serveright.catalog import models
from serveright.catalog.engines import load_table, table_index
from serveright.catalog.gpus import parse_gpu_spec
from serveright.catalog.own import existing, is_plain_file, refuse_utf16
from serveright.errors import InputError, UsageError, UserError
from serveright.outputs import shell
from serveright.outputs.language import rule_page
from serveright.readers.launch import MAX_BYTES, Override, Reader, Reading
from serveright.readers.lore import load_lore, load_parser_facts
from serveright.readers.suppressions import Suppression, read_suppressions
from serveright.rules import explain as explaining
from serveright.rules import migrate as migrating
from serveright.rules import repair as repairing
from serveright.rules.context import Context, Facts
from serveright.rules.registry import Rule, all_rules, find_rule
from serveright.rules.run import audit_command, unused
from serveright.types.audit_reports import AuditReport, Deployed, FixedFile, LostFlag, Migrated, MigrateReport, RulePage, RuleReport
from serveright.types.command import LaunchCommand
from serveright.types.engine import Settings, Sized
from serveright.types.engine_table import EngineName, EngineTable
from serveright.types.hardware import Fleet
from serveright.types.report import Finding
from serveright.types.text import Msg, msg

READ_ENDINGS = frozenset(
    {
        ".sh",
        ".bash",
        ".yaml",
        ".yml",
        ".json",
        ".service",
        ".sbatch",
        ".slurm",
        ".py",
        ".toml",
        ".env",
        ".txt",
        ".md",
        ".ps1",
        ".bat",
        ".cmd",
        ".conf",
        ".ini",
        "",
    }
)
MANY, CHUNK, KEPT = 256, 32, 4096
"""Files from which processes are worth their start, files a process takes at once, and sizings it remembers."""
MOST_REREAD = 16 << 20
"""Characters of one file that its correction may read again, once for each command."""
SKIPPED_FOLDERS = frozenset({".git", ".venv", "node_modules", "__pycache__", ".tox"})


class Ask(Struct, frozen=True, kw_only=True):
    """What the user said about all commands; each wins over the file."""

    engine: EngineName | None = None
    version: str | None = None
    gpu: str | None = None
    model: str | None = None
    fetch: bool = False
    """Models that are neither local nor in the catalogue may be read from the Hub."""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    explain_all: bool = False
    local: bool = True
    """False for texts of strangers: no path they name is looked at."""


def ask(engine: str | None = None, gpu: str | None = None, model: str | None = None, **rest: object) -> Ask:
    """`Ask` from a command line: `--engine vllm@0.33.0` names both engine and version. Raises UsageError."""
    name, version = parse_engines(engine)[0] if engine else (None, None)
    if engine and "," in engine:
        raise UsageError(msg("--engine {text}: an audit reads a command as one engine", text=engine), msg("Name one, for instance vllm@0.33.0."))
    return Ask(engine=name, version=version, gpu=gpu, model=model, **rest)  # pyright: ignore[reportArgumentType]


def audit(paths: Iterable[str], asked: Ask | None = None, *, fix: bool = False, unsafe_fixes: bool = False, allow_none: bool = False) -> AuditReport:
    """Findings over every engine start in files, folders or stdin (`-`).

    Raises UserError for a path that cannot be read, and where nothing was found to audit unless `allow_none` makes that an empty report.
    """
    work = partial(_audit_file, asked=asked or Ask(), fix=fix, unsafe_fixes=unsafe_fixes)
    parts = list(_spread(work, list(_files(paths))))
    unread = tuple(u for part in parts for u in part.unread)
    if not allow_none and not any(part.deployments for part in parts):
        if unread:
            raise InputError(unread[0], msg("Nothing was audited: no command could be read."))
        raise InputError(
            msg("no vLLM or SGLang start was found"),
            msg("Give a file with a launch command, a manifest, or - for stdin; --engine vllm also reads the engine's own YAML configuration."),
        )
    return AuditReport(
        deployments=tuple(d for part in parts for d in part.deployments),
        findings=tuple(f for part in parts for f in part.findings),
        unread=unread,
        fixed=tuple(f for part in parts for f in part.fixed),
    )


class _File(Struct, frozen=True):
    """A path to read; one found in a folder may turn out unreadable, one the user named may not."""

    name: str
    inside: bool = False


def _files(paths: Iterable[str]) -> Iterator[_File]:
    """Every path given, folders walked in order, without version control and environments."""
    for name in paths:
        path = existing(name)
        if name != "-" and path is not None and path.is_dir():
            yield from (_File(str(file), inside=True) for file in sorted(_walk(path)))
        else:
            yield _File(name)


def _spread(work: Callable[[_File], AuditReport], files: list[_File]) -> Iterator[AuditReport]:
    """The reports in order; many files share all cores."""
    cores = os.cpu_count() or 1
    if len(files) < MANY or cores == 1 or any(file.name == "-" for file in files):
        yield from map(work, files)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(cores) as pool:
        yield from pool.map(work, files, chunksize=CHUNK)


def _audit_file(file: _File, asked: Ask, *, fix: bool, unsafe_fixes: bool) -> AuditReport:
    try:
        raw = _content(file.name)
    except InputError as error:
        if not file.inside:
            raise
        return AuditReport(deployments=(), findings=(), unread=(error.message,), fixed=())
    return audit_text(raw, file.name, asked, fix=fix, unsafe_fixes=unsafe_fixes)


def _content(name: str) -> bytes:
    """A file's bytes, or stdin's. Raises InputError."""
    return _limited(sys.stdin.buffer, "-") if name == "-" else _bytes(Path(name))


def _bytes(file: Path) -> bytes:
    try:
        mode = file.stat().st_mode
        # a pipe of the shell (`<(...)`) has its writer; a named one may wait for ever
        if (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and not str(file).startswith(("/dev/", "/proc/")):
            raise InputError(msg("{path} is no file but a pipe or socket", path=str(file)), msg("Give a file, a folder, or - for stdin."))
        with file.open("rb") as stream:
            return _limited(stream, str(file))
    except OSError as error:
        raise InputError(msg("{path} cannot be read: {why}", path=str(file), why=error.strerror or "")) from error


def _limited(stream: BinaryIO, name: str) -> bytes:
    # a device has no end, and its size says 0
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InputError(msg("{path} is too long: files up to {limit:gib} are read", path=name, limit=MAX_BYTES))
    refuse_utf16(raw, name)
    return raw


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix.lower() in READ_ENDINGS and not SKIPPED_FOLDERS.intersection(path.relative_to(folder).parts) and is_plain_file(path):
            yield path


def audit_text(raw: bytes, file: str, asked: Ask, *, fix: bool = False, unsafe_fixes: bool = False) -> AuditReport:
    """The audit of one file's content. A real file's `--config` beside it is read too."""
    path = existing(file) if asked.local and file != "-" else None
    reading = Reader(table_of, _override(asked)).file(path) if path is not None and path.is_file() else read(raw, file, asked)
    text = raw.decode("utf-8-sig", errors="replace")
    suppressions = read_suppressions(text, file)
    contexts = [Context.of(command, facts_of(command, asked)) for command in reading.commands]
    everything = [finding for context in contexts for finding in audit_command(context, asked.select, asked.ignore)]
    # only where every rule could be asked is a suppression that meets nothing an idle one
    told = not asked.select and not asked.ignore and all(one.facts.gpu is not None and one.shape is not None for one in contexts)
    idle = unused([one for one in suppressions if told or not one.reason], everything)
    kept = [f for f in everything if not any(one.covers(f) for one in suppressions)] + idle
    return AuditReport(
        deployments=tuple(deployed(context, asked) for context in contexts),
        findings=tuple(kept),
        unread=tuple(msg("{file}: {why}", file=file, why=why) for why in reading.unread),
        fixed=(_fix(text, file, asked, suppressions, unsafe=unsafe_fixes),) if fix and contexts else (),
    )


def read(raw: bytes, file: str, asked: Ask) -> Reading:
    """Commands of one file under what the user said."""
    return Reader(table_of, _override(asked)).bytes(raw, file)


def _override(asked: Ask) -> Override:
    return Override(engine=asked.engine, version=asked.version)


@cache
def table_of(engine: EngineName, version: str | None) -> EngineTable:
    """The nearest table at or before a version, the oldest known for still older ones."""
    try:
        return load_table(engine, version)[0]
    except UserError:
        return load_table(engine, table_index(engine).versions[0])[0]


@cache
def _engine_of(name: EngineName, version: str | None) -> Engine | None:
    try:
        return load_engines(name if version is None else f"{name}@{version}")[0]
    except UserError:
        return None


@cache
def _model_of(name: str, fetch: bool, local: bool) -> Model | None:
    """The model of a command where its config is at hand: a local path, the catalogue, and only if asked the Hub."""
    known = models.find(name)
    if known is None and not fetch and not (local and existing(name)):
        return None
    try:
        return load_model(known if known is not None and not local else name)
    except UserError:
        return None


def facts_of(command: LaunchCommand, asked: Ask) -> Facts:
    """Everything the rules may look at beside the command."""
    table = table_of(command.engine, command.engine_version)
    other: EngineName = "sglang" if command.engine == "vllm" else "vllm"
    given = Given(command, table)
    fleet = _fleet(given, asked)
    facts = Facts(
        table=table,
        lore=load_lore(),
        indexes={"vllm": table_index("vllm"), "sglang": table_index("sglang")},
        other_table=table_of(other, None),
        gpu=fleet.gpu if fleet else None,
        gpu_count=fleet.count if fleet else _given_count(command),
        parsers=choose_parsers(None, None, {}, table, load_parser_facts()),
        read_from=table_index(command.engine).versions[-1],
    )
    name = asked.model or command.model
    model = _model_of(name, asked.fetch, asked.local) if name else None
    base = models.base_of(name) if name else None
    if model is None:
        return facts if base is None else _from_base(facts, load_model(base), table)
    stored, model = model, as_loaded(model, given.settings)
    known = model.files.facts
    if base is not None and "parsers" not in known:
        known = {**models.load(base).facts, **known}
    parsers = choose_parsers(model.shape, template(model.files), known, table, load_parser_facts())
    facts = replace(
        facts, files=model.files, shape=model.shape, checkpoint=model.checkpoint, need=model.need, family=model.family, parsers=parsers,
        online=model is not stored,
    )  # fmt: skip
    engine = _engine_of(command.engine, command.engine_version)
    if fleet is None or engine is None or not given.layout_known:
        return facts
    return _sized(facts, given, engine, model, fleet)


def _from_base(facts: Facts, base: Model, table: EngineTable) -> Facts:
    """A checkpoint known by name only: layers and parsers are its base model's, number formats and bytes stay unknown."""
    parsers = choose_parsers(base.shape, template(base.files), base.files.facts, table, load_parser_facts())
    return replace(facts, shape=base.shape, family=base.family, parsers=parsers)


def _fleet(given: Given, asked: Ask) -> Fleet | None:
    """The GPUs of a command: as asked, else as the file says, as many as the layout takes where it names only the kind; None where neither names a known one."""
    command = given.command
    name = asked.gpu or command.gpu
    if name is None:
        return None
    try:
        if asked.gpu:
            return parse_gpu_spec(name, None, None)
        layout = given.parallel
        return parse_gpu_spec(name, _given_count(command) or layout.gpus * layout.replicas, None if command.nodes == 1 else command.nodes)
    except UserError:
        if asked.gpu:
            raise
        return None


def _given_count(command: LaunchCommand) -> int | None:
    """GPUs of one copy as the file asks for them: of every node of a group."""
    return None if command.gpu_count is None else command.gpu_count * command.nodes


_SIZES: dict[tuple[int, int, bytes], tuple[Engine, Model, Sized]] = {}


def _size(engine: Engine, model: Model, fleet: Fleet, settings: Settings) -> Sized:
    """One engine's answer, kept by what was asked: the commands of a fleet repeat themselves."""
    key = (id(engine), id(model), msgspec.json.encode((fleet, settings)))
    kept = _SIZES.get(key)
    if kept is None:
        if len(_SIZES) >= KEPT:
            _SIZES.clear()
        # engine and model are held, so that no later one can take their id
        kept = _SIZES[key] = (engine, model, size_on(engine, model, fleet, settings, settings.context_tokens or model.shape.max_context_tokens or 4096))
    return kept[2]


def _sized(facts: Facts, given: Given, engine: Engine, model: Model, fleet: Fleet) -> Facts:

    def resize(changed: Settings) -> Sized:
        return _size(engine, model, fleet, changed)

    return replace(facts, sized=resize(given.settings), resize=resize)


def deployed(context: Context, asked: Ask) -> Deployed:
    """One start as the report names it."""
    command = context.command
    explained = explaining.explain(context) if asked.explain_all else explaining.Explained((), ())
    return Deployed(
        engine=command.engine,
        version=context.version,
        version_known=command.engine_version is not None,
        model=asked.model or command.model,
        model_known=context.facts.shape is not None,
        checkpoint_known=context.facts.shape is None or context.facts.checkpoint is not None,
        gpu=context.facts.gpu.key if context.facts.gpu else command.gpu,
        gpu_count=context.facts.gpu_count,
        location=command.location,
        unread=command.unread,
        present=explained.present,
        absent=explained.absent,
    )


def _fix(text: str, file: str, asked: Ask, suppressions: list[Suppression], *, unsafe: bool) -> FixedFile:
    """The file with every command's edits made, one command after the other, each read again after the one before."""
    before, applied = text, 0
    left: list[Msg] = []
    count = len(read(text.encode(), file, asked).commands)
    if count * len(text) > MOST_REREAD:
        left.append(msg("{count:n} commands in one file of this size are too many to correct: split it", count=count))
        count = 0
    for place in range(count):
        command = read(text.encode(), file, asked).commands[place]
        findings = audit_command(Context.of(command, facts_of(command, asked)), asked.select, asked.ignore, suppressions)
        done = repairing.repair(text, repairing.edits_of(findings, unsafe=unsafe), _rereader(file, asked, place))
        text, applied = done.text, applied + len(done.applied)
        left += [why for _, why in done.left]
    return FixedFile(file=file, text=text, diff=repairing.diff(before, text, file), applied=applied, left=tuple(left))


def _rereader(file: str, asked: Ask, place: int) -> Callable[[str], LaunchCommand | None]:
    def again(changed: str) -> LaunchCommand | None:
        commands = read(changed.encode(), file, asked).commands
        return commands[place] if place < len(commands) else None

    return again


def worst_at_least(findings: Iterable[Finding], fail_on: str) -> bool:
    """A finding at or above `fail_on` (error, warning, note; `never` is never reached)."""
    order = ("error", "warning", "note")
    return fail_on in order and any(order.index(f.severity) <= order.index(fail_on) for f in findings)


def migrate(path: str, to: str, asked: Ask | None = None) -> MigrateReport:
    """Every command of a file in the words of `ENGINE@VERSION`, with what has no equivalent. Raises UserError."""
    targets = parse_engines(to)
    if len(targets) != 1:
        raise UsageError(msg("--to {text}: name one engine", text=to), msg("For instance --to vllm@0.33.0 or --to sglang."))
    target = load_table(*targets[0])[0]
    reading = read(_content(path), path, asked or Ask())
    if not reading.commands:
        raise InputError(msg("{file}: no vLLM or SGLang start was found", file=path), msg("--engine vllm also reads the engine's own YAML configuration."))
    return MigrateReport(migrations=tuple(_migrated(command, target, asked or Ask()) for command in reading.commands))


def _migrated(command: LaunchCommand, target: EngineTable, asked: Ask) -> Migrated:
    source = table_of(command.engine, command.engine_version)
    name = asked.model or command.model
    model = _model_of(name, asked.fetch, asked.local) if name else None
    moved = migrating.migrate(command, source, target, load_lore(), model.checkpoint.method if model else None)
    return Migrated(
        location=command.location,
        origin=f"{source.engine} {source.version}",
        target=f"{target.engine} {target.version}",
        command=shell.command(target.engine, moved.launch.model, moved.launch.flags, moved.launch.env),
        lost=tuple(LostFlag(flag=lost.name, value=lost.value, why=lost.why) for lost in moved.lost),
        notes=moved.notes,
    )


def rules(code: str | None = None, lang: str = "en") -> RuleReport:
    """One rule by code or name, or all, with its page in `lang`. Raises UnknownName."""
    found = (find_rule(code),) if code else all_rules()
    return RuleReport(rules=tuple(_page(rule, lang) for rule in found))


def _page(rule: Rule, lang: str) -> RulePage:
    title, page = rule_page(rule.code, lang) or (rule.title, rule.page)
    return RulePage(
        code=rule.code, name=rule.name, severity=rule.severity, effect=rule.effect, confidence=rule.confidence, since=rule.since, title=title, page=page
    )
