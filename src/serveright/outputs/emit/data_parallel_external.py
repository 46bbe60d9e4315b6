"""LeaderWorkerSet: one pod a rank, chosen by the router."""

from collections.abc import Iterator

from serveright.outputs.emit.leaderworkerset import files
from serveright.outputs.emit.parts import words
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import msg

TITLE = msg("vLLM data-parallel ranks, external load balancing")


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One file with all objects."""
    words.only(deployment, "data-parallel-external", "vllm")
    yield files(deployment, say, "data-parallel-external", ("external_lb",))
