"""`serveright compare MODEL… --gpu … TRAFFIC`: models, GPUs, engines or versions side by side."""

import click

from serveright.cli.options import Output, output, say
from serveright.cli.traffic_options import traffic_options
from serveright.types.text import msg
from serveright.types.traffic import Traffic


@click.command("compare", help=say(msg("Compare models, or one model on several GPUs, engines or versions, under the same traffic.")))
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--gpu", "gpus", multiple=True, required=True, metavar="GPU", help=say(msg("GPUs at hand, such as 8xh200; several times for a column each.")))
@click.option(
    "--engine", "engines", multiple=True, default=("both",), metavar="ENGINE[@VERSION]", help=say(msg("Engine or version; several times for a column each."))
)
@traffic_options
@output()
def command(models: tuple[str, ...], gpus: tuple[str, ...], engines: tuple[str, ...], traffic: Traffic, out: Output) -> None:
    """Show the table; exit 1 when no column fits."""
    from serveright import api
    from serveright.outputs.views.compare import document

    report = api.compare(models, gpus, traffic, engines=engines, curves=out.draws)
    users = next(row for row in report.rows if row.item == "users")
    out.show(report, document, quiet="\n".join(f"{name} {users.figures[name] or 0:.1f}" for name in report.columns))
    out.finish(failed=not any(n is not None for n in users.figures.values()))
