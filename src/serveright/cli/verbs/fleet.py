"""`serveright fleet PATH…`: audit thousands of deployments, one row each; `--compare OLD NEW`: what changed."""

from functools import partial
from pathlib import Path

import click

from serveright.cli.options import Output, output, say
from serveright.errors import UsageError
from serveright.types.text import msg


@click.command("fleet", help=say(msg("Audit a repository or a dump of `kubectl get -A -o yaml`: one row a deployment, worst first.")))
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--rows", type=click.Path(path_type=Path), default=Path("fleet.jsonl"), help=say(msg("Where the rows go (JSON lines); an interrupted run goes on there."))
)
@click.option("--previous", type=click.Path(path_type=Path, exists=True), help=say(msg("Rows of an earlier run: what did not change is taken from there.")))
@click.option("--fresh", is_flag=True, help=say(msg("Forget what the row file holds.")))
@click.option("--parquet", type=click.Path(path_type=Path), help=say(msg("Write the rows as Parquet, too.")))
@click.option("--compare", nargs=2, type=click.Path(path_type=Path, exists=True), metavar="OLD NEW", help=say(msg("Two row files: what changed between them.")))
@click.option("--jobs", type=click.IntRange(1), help=say(msg("Processes; default: one a core.")))
@click.option("--top", type=click.IntRange(0), default=20, help=say(msg("How many of the worst rows to show.")))
@click.option("--engine", metavar="ENGINE[@VERSION]", help=say(msg("Read every command as this engine and version.")))
@click.option("--gpu", metavar="GPU", help=say(msg("GPUs the command runs on, where the file does not say.")))
@click.option("--fail-on", type=click.Choice(("error", "warning", "note", "never")), default="error", help=say(msg("Exit with 1 at findings this grave.")))
@output()
def command(
    paths: tuple[str, ...], rows: Path, previous: Path | None, fresh: bool, parquet: Path | None, compare: tuple[Path, Path] | None,
    jobs: int | None, top: int, engine: str | None, gpu: str | None, fail_on: str, out: Output,
) -> None:  # fmt: skip
    """Show the summary; the rows lie in a file."""
    from serveright.api import commands, fleet_summary, fleets
    from serveright.outputs.views import fleet as view

    if compare:
        diff = fleet_summary.difference(*compare)
        out.show(diff, view.difference, quiet=f"+{len(diff.added)} -{len(diff.removed)} ~{len(diff.changed)}")
        return
    if not paths:
        raise UsageError(msg("fleet needs files or folders"), msg("For instance: kubectl get deploy,lws -A -o yaml > dump.yaml; serveright fleet dump.yaml"))
    run = fleets.run(paths, rows, commands.ask(engine, gpu), jobs=jobs, previous=previous, fresh=fresh)
    if parquet:
        fleet_summary.to_parquet(rows, parquet)
    report = fleet_summary.summary(run, top)
    out.show(report, partial(view.document, lang=out.lang), quiet=f"{report.deployments} {report.lost_gpus:.0f}")
    order = ("error", "warning", "note")
    out.finish(failed=fail_on in order and any(report.by_severity.get(name) for name in order[: order.index(fail_on) + 1]))
