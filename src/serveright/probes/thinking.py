"""Does thinking leak into the content?"""

import re

from serveright.probes.client import Server
from serveright.types.diagnosis import ProbeResult
from serveright.types.text import msg

SENDS = msg("one short question")
TAGS = re.compile(r"</?(think|thinking|reasoning)>|<\|channel\|?>|\[/?THINK\]|◁/?think▷")


def run(server: Server) -> ProbeResult:
    """Bad: a tag of thinking stands in the content."""
    answer = server.chat([{"role": "user", "content": "What is 17 + 25? Think briefly."}], max_tokens=512)
    if answer.status != 200:
        sign = "log:no_template" if "template" in answer.error.lower() else None
        return ProbeResult(name="thinking", sent=SENDS, verdict="bad", text=msg("refused: {words}", words=answer.error[:200]), sign=sign)
    found = TAGS.search(answer.text)
    if found:
        return ProbeResult(name="thinking", sent=SENDS, verdict="bad", text=msg("{tag} stands in the content", tag=found[0]), sign="probe:thinking_leaks")
    return ProbeResult(name="thinking", sent=SENDS, verdict="good", text=msg("no thinking in the content"))
