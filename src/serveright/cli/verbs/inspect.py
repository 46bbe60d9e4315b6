"""`serveright inspect MODEL`: step 1."""

import click

from serveright.cli.options import Output, model_argument, output, say
from serveright.types.text import msg


@click.command("inspect", help=say(msg("Tell what a model is from its config: attention family with evidence, layers, parameters, checkpoint.")))
@model_argument
@output()
def command(model: str, revision: str | None, out: Output) -> None:
    """Show the report of step 1."""
    from serveright import api
    from serveright.outputs.views.inspect import document

    report = api.inspect(model, revision, curves=out.draws)
    out.show(report, document, quiet=report.family)
