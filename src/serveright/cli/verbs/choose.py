"""`serveright choose --gpu … TRAFFIC`: which model, on hardware and traffic that are given."""

from typing import get_args

import click

from serveright.cli.options import Output, gpu_options, output, say
from serveright.cli.traffic_options import engine_option, traffic_options
from serveright.types.choosing import Because
from serveright.types.text import msg
from serveright.types.traffic import Traffic


@click.command(
    "choose",
    help=say(msg("Choose a model for given GPUs and traffic: hardware, then workload, then needs, then rank; every model that falls keeps its reason.")),
)
@gpu_options
@engine_option
@traffic_options
@click.option(
    "--need",
    "needs",
    multiple=True,
    help=say(msg("tools, reasoning, vision, video, audio, mtp, licence:NAME, language:ko, context:256k; several joined by commas.")),
)
@click.option(
    "--scores", "scores_file", metavar="FILE", help=say(msg("Your own quality scores: CSV of model,score or TOML; without them quality is left open."))
)
@click.option("--because", type=click.Choice(get_args(Because)), help=say(msg("Why you change: what to do with the model at hand comes first.")))
@click.option("--from", "origin", metavar="MODEL", help=say(msg("The model you have now.")))
@click.option("--with", "extra", multiple=True, metavar="MODEL", help=say(msg("A model that is not in the catalogue: a folder, a config.json or a Hub id.")))
@click.option("--among", multiple=True, metavar="MODEL", help=say(msg("Look only at these models of the catalogue.")))
@output()
def command(
    gpu: str,
    gpus: int | None,
    nodes: int | None,
    engine: str,
    traffic: Traffic,
    needs: tuple[str, ...],
    scores_file: str | None,
    because: Because | None,
    origin: str | None,
    extra: tuple[str, ...],
    among: tuple[str, ...],
    out: Output,
) -> None:
    """Show the models; exit 1 when none comes through."""
    from serveright import api
    from serveright.outputs.views.choose import document

    report = api.choose(
        gpu,
        traffic,
        gpus=gpus,
        nodes=nodes,
        engine=engine,
        needs=needs,
        scores=scores_file,
        because=because,
        origin=origin,
        extra_models=extra,
        among=among or None,
    )
    fits = [c for c in report.candidates if c.verdict == "fits"]
    out.show(report, document, quiet="\n".join(c.checkpoint for c in fits))
    out.finish(failed=not fits)
