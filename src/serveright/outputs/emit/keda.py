"""KEDA: scale on requests in flight against what one copy was planned for, read from Prometheus. GPU utilisation would say 100 % at any load."""

from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import objects, watch, words
from serveright.outputs.emit.parts.yaml_text import dump
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import msg

TITLE = msg("KEDA ScaledObject")
RELEASE = msg("KEDA keda.sh/v1alpha1 (schema of 2026-08-20)")
SHARE = 0.8
"""A new copy is asked for before the running ones are full."""
QUIET_S = 300
PROMETHEUS = "http://prometheus-server.monitoring.svc:80"


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One ScaledObject."""
    words.scalable(deployment, "keda")
    why = msg(
        "a copy was planned for {n:n} requests at once; one more is started at {share:pct} of that, and takes up to {s} s to answer",
        n=round(watch.per_copy(deployment), 1),
        share=SHARE,
        s=deployment.startup_s,
    )
    above = [f"# {say(text)}" for text in (*words.title(deployment), RELEASE, why)]
    yield Emitted(name=f"{deployment.name}-keda.yaml", text=dump(_object(deployment), above=above), checked_by="keda.sh_v1alpha1_ScaledObject")


def _object(deployment: Deployment) -> dict[str, Any]:
    threshold = max(1, round(watch.per_copy(deployment) * SHARE))
    trigger = {
        "type": "prometheus",
        "metricType": "AverageValue",
        "metadata": {"serverAddress": PROMETHEUS, "query": watch.in_flight(deployment), "threshold": str(threshold), "ignoreNullValues": "false"},
    }
    down = {"stabilizationWindowSeconds": QUIET_S, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}]}
    up = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}]}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": objects.metadata(deployment),
        "spec": {
            "scaleTargetRef": watch.target(deployment),
            "minReplicaCount": deployment.lowest_copies,
            "maxReplicaCount": deployment.highest_copies,
            "pollingInterval": 15,
            "cooldownPeriod": QUIET_S,
            "fallback": {"failureThreshold": 5, "replicas": deployment.highest_copies},
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": down, "scaleUp": up}}},
            "triggers": [trigger],
        },
    }
