"""`serveright migrate PATH|- --to ENGINE@VERSION`: the same wishes in another engine's or version's words."""

import click

from serveright.cli.options import Output, output, say
from serveright.types.text import msg


@click.command("migrate", help=say(msg("Translate a command to another engine or version, and list what has no equivalent.")))
@click.argument("path", metavar="PATH|-")
@click.option("--to", required=True, metavar="ENGINE[@VERSION]", help=say(msg("Where to.")))
@click.option("--engine", metavar="ENGINE[@VERSION]", help=say(msg("Read the command as this engine and version.")))
@output()
def command(path: str, to: str, engine: str | None, out: Output) -> None:
    """Show the translated commands."""
    from serveright.api import commands, migrating
    from serveright.outputs.views.audit import migration

    report = migrating.migrate(path, to, commands.ask(engine))
    out.show(report, migration, quiet="\n".join(m.command for m in report.migrations))
