"""`serveright size MODEL --gpu …`: step 2."""

import click

from serveright.cli.options import Output, gpu_options, model_argument, output, say
from serveright.cli.traffic_options import Count, engine_option, settings_options
from serveright.types.engine import Settings
from serveright.types.text import msg


@click.command("size", help=say(msg("Size the KV cache and turn it into a number of users, on both engines as they allocate it.")))
@model_argument
@gpu_options
@engine_option
@settings_options
@click.option("--context", "context_tokens", type=Count(), help=say(msg("Longest request, prompt and answer together; default: the model's own limit.")))
@output()
def command(
    model: str, revision: str | None, gpu: str, gpus: int | None, nodes: int | None, engine: str, settings: Settings, context_tokens: int | None, out: Output
) -> None:
    """Show the report of step 2; exit 1 when on no engine asked for one request fits."""
    from serveright import api
    from serveright.outputs.views.size import document

    report = api.size(model, gpu, gpus=gpus, nodes=nodes, engine=engine, settings=settings, context_tokens=context_tokens, revision=revision, curves=out.draws)
    out.show(
        report,
        document,
        quiet="\n".join(f"{r.engine.name} {r.capacity.max_concurrency if all(no.starts for no in r.refusals) else 0:.2f}" for r in report.results),
    )
    out.finish(failed=not any(r.fits for r in report.results))
