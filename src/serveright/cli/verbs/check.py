"""`serveright check MODEL --gpu …`: steps 3 and 4."""

import click

from serveright.cli.options import Output, gpu_options, model_argument, output, say
from serveright.cli.traffic_options import engine_option
from serveright.types.text import msg


@click.command("check", help=say(msg("Say whether a model runs on a GPU, and on the best path, with which version and parsers.")))
@model_argument
@gpu_options
@engine_option
@output()
def command(model: str, revision: str | None, gpu: str, gpus: int | None, nodes: int | None, engine: str, out: Output) -> None:
    """Show the verdicts; exit 1 when every engine asked for is blocked."""
    from serveright import api
    from serveright.outputs.views.check import document

    report = api.check(model, gpu, gpus=gpus, nodes=nodes, engine=engine, revision=revision)
    out.show(report, document, quiet="\n".join(f"{c.engine} {c.verdict}" for c in report.engines))
    out.finish(failed=all(c.verdict == "blocked" for c in report.engines))
