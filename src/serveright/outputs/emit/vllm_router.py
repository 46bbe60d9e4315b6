"""vLLM: copies as Deployments behind the engine's own router, even for a single copy, so that more can join without a change for clients."""

from collections.abc import Iterator

from serveright.outputs.emit.kubernetes import CHECKED, text
from serveright.outputs.emit.parts import words
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import msg

TITLE = msg("vllm's own router in front of replicas (Kubernetes)")


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One file with all objects."""
    words.only(deployment, "vllm-router", "vllm")
    words.one_node(deployment, "vllm-router")
    yield Emitted(name=f"{deployment.name}-router.yaml", text=text(deployment, say, routed=True), checked_by=CHECKED)
