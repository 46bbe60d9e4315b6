"""`serveright rule [CODE|--all]`: what a rule catches, why it matters, how to mend it."""

import click

from serveright.cli.options import Output, output, say
from serveright.types.text import msg


@click.command("rule", help=say(msg("Show the page of a rule, or the list of all.")))
@click.argument("code", required=False, metavar="[CODE]")
@click.option("--all", "every", is_flag=True, help=say(msg("All rules.")))
@output()
def command(code: str | None, every: bool, out: Output) -> None:
    """Show rules."""
    from serveright.api import rulebook
    from serveright.outputs.views.audit import rule

    report = rulebook.rules(None if every else code, out.lang)
    out.show(report, rule, quiet="\n".join(r.code for r in report.rules))
