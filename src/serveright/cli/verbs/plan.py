"""`serveright plan MODEL --gpu … TRAFFIC`: all six steps."""

import click

from serveright.analysis.search import Objective
from serveright.cli.options import Output, gpu_options, model_argument, output, say
from serveright.cli.traffic_options import engine_option, traffic_options
from serveright.errors import UnknownName
from serveright.types.text import msg
from serveright.types.traffic import Traffic

OBJECTIVES = ("cost", "latency", "context", "users")


@click.command("plan", help=say(msg("Design the deployment: layout, flags with reasons, what is left to the engine, and the command.")))
@model_argument
@gpu_options
@engine_option
@traffic_options
@click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    default="cost",
    help=say(msg("What to rank by: tokens per GPU, speed of one answer, longest context, most users.")),
)
@click.option("--simulate", is_flag=True, help=say(msg("Percentiles too: simulate the chosen design request by request.")))
@click.option(
    "--calibrate", metavar="FILE", help=say(msg("Correct the estimates by your own measurements: a benchmark's result, or a TOML with [[point]] tables."))
)
@click.option("--measured-with", metavar="LAYOUT", help=say(msg("Layout those measurements were made on, such as TP8+EP8.")))
@click.option("--expert-load", metavar="FILE", help=say(msg("Measured expert loads: imbalance, redundant experts, and what uneven experts cost.")))
@click.option(
    "--checkpoints", type=click.Choice(("this", "any")), default="this", help=say(msg("Price also the same model in other number formats the GPU has."))
)
@click.option(
    "--emit", metavar="FORMAT", help=say(msg("Print the deployment's files instead: shell, docker, compose, kubernetes, leaderworkerset, ... (`--emit list`)."))
)
@click.option("--cross-check", is_flag=True, help=say(msg("Show what aiconfigurator says of the chosen layout (needs the extra silicon).")))
@output()
def command(
    model: str, revision: str | None, gpu: str, gpus: int | None, nodes: int | None, engine: str, traffic: Traffic, objective: Objective, simulate: bool,
    calibrate: str | None, measured_with: str | None, expert_load: str | None, checkpoints: str, emit: str | None, cross_check: bool, out: Output,
) -> None:  # fmt: skip
    """Show the design; exit 1 when no layout is feasible."""
    from serveright import api
    from serveright.api import deploying
    from serveright.api.planning import Wishes
    from serveright.outputs.emit import text as texts
    from serveright.outputs.views.plan import document, why_not
    from serveright.readers.expert_load import read_expert_load
    from serveright.readers.local_memory import is_local_memory, read_local_memory
    from serveright.readers.measured import read_measured
    from serveright.readers.model import read_model_files

    wishes = Wishes(
        objective=objective,
        curves=out.draws,
        simulate=simulate,
        calibrate=read_measured(calibrate) if calibrate and not is_local_memory(calibrate) else (),
        memory=read_local_memory(calibrate) if calibrate and is_local_memory(calibrate) else None,
        measured_with=measured_with,
        expert_load=read_expert_load(expert_load) if expert_load else None,
        other_checkpoints=checkpoints == "any",
        cross_check=cross_check,
    )
    if emit is not None:
        _known(emit)
    files = read_model_files(model, revision=revision)
    report = api.plan(files, gpu, traffic, gpus=gpus, nodes=nodes, engine=engine, wishes=wishes)
    if report.chosen is None and (out.quiet or emit is not None):
        out.explain_no(why_not(report))
    elif emit is None or report.chosen is None:
        out.show(report, document, quiet=report.chosen.command if report.chosen else "")
    else:
        out.write(texts(deploying.emit(report, files, emit, out.lang)))
    out.finish(failed=report.chosen is None)


def _known(emit: str) -> None:
    """Raises UnknownName, or lists the formats and stops for `--emit list`."""
    from serveright.api import emitting

    if emit == "list":
        click.echo("\n".join(emitting.formats()))
        raise click.exceptions.Exit(0)
    if emit not in emitting.formats():
        raise UnknownName(msg("format"), emit, emitting.formats())
