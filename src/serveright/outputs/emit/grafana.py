"""A Grafana dashboard of the plan's quantities, its own limits drawn as thresholds."""

import json
from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import watch, words
from serveright.types.deployment import Deployment, Emitted
from serveright.types.text import msg

TITLE = msg("Grafana dashboard")
SCHEMA = 39
"""Grafana 10.4 and newer read it; newer ones migrate it on import."""
WIDE, HIGH = 12, 8


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One dashboard to import."""
    panels = [_panel(deployment, number, item, say) for number, item in enumerate(watch.watched(deployment))]
    board = {
        "uid": deployment.name[:40],
        "title": f"{deployment.served_name} ({deployment.engine} {deployment.version})",
        "tags": ["serveright", deployment.engine],
        "schemaVersion": SCHEMA,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}]},
        "panels": panels,
    }
    yield Emitted(name=f"{deployment.name}-dashboard.json", text=json.dumps(board, indent=2, ensure_ascii=False) + "\n")


def _panel(deployment: Deployment, number: int, item: watch.Watched, say: words.Say) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if item.bound is not None:
        steps.append({"color": "red", "value": item.bound.value})
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": say(item.title),
        "description": say(item.bound.why) if item.bound else "",
        "datasource": {"type": "prometheus", "uid": "${datasource}"},
        "gridPos": {"x": WIDE * (number % 2), "y": HIGH * (number // 2), "w": WIDE, "h": HIGH},
        "fieldConfig": {
            "defaults": {
                "unit": item.unit,
                "min": 0,
                "custom": {"thresholdsStyle": {"mode": "line" if item.bound else "off"}},
                "thresholds": {"mode": "absolute", "steps": steps},
            },
            "overrides": [],
        },
        "targets": [{"refId": "A", "expr": item.query, "legendFormat": deployment.name, "datasource": {"type": "prometheus", "uid": "${datasource}"}}],
    }
