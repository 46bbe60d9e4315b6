"""`serveright serve`: the page, on this machine only."""

import sys
import threading

import click

from serveright.cli.options import LANG, lang_option, say
from serveright.errors import UsageError, os_reason
from serveright.types.text import msg


@click.command("serve", help=say(msg("Open the page: design, compare, choose, audit, diagnose, learn, look facts up. Answers on 127.0.0.1 only.")))
@click.option("--port", type=click.IntRange(0, 65535), default=8210, show_default=True, help=say(msg("Port to listen on; 0 takes a free one.")))
@click.option("--allow-hub", is_flag=True, help=say(msg("Fetch the config of a Hub id that is typed in; without it the page never uses the network.")))
@lang_option
def command(port: int, allow_hub: bool) -> None:
    """Run until interrupted."""
    try:
        import uvicorn

        from serveright.web.app import Options, create, vega
    except ImportError as error:
        raise UsageError(
            msg("The page needs packages that are not installed ({name})", name=error.name or "?"), msg('Install them with: pip install "serveright[web]"')
        ) from error
    sock = _listen(port)
    threading.Thread(target=vega, daemon=True).start()  # the pictures' script takes seconds to bundle: ready before the first page asks
    sys.stderr.write(say(msg("The page: http://127.0.0.1:{port}/ (stop with Ctrl-C)", port=str(sock.getsockname()[1]))) + "\n")
    server = uvicorn.Server(uvicorn.Config(create(Options(allow_hub=allow_hub, lang=LANG)), log_level="warning", access_log=False, server_header=False))
    server.run(sockets=[sock])


def _listen(port: int):
    """A socket on the loopback address. Raises UsageError where the port is taken."""
    import socket

    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
        sock.listen(512)
    except OSError as error:
        raise UsageError(
            msg("--port {port}: cannot listen there ({why})", port=str(port), why=os_reason(error)), msg("Give another one, or 0 for any free port.")
        ) from error
    return sock
