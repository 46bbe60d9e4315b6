"""Whatever is emitted reads back as the design: engine, model, flags. And our own audit has nothing to say against it."""

import pytest

from serveright.catalog.engines import load_table
from serveright.errors import UsageError
from serveright.outputs import emit
from serveright.outputs.emit import dynamo
from serveright.readers.launch import Override, Reader, Reading
from serveright.rules.context import Context
from serveright.rules.run import audit_command
from serveright.types.command import GivenFlag, LaunchCommand
from serveright.types.deployment import Deployment, Emitted, Role
from tests.emit.designs import CASES, design
from tests.rules.bench import READER, facts_of, table_of

OBJECTS_ONLY = {"keda", "hpa", "prometheus", "grafana"}
"""Formats without a server in them."""
FORMATS = [name for name in emit.formats() if name not in OBJECTS_ONLY]
VERSIONLESS = {"shell", "slurm", "dynamo", "rayserve"}
JOINING = {
    "--nnodes",
    "--node-rank",
    "--master-addr",
    "--headless",
    "--distributed-executor-backend",
    "--dist-init-addr",
    "--data-parallel-size-local",
    "--data-parallel-address",
    "--data-parallel-rpc-port",
    "--data-parallel-start-rank",
    "--data-parallel-hybrid-lb",
    "--data-parallel-rank",
    "--data-parallel-external-lb",
}
ADDED = JOINING | {"--host", "--port", "--served-model-name", "--model", "--model-path", "--is-prefill-worker"}
PAIRS = [(format, name) for format in FORMATS for name in CASES]


def emitted(format: str, name: str) -> tuple[Emitted, ...]:
    try:
        return emit.emit(format, design(name))
    except UsageError:
        return ()


def read(files: tuple[Emitted, ...], version: str | None = None) -> list[LaunchCommand]:
    """`version` for formats that name none: a bare script runs whatever is installed."""
    reader = READER if version is None else Reader(table_of, Override(version=version))
    readings: list[Reading] = [reader.text(file.text, file.name) for file in files]
    return [command for reading in readings for command in reading.commands]


def normal(value: str | None) -> str | None:
    """JSON values compare by content, whatever their spaces."""
    return None if value is None else value.replace(" ", "").replace("true", "True")


def given(flags: tuple[GivenFlag, ...]) -> dict[str, str | None]:
    return {flag.name or flag.written: normal(flag.value) for flag in flags}


def expected(format: str, deployment: Deployment, role: Role) -> dict[str, str | None]:
    flags = {flag.flag: normal(flag.value) for flag in role.launch.flags}
    if format == "dynamo":
        flags = {flag.flag: normal(flag.value) for flag in dynamo.flags(deployment, role)}
    table = load_table(deployment.engine, deployment.version)[0]
    canonical = {spelling: flag.name for flag in table.flags for spelling in (flag.name, *flag.aliases)}
    return {canonical.get(name, name): value for name, value in flags.items() if name not in ADDED}


def role_of(deployment: Deployment, command: LaunchCommand) -> Role:
    wanted = command.role if command.role != "aggregated" else "serve"
    return next((role for role in deployment.roles if role.name == wanted), deployment.role)


@pytest.mark.parametrize(("format", "name"), PAIRS)
def test_reads_back_as_the_design(format: str, name: str) -> None:
    files, deployment = emitted(format, name), design(name)
    if not files:
        return
    commands = read(files)
    assert commands, "nothing was found in what was emitted"
    assert {role_of(deployment, command).name for command in commands} == {role.name for role in deployment.roles}
    for command in commands:
        assert command.engine == deployment.engine
        assert command.model == deployment.model
        if format not in VERSIONLESS:
            assert command.engine_version == deployment.version
        found = given(command.flags)
        kept = {flag: value for flag, value in found.items() if flag not in ADDED}
        assert kept == expected(format, deployment, role_of(deployment, command))
        for flag, value in deployment.role.launch.env.items():
            assert command.env[flag].text == value


@pytest.mark.parametrize(("format", "name"), PAIRS)
def test_own_audit_is_silent(format: str, name: str) -> None:
    files = emitted(format, name)
    for command in read(files, design(name).version if format in VERSIONLESS else None):
        facts = facts_of(command, CASES[name].gpu) if len(design(name).roles) == 1 and design(name).role.copies == 1 else facts_of(command)
        found = [finding for finding in audit_command(Context.of(command, facts)) if finding.severity != "note"]
        assert not found, [(finding.code, finding.message) for finding in found]


def test_every_case_has_formats_and_every_format_a_case() -> None:
    carried = {name: [format for format in FORMATS if emitted(format, name)] for name in CASES}
    assert all(len(formats) >= 2 for formats in carried.values()), carried
    assert {format for formats in carried.values() for format in formats} == set(FORMATS)
