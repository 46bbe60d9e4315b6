"""A launch command as it was read, joined with what is known of its engine, model and GPUs: `Facts` for rules, causes and rows."""

from functools import cache

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.given import Given
from serveright.analysis.parsers import choose_parsers
from serveright.api.checking import template
from serveright.api.engines import Engine, load_engines, parse_engines
from serveright.api.loading import Model, load_model, model_at_hand
from serveright.api.online import as_loaded
from serveright.api.sized import size_on
from serveright.catalog import models
from serveright.catalog.engines import load_table, table_index
from serveright.catalog.gpus import parse_gpu_spec
from serveright.errors import UsageError, UserError
from serveright.readers.launch import Override, Reader, Reading
from serveright.readers.lore import load_lore, load_parser_facts
from serveright.rules.context import Facts
from serveright.types.command import LaunchCommand
from serveright.types.engine import Settings, Sized
from serveright.types.engine_table import EngineName, EngineTable
from serveright.types.hardware import Fleet
from serveright.types.text import msg

KEPT = 4096
"""Sizings a process remembers."""


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


def read(raw: bytes, file: str, asked: Ask) -> Reading:
    """Commands of one file under what the user said."""
    return reader(asked).bytes(raw, file)


def reader(asked: Ask) -> Reader:
    """The reader of files under what the user said."""
    return Reader(table_of, Override(engine=asked.engine, version=asked.version))


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
    model = model_at_hand(name, local=asked.local, fetch=asked.fetch) if name else None
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
    return _sized(facts, given, engine, model, fleet, asked)


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


def _size(engine: Engine, model: Model, fleet: Fleet, settings: Settings, asked: Ask) -> Sized:
    """One engine's answer, kept by what was asked: the commands of a fleet repeat themselves."""
    key = (id(engine), id(model), msgspec.json.encode((fleet, settings, asked.local, asked.fetch)))
    kept = _SIZES.get(key)
    if kept is None:
        if len(_SIZES) >= KEPT:
            _SIZES.clear()
        # engine and model are held, so that no later one can take their id
        context = settings.context_tokens or model.shape.max_context_tokens or 4096
        kept = _SIZES[key] = (engine, model, size_on(engine, model, fleet, settings, context, local=asked.local, fetch=asked.fetch))
    return kept[2]


def _sized(facts: Facts, given: Given, engine: Engine, model: Model, fleet: Fleet, asked: Ask) -> Facts:

    def resize(changed: Settings) -> Sized:
        return _size(engine, model, fleet, changed, asked)

    return replace(facts, sized=resize(given.settings), resize=resize)
