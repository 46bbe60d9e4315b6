"""Does a prompt near the context limit get through?"""

from serveright.probes.client import Server
from serveright.types.diagnosis import ProbeResult
from serveright.types.text import msg

SENDS = msg("one prompt as long as the window less 32 tokens, at most 32,768")
LONGEST = 32_768


def run(server: Server) -> ProbeResult:
    """Bad: refused or no answer."""
    if server.max_tokens is None:
        return ProbeResult(name="near_limit", sent=SENDS, verdict="unknown", text=msg("the server does not say its limit"))
    length = min(server.max_tokens - 32, LONGEST)
    answer = server.complete([3 + (11 * i) % 400 for i in range(max(1, length))], 8)
    if answer.status == 200:
        return ProbeResult(
            name="near_limit", sent=SENDS, verdict="good", text=msg("{length:n} tokens answered after {first:s}", length=length, first=answer.first_s)
        )
    return ProbeResult(name="near_limit", sent=SENDS, verdict="bad", text=msg("refused: {words}", words=answer.error[:200]), sign="probe:near_limit_refused")
