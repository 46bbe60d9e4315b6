"""Does a stream stall while a long prompt arrives?"""

import threading

from serveright.probes.client import Answer, Server
from serveright.types.diagnosis import ProbeResult
from serveright.types.text import msg

SENDS = msg("one stream of 96 tokens, and one cold long prompt beside it")
STALL = 8.0
"""Longest gap over the median from which on the stream stalls."""


def run(server: Server) -> ProbeResult:
    """Bad: the longest gap is many times the median."""
    limit = server.max_tokens or 4096
    length = max(64, min(8192, int(limit * 0.7)))
    answers: list[Answer] = []
    user = threading.Thread(
        target=lambda: answers.append(server.complete([3 + i % 300 for i in range(32)], min(96, limit // 4), extra_body={"ignore_eos": True})), daemon=True
    )
    user.start()
    user.join(0.5)
    server.complete([5 + (13 * i) % 390 for i in range(length)], 1)
    user.join()
    gaps = sorted(answers[0].gaps_s) if answers else []
    if len(gaps) < 8:
        return ProbeResult(name="stream_gaps", sent=SENDS, verdict="unknown", text=msg("too few tokens came back"))
    median, longest = gaps[len(gaps) // 2], gaps[-1]
    text = msg("gap between tokens {median:s}, at most {longest:s}", median=median, longest=longest)
    stalls = longest > STALL * median and longest > 0.25
    return ProbeResult(name="stream_gaps", sent=SENDS, verdict="bad" if stalls else "good", text=text, sign="probe:stream_gaps" if stalls else None)
