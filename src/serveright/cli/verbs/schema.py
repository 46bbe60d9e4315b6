"""`serveright schema [VERB]`: the JSON Schema that a verb's --json output satisfies."""

import click

from serveright.cli.options import lang_option, say
from serveright.errors import UnknownName
from serveright.types.text import msg


@click.command("schema", help=say(msg("Print the JSON Schema of a verb's --json output; without VERB, the verbs that have one.")))
@click.argument("verb", required=False, metavar="[VERB]")
@lang_option
def command(verb: str | None) -> None:
    """Print one schema, or the names."""
    from serveright.outputs import json

    known = json.reports()
    if verb is None:
        click.echo("\n".join(known))
        return
    if verb not in known:
        raise UnknownName(msg("verb with a schema"), verb, known)
    click.echo(json.encode(json.schema(*known[verb]), "en"))
