"""All probes in turn, each announced before it sends."""

from collections.abc import Callable, Iterator

from serveright.probes import image, near_limit, prefix, schema, stream_gaps, thinking, tool_call
from serveright.probes.client import Server
from serveright.types.diagnosis import ProbeResult, Sign
from serveright.types.text import Msg, msg

Tell = Callable[[Msg], None]


def run_probes(url: str, tell: Tell | None = None, block_tokens: float = 16) -> Iterator[ProbeResult]:
    """Every probe's result. Raises NetworkError when nothing answers."""
    server = Server(url)
    say = tell or _silent
    for probe in (tool_call, thinking, schema, image, near_limit, stream_gaps):
        say(msg("sending {what}", what=probe.SENDS))
        yield probe.run(server)
    say(msg("sending {what}", what=prefix.SENDS))
    yield from prefix.run(server, block_tokens)


def probe_signs(url: str, tell: Tell | None = None, block_tokens: float = 16) -> Iterator[Sign]:
    """Signs of the probes that went wrong."""
    for result in run_probes(url, tell, block_tokens):
        if tell is not None:
            tell(msg("{name}: {text}", name=result.name, text=result.text))
        if result.sign is not None:
            yield Sign(key=result.sign, source=url, text=result.text)


def _silent(_text: Msg) -> None:
    """Nobody listens."""
