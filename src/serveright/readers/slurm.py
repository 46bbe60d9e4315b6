"""`#SBATCH` lines of a batch script: GPUs per node, their name, and nodes. The commands themselves are shell."""

import re

from msgspec import Struct

_DIRECTIVE = re.compile(r"^#SBATCH\s+(.*)$", re.MULTILINE)
_GRES = re.compile(r"(?:--gres|--gpus|--gpus-per-node|--gpus-per-task|-G)[=\s]+(?:gpu:)?(?:([A-Za-z][\w.-]*):)?(\d+)")
_NODES = re.compile(r"(?:--nodes|-N)[=\s]+(\d+)")


class Batch(Struct, frozen=True):
    """What the job asks for; None and 1 where it is silent."""

    gpu: str | None = None
    gpu_count: int | None = None
    nodes: int = 1


def read_batch(text: str) -> Batch:
    """GPUs of one node, their name and the number of nodes."""
    gpu: str | None = None
    count: int | None = None
    nodes = 1
    for directive in _DIRECTIVE.findall(text):
        asked = _GRES.search(directive)
        if asked:
            gpu = asked[1] or gpu
            count = int(asked[2])
        many = _NODES.search(directive)
        if many:
            nodes = int(many[1])
    return Batch(gpu, count, nodes)
