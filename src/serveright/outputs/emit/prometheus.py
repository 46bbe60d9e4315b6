"""Alerts on the plan's own limits: cache in use, waiting, preemption, and the latencies it promised."""

from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import objects, watch, words
from serveright.outputs.emit.parts.yaml_text import dump
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import msg

TITLE = msg("Prometheus alerts (PrometheusRule)")
RELEASE = msg("Prometheus Operator monitoring.coreos.com/v1; the `groups` below `spec` are also a plain rule file")
NAMES = {
    "kv_usage": "CacheNearlyFull",
    "waiting": "RequestsWaiting",
    "running_per_copy": "MoreRequestsThanPlanned",
    "preemptions_per_s": "Preempting",
    "ttft_s": "FirstTokenLate",
    "tpot_s": "TokensSlow",
}


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One PrometheusRule."""
    rules = [_alert(deployment, item, say) for item in watch.watched(deployment) if item.bound is not None]
    rule = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": objects.metadata(deployment),
        "spec": {"groups": [{"name": deployment.name, "interval": "30s", "rules": [*rules, _silent(deployment, say)]}]},
    }
    above = [f"# {say(text)}" for text in (*words.title(deployment), RELEASE)]
    yield Emitted(name=f"{deployment.name}-alerts.yaml", text=dump(rule, above=above))


def _alert(deployment: Deployment, item: watch.Watched, say: words.Say) -> dict[str, Any]:
    bound = item.bound
    value = bound.value if bound else 0.0
    return {
        "alert": NAMES[item.key],
        "expr": f"{item.query} > {value:g}",
        "for": f"{bound.for_s if bound else 300}s",
        "labels": {"severity": "warning", "app": deployment.name},
        "annotations": {"summary": say(item.title), "description": say(bound.why) if bound else ""},
    }


def _silent(deployment: Deployment, say: words.Say) -> dict[str, Any]:
    """A server that reports nothing is the loudest fault."""
    return {
        "alert": "NotReporting",
        "expr": f"absent({deployment.metrics['running']}{watch.label(deployment)})",
        "for": f"{deployment.startup_s}s",
        "labels": {"severity": "critical", "app": deployment.name},
        "annotations": {"summary": say(msg("no server reports")), "description": say(msg("longer than a start may take"))},
    }
