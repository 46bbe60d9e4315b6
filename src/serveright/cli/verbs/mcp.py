"""`serveright mcp`: the tools for agents, over stdio or streamable HTTP."""

import click

from serveright.cli.options import lang_option, say
from serveright.errors import UsageError
from serveright.types.text import msg


@click.command("mcp", help=say(msg("Serve agents over the Model Context Protocol: stdio by default, streamable HTTP with --http.")))
@click.option("--http", is_flag=True, help=say(msg("Listen on http://127.0.0.1:PORT/mcp instead of standard input.")))
@click.option("--port", type=click.IntRange(1, 65535), default=8211, show_default=True, help=say(msg("Port for --http.")))
@lang_option
def command(http: bool, port: int) -> None:
    """Run until the client leaves or the user interrupts."""
    try:
        from serveright.mcp.server import create
    except ModuleNotFoundError as error:
        raise UsageError(
            msg("Agents need a package that is not installed ({name})", name=error.name or "?"), msg('Install it with: pip install "serveright[mcp]"')
        ) from error
    if http:
        create().run("streamable-http", host="127.0.0.1", port=port)
    else:
        create().run("stdio")
