"""`serveright facts gpu|model|engine|origins [NAME]`: the facts and their origins."""

import datetime

import click

from serveright.cli.options import Output, output, say
from serveright.errors import UnknownName, UsageError
from serveright.types.text import msg

KINDS = ("gpu", "model", "engine", "origins")


@click.command("facts", help=say(msg("Look up GPUs, catalogue models and engine versions, with where every figure comes from.")))
@click.argument("kind", metavar="gpu|model|engine|origins")
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--diff", nargs=2, metavar="OLD NEW", help=say(msg("What changed between two versions of an engine.")))
@click.option("--older-than", type=click.IntRange(0), default=180, metavar="DAYS", help=say(msg("With origins: facts last seen longer ago than this.")))
@output()
def command(kind: str, name: str | None, diff: tuple[str, str] | None, older_than: int, out: Output) -> None:
    """Show one kind of facts."""
    from serveright.api import facts
    from serveright.outputs.views import facts as views

    if kind not in KINDS:
        raise UnknownName(msg("kind of facts"), kind, KINDS)
    if diff and kind != "engine":
        raise UsageError(msg("--diff compares versions of an engine, not a {kind}", kind=kind), msg("Write: serveright facts engine vllm --diff 0.19 0.33"))
    if kind == "gpu":
        gpus = facts.gpu_facts(name)
        out.show(gpus, views.gpus, quiet="\n".join(g.key for g in gpus.gpus))
    elif kind == "model":
        models = facts.model_facts(name)
        out.show(models, views.models, quiet="\n".join(m.id for m in models.models))
    elif kind == "origins":
        weak = facts.origin_facts(older_than, datetime.datetime.now(tz=datetime.UTC).date())
        out.show(weak, views.origins, quiet="\n".join(o.fact for o in weak.origins))
    else:
        engine, _, version = (name or "").partition("@")
        if engine not in ("vllm", "sglang"):
            raise UnknownName(msg("engine"), engine or "-", ("vllm", "sglang"))
        table = facts.engine_facts(engine, version or None, diff or None)
        out.show(table, views.engines, quiet="\n".join(table.versions))
