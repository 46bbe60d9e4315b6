"""LeaderWorkerSet: vLLM's workers as Ray actors."""

from collections.abc import Iterator

from serveright.outputs.emit.leaderworkerset import files
from serveright.outputs.emit.parts import words
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import msg

TITLE = msg("LeaderWorkerSet with vLLM on Ray")


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One file with all objects."""
    words.only(deployment, "leaderworkerset-ray", "vllm")
    yield files(deployment, say, "leaderworkerset-ray", ("ray",))
