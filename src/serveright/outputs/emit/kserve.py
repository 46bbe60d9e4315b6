"""KServe InferenceService: the engine as a custom predictor container; KServe brings the route and scales by the metric named."""

from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import objects, pod, words
from serveright.outputs.emit.parts.yaml_text import clean, dump
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import msg

TITLE = msg("KServe InferenceService")
RELEASE = msg("KServe serving.kserve.io/v1beta1 (schema of 2026-08-21), standard deployment mode")


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One InferenceService with its cache claim."""
    words.aggregated(deployment, "kserve")
    words.one_node(deployment, "kserve")
    text = dump(objects.claim(deployment, True), *objects.tier_config(deployment), _service(deployment), above=words.comments(deployment, say, [RELEASE]))
    yield Emitted(name=f"{deployment.name}-inferenceservice.yaml", text=text, checked_by="serving.kserve.io_v1beta1_InferenceService")


def _service(deployment: Deployment) -> dict[str, Any]:
    role = deployment.role
    command, args = words.container_argv(deployment, words.serving(deployment, role))
    engine = pod.container(deployment, role, command, args)
    engine["name"] = "kserve-container"
    engine["ports"] = [{"containerPort": deployment.port, "protocol": "TCP"}]
    spec = pod.spec(deployment, engine)
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": objects.metadata(deployment, annotations={"serving.kserve.io/deploymentMode": "Standard", "serving.kserve.io/autoscalerClass": "none"}),
        "spec": {
            "predictor": clean(
                {
                    "minReplicas": deployment.lowest_copies,
                    "maxReplicas": deployment.highest_copies,
                    "timeout": 3600,
                    "labels": pod.labels(deployment, role),
                    "annotations": pod.scrape(deployment),
                    "deploymentStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
                    **spec,
                }
            )
        },
    }
