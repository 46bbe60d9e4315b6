"""`serveright measure BASE_URL`: step 6 on a running server."""

import signal
import sys
import threading
from types import FrameType

import click

from serveright.cli.options import Output, output, say
from serveright.types.text import Msg, msg


@click.command("measure", help=say(msg("Ramp a few known requests against a running server and compare its cache with the derivation.")))
@click.argument("base_url", metavar="BASE_URL")
@click.option("--config", "model", metavar="MODEL", help=say(msg("What the derivation reads; default: the name the server serves.")))
@click.option("--kv-dtype", default="auto", metavar="DTYPE", help=say(msg("KV cache precision the server runs with; auto is the model's own.")))
@click.option("--max-requests", type=click.IntRange(1, 64), default=8, help=say(msg("Most requests at once.")))
@click.option("--input-tokens", type=click.IntRange(8), help=say(msg("Longest prompt; default: most of the window, at most 32,768.")))
@click.option("--seconds", type=click.FloatRange(1, 3600), default=300, help=say(msg("Stop climbing after that time.")))
@output()
def command(base_url: str, model: str | None, kv_dtype: str, max_requests: int, input_tokens: int | None, seconds: float, out: Output) -> None:
    """Show what was measured; exit 1 when it differs from the derivation, 130 when interrupted (with what there is)."""
    from serveright.api.measuring import measure
    from serveright.outputs.views.measure import document

    stop = threading.Event()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        _tell(msg("stopping after the requests under way"))

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        report = measure(base_url, model=model, kv_dtype=kv_dtype, requests=max_requests, input_tokens=input_tokens, seconds=seconds, tell=_tell, stop=stop)
    finally:
        signal.signal(signal.SIGINT, before)
    out.show(report, document, quiet=report.agreement)
    if report.interrupted:
        sys.stdout.flush()
        raise SystemExit(130)
    out.finish(failed=report.agreement == "differs")


def _tell(text: Msg) -> None:
    from serveright.outputs.text import safe

    sys.stderr.write(safe(say(text)) + "\n")
