"""`serveright audit PATH…|-`: read a command against the model, the GPU and the engine's version."""

from pathlib import Path

import click

from serveright.cli.options import FORMATS, Output, output, say
from serveright.errors import InputError, UsageError, os_reason
from serveright.types.audit_reports import AuditReport
from serveright.types.text import msg

MACHINE = ("sarif", "github", "junit")


@click.command("audit", help=say(msg("Check launch commands, scripts and manifests. PATH may be a folder, or - for stdin.")))
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--engine", metavar="ENGINE[@VERSION]", help=say(msg("Read every command as this engine and version.")))
@click.option("--gpu", metavar="GPU", help=say(msg("GPUs the command runs on, where the file does not say.")))
@click.option("--model", metavar="MODEL", help=say(msg("Model the command serves, where the file's name is of no use.")))
@click.option("--fetch", is_flag=True, help=say(msg("Ask the Hub for models that are neither local nor in the catalogue.")))
@click.option("--select", multiple=True, metavar="CODE", help=say(msg("Only rules whose code begins so.")))
@click.option("--ignore", multiple=True, metavar="CODE", help=say(msg("Not the rules whose code begins so.")))
@click.option("--explain-all", is_flag=True, help=say(msg("Say why every flag stands there, and why others are absent.")))
@click.option("--fix", is_flag=True, help=say(msg("Write the corrected file (safe edits only).")))
@click.option("--unsafe-fixes", is_flag=True, help=say(msg("Make edits that change behaviour, too.")))
@click.option("--diff", is_flag=True, help=say(msg("Show the edits instead of writing them.")))
@click.option("--allow-none", is_flag=True, help=say(msg("Finding nothing to audit is no mistake: exit with 0. For hooks, which pass any file.")))
@click.option("--fail-on", type=click.Choice(("error", "warning", "note", "never")), default="error", help=say(msg("Exit with 1 at findings this grave.")))
@output((*FORMATS, *MACHINE))
def command(
    paths: tuple[str, ...], engine: str | None, gpu: str | None, model: str | None, fetch: bool, select: tuple[str, ...], ignore: tuple[str, ...],
    explain_all: bool, fix: bool, unsafe_fixes: bool, diff: bool, allow_none: bool, fail_on: str, out: Output,
) -> None:  # fmt: skip
    """Show findings; with --fix write the files."""
    from serveright.api import auditing, commands
    from serveright.outputs.views.audit import document

    asked = commands.ask(engine, gpu, model, fetch=fetch, select=select, ignore=ignore, explain_all=explain_all)
    if fix and "-" in paths and not diff:
        raise UsageError(msg("--fix cannot write to stdin"), msg("Use --diff, or give the file."))
    report = auditing.audit(paths, asked, fix=fix or diff or unsafe_fixes, unsafe_fixes=unsafe_fixes, allow_none=allow_none)
    if not report.deployments:
        click.echo(say(msg("no vLLM or SGLang start was found")), err=True)
    if fix and not diff:
        _write(report)
    if out.format in MACHINE:
        _machine(report, out)
    else:
        out.show(report, document, quiet="\n".join(f.code for f in report.findings))
    out.finish(failed=auditing.worst_at_least(report.findings, fail_on))


def _write(report: AuditReport) -> None:
    for fixed in report.fixed:
        if fixed.applied:
            try:
                # as bytes: line ends stay as the file has them
                Path(fixed.file).write_bytes(fixed.text.encode("utf-8"))
            except OSError as error:
                raise InputError(msg("{file}: cannot be written ({why})", file=fixed.file, why=os_reason(error))) from error


def _machine(report: AuditReport, out: Output) -> None:
    from serveright import __version__
    from serveright.api import rulebook
    from serveright.outputs import github, junit, sarif

    if out.format == "github":
        text = github.annotations(report.findings, out.lang)
    elif out.format == "junit":
        text = junit.junit(report.findings, sorted({d.location.file for d in report.deployments}), out.lang)
    else:
        pages = {page.code: page for page in rulebook.rules().rules}
        text = sarif.sarif(report.findings, pages, __version__, out.lang)
    out.write(text)
