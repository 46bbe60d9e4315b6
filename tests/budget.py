"""How many examples a test tries: what it says, times SERVERIGHT_FUZZ (`make fuzz`)."""

import os

FUZZ = int(os.environ.get("SERVERIGHT_FUZZ", "1"))


def examples(usual: int) -> int:
    """`usual` in the suite, FUZZ times as many in a long run."""
    return usual * FUZZ
