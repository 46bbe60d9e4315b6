"""A command in the words of another engine or version."""

from serveright.api.auditing import content
from serveright.api.commands import Ask, read, table_of
from serveright.api.engines import parse_engines
from serveright.api.loading import model_at_hand
from serveright.catalog.engines import load_table
from serveright.errors import InputError, UsageError
from serveright.outputs import shell
from serveright.readers.lore import load_lore
from serveright.rules import migrate as migrating
from serveright.types.audit_reports import LostFlag, Migrated, MigrateReport
from serveright.types.command import LaunchCommand
from serveright.types.engine_table import EngineTable
from serveright.types.text import msg


def migrate(path: str, to: str, asked: Ask | None = None) -> MigrateReport:
    """Every command of a file in the words of `ENGINE@VERSION`, with what has no equivalent. Raises UserError."""
    targets = parse_engines(to)
    if len(targets) != 1:
        raise UsageError(msg("--to {text}: name one engine", text=to), msg("For instance --to vllm@0.33.0 or --to sglang."))
    target = load_table(*targets[0])[0]
    reading = read(content(path), path, asked or Ask())
    if not reading.commands:
        raise InputError(msg("{file}: no vLLM or SGLang start was found", file=path), msg("--engine vllm also reads the engine's own YAML configuration."))
    return MigrateReport(migrations=tuple(_migrated(command, target, asked or Ask()) for command in reading.commands))


def _migrated(command: LaunchCommand, target: EngineTable, asked: Ask) -> Migrated:
    source = table_of(command.engine, command.engine_version)
    name = asked.model or command.model
    model = model_at_hand(name, local=asked.local, fetch=asked.fetch) if name else None
    moved = migrating.migrate(command, source, target, load_lore(), model.checkpoint.method if model else None)
    return Migrated(
        location=command.location,
        origin=f"{source.engine} {source.version}",
        target=f"{target.engine} {target.version}",
        command=shell.command(target.engine, moved.launch.model, moved.launch.flags, moved.launch.env),
        lost=tuple(LostFlag(flag=lost.name, value=lost.value, why=lost.why) for lost in moved.lost),
        notes=moved.notes,
    )
