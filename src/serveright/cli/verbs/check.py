"""`serveright check MODEL --gpu …`: steps 3 and 4. `--all` instead of MODEL asks for every model of the catalogue."""

from functools import partial

import click

from serveright.cli.options import Output, gpu_options, model_argument, output, say
from serveright.cli.traffic_options import engine_option
from serveright.errors import UsageError
from serveright.types.text import msg


@click.command("check", help=say(msg("Say whether a model runs on a GPU, and on the best path, with which version and parsers.")))
@partial(model_argument, required=False)
@click.option("--all", "everything", is_flag=True, help=say(msg("Every model of the catalogue, one line each.")))
@gpu_options
@engine_option
@output()
def command(model: str | None, revision: str | None, everything: bool, gpu: str, gpus: int | None, nodes: int | None, engine: str, out: Output) -> None:
    """Show the verdicts; exit 1 when every engine asked for is blocked (with `--all`: for every model)."""
    from serveright import api
    from serveright.outputs.views import check as views

    if everything == (model is not None):
        raise UsageError(msg("check needs a MODEL or --all, one of them"), msg("Write for example: serveright check Qwen/Qwen3.6-27B --gpu h200"))
    if model is None:
        table = api.check_all(gpu, gpus=gpus, nodes=nodes, engine=engine)
        out.show(table, views.catalogue, quiet="\n".join(f"{m.id} {c.engine} {c.verdict}" for m in table.models for c in m.engines))
        out.finish(failed=all(c.verdict == "blocked" for m in table.models for c in m.engines))
        return
    report = api.check(model, gpu, gpus=gpus, nodes=nodes, engine=engine, revision=revision)
    out.show(report, views.document, quiet="\n".join(f"{c.engine} {c.verdict}" for c in report.engines))
    out.finish(failed=all(c.verdict == "blocked" for c in report.engines))
