"""`serveright scale MODEL --gpu … --curve …`: copies over time."""

import click

from serveright.cli.options import Output, gpu_options, model_argument, output, say, tell
from serveright.cli.traffic_options import engine_option, traffic_options
from serveright.errors import Infeasible, UsageError
from serveright.types.text import msg
from serveright.types.traffic import Traffic

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@click.command("scale", help=say(msg("How many copies run when, for a curve of requests a second; --gpu names the GPUs of one copy.")))
@model_argument
@gpu_options
@engine_option
@traffic_options
@click.option("--curve", required=True, metavar="T:RATE,…", help=say(msg("Moments and rates, for instance 0h:2,8h:20,20h:5.")))
@click.option("--length", default="24h", metavar="T", help=say(msg("How long the curve lasts.")))
@click.option("--headroom", type=click.FloatRange(0.1, 1.0), default=0.8, help=say(msg("Share of a copy's rate that is planned.")))
@click.option("--least", type=click.IntRange(0), default=1, help=say(msg("Copies that always run.")))
@output()
def command(
    model: str, revision: str | None, gpu: str, gpus: int | None, nodes: int | None, engine: str, traffic: Traffic, curve: str, length: str,
    headroom: float, least: int, out: Output,
) -> None:  # fmt: skip
    """Show the schedule; exit 1 when one copy cannot keep the targets."""
    from serveright.api import scaling
    from serveright.outputs.views.scale import document

    if nodes is not None and nodes > 1:
        raise UsageError(msg("--nodes {n}: a copy that spans nodes cannot be scaled here", n=nodes), msg("Name the GPUs of one copy on one node."))
    try:
        report = scaling.scale(
            model, gpu, traffic, _curve(curve), gpus=gpus, engine=engine, revision=revision, length_s=_seconds(length), headroom=headroom, least=least
        )
    except Infeasible as no:
        tell(no)
        out.finish(failed=True)
        return
    out.show(report, document, quiet=str(report.peak_copies))


def _curve(text: str) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for part in text.split(","):
        moment, colon, rate = part.partition(":")
        try:
            points.append((_seconds(moment), float(rate)))
        except ValueError as error:
            raise UsageError(
                msg("--curve {text}: {part} is no moment with a rate", text=text, part=part), msg("Write for instance 0h:2,8h:20,20h:5.")
            ) from error
        if not colon:
            raise UsageError(msg("--curve {text}: {part} is no moment with a rate", text=text, part=part), msg("Write for instance 0h:2,8h:20,20h:5."))
    return points


def _seconds(text: str) -> float:
    unit = text.strip()[-1:]
    try:
        return float(text.strip().removesuffix(unit) if unit in UNITS else text) * UNITS.get(unit, 1.0)
    except ValueError as error:
        raise UsageError(msg("{text} is no time", text=text), msg("Write 90s, 15m or 8h.")) from error
