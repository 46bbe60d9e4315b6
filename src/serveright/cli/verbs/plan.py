"""`serveright plan MODEL --gpu … TRAFFIC`: all six steps."""

import click

from serveright.analysis.search import Objective
from serveright.cli.options import Output, gpu_options, model_argument, output, say
from serveright.cli.traffic_options import engine_option, traffic_options
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
@output()
def command(
    model: str, revision: str | None, gpu: str, gpus: int | None, nodes: int | None, engine: str, traffic: Traffic, objective: Objective, out: Output
) -> None:
    """Show the design; exit 1 when no layout is feasible."""
    from serveright import api
    from serveright.outputs.views.plan import document

    report = api.plan(model, gpu, traffic, gpus=gpus, nodes=nodes, engine=engine, objective=objective, revision=revision, curves=out.draws)
    out.show(report, document, quiet=report.chosen.command if report.chosen else "")
    out.finish(failed=report.chosen is None)
