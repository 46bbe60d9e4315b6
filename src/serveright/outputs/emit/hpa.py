"""HorizontalPodAutoscaler on requests in flight per pod, with the rule that makes prometheus-adapter offer that metric."""

from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.keda import QUIET_S, SHARE
from serveright.outputs.emit.parts import objects, watch, words
from serveright.outputs.emit.parts.yaml_text import dump
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import msg

TITLE = msg("HorizontalPodAutoscaler and its metric")
METRIC = "requests_in_flight"


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """The autoscaler, and values for the prometheus-adapter chart."""
    words.scalable(deployment, "hpa")
    above = [f"# {say(text)}" for text in (*words.title(deployment), msg("autoscaling/v2; the metric comes from prometheus-adapter, see the other file"))]
    yield Emitted(name=f"{deployment.name}-hpa.yaml", text=dump(_object(deployment), above=above), checked_by="kubernetes core v1.37")
    note = f"# {say(msg('values for the prometheus-adapter chart (rules.custom), v0.12 of the adapter'))}"
    yield Emitted(name="prometheus-adapter.values.yaml", text=dump({"rules": {"custom": [_rule(deployment)]}}, above=[note]))


def _object(deployment: Deployment) -> dict[str, Any]:
    threshold = max(1, round(watch.per_copy(deployment) * SHARE))
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": objects.metadata(deployment),
        "spec": {
            "scaleTargetRef": watch.target(deployment),
            "minReplicas": max(1, deployment.lowest_copies),
            "maxReplicas": deployment.highest_copies,
            "metrics": [{"type": "Pods", "pods": {"metric": {"name": METRIC}, "target": {"type": "AverageValue", "averageValue": str(threshold)}}}],
            "behavior": {
                "scaleDown": {"stabilizationWindowSeconds": QUIET_S, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}]},
                "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}]},
            },
        },
    }


def _rule(deployment: Deployment) -> dict[str, Any]:
    running, waiting = deployment.metrics["running"], deployment.metrics["waiting"]
    matchers, by = "<<.LabelMatchers>>", "<<.GroupBy>>"
    return {
        "seriesQuery": f'{running}{{namespace!="",pod!=""}}',
        "resources": {"overrides": {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}},
        "name": {"matches": f"^{running}$", "as": METRIC},
        "metricsQuery": f"sum({running}{{{matchers}}}) by ({by}) + sum({waiting}{{{matchers}}}) by ({by})",
    }
