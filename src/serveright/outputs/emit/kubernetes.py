"""Deployment and Service: probes that allow long starts, shared memory, GPUs, node selector, scrape annotations; the router where copies are several."""

from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import objects, pod, words
from serveright.outputs.emit.parts.yaml_text import dump
from serveright.types.deployment import Deployment, Emitted, Role
from serveright.types.text import msg

TITLE = msg("Kubernetes Deployment and Service")
CHECKED = "kubernetes core v1.37"


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One file with all objects."""
    words.one_node(deployment, "kubernetes")
    yield Emitted(name=f"{deployment.name}.yaml", text=text(deployment, say), checked_by=CHECKED)


def text(deployment: Deployment, say: words.Say, *, routed: bool | None = None) -> str:
    """The objects with the comments above."""
    above = words.comments(deployment, say, [msg("checked against the Kubernetes 1.37 schemas")])
    several = sum(role.copies for role in deployment.roles) > 1
    workloads = [workload(deployment, role) for role in deployment.roles]
    around = [objects.claim(deployment, several), *objects.tier_config(deployment)]
    return dump(*around, *workloads, *objects.front(deployment, routed=deployment.routed if routed is None else routed), above=above)


def workload(deployment: Deployment, role: Role) -> dict[str, Any]:
    """One role's Deployment. GPUs are rarely free for a second copy, so an update takes a pod away before it adds one."""
    command, args = words.container_argv(deployment, words.serving(deployment, role))
    suffix = f"-{role.name}" if deployment.disaggregated else ""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": objects.metadata(deployment, suffix),
        "spec": {
            "replicas": role.copies,
            "progressDeadlineSeconds": deployment.startup_s + 600,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "selector": {"matchLabels": pod.labels(deployment, role)},
            "template": pod.template(deployment, role, pod.container(deployment, role, command, args)),
        },
    }
