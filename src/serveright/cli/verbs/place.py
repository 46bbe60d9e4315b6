"""`serveright place FILE`: models with traffic onto a stock of GPUs at least cost."""

from pathlib import Path

import click

from serveright.cli.options import Output, output, say
from serveright.cli.traffic_options import engine_option
from serveright.types.text import msg


@click.command("place", help=say(msg("Place models with traffic on a stock of GPUs at least cost under latency targets; say what is short.")))
@click.argument("question", metavar="FILE", type=click.Path(path_type=Path))
@engine_option
@click.option("--headroom", type=click.FloatRange(0.1, 1.0), default=0.8, help=say(msg("Share of a copy's rate that is planned.")))
@output()
def command(question: Path, engine: str, headroom: float, out: Output) -> None:
    """Show the placement; exit 1 when something is short."""
    from serveright.api import placing
    from serveright.outputs.views.place import document

    wishes, shelves = placing.read_question(question)
    report = placing.place(wishes, shelves, engine=engine, headroom=headroom)
    out.show(report, document, quiet="\n".join(f"{item.offer.model} {item.copies}x{item.offer.gpus} {item.offer.gpu}" for item in report.placed))
    out.finish(failed=bool(report.short))
