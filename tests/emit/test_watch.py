"""Alerts, dashboard and scaling name metrics the engine really has, and compare with the plan's own limits."""

import json
import re

import pytest
import yaml

from serveright.catalog.metrics import load_metrics
from serveright.outputs import emit
from tests.emit.designs import BOUNDS, CASES, design

NAME = re.compile(r"(?:vllm|sglang):\w+")


def metrics_in(text: str) -> set[str]:
    return {name.removesuffix("_bucket") for name in NAME.findall(text)}


@pytest.mark.parametrize("format", ["prometheus", "grafana", "keda", "hpa"])
@pytest.mark.parametrize("name", CASES)
def test_metric_names_are_the_engines(format: str, name: str) -> None:
    deployment = design(name)
    found = metrics_in(emit.text(emit.emit(format, deployment)))
    assert found
    assert found <= set(load_metrics(deployment.engine, deployment.version).values())


def test_alerts_hold_the_plan_limits() -> None:
    rule = yaml.safe_load(emit.emit("prometheus", design("replicas"))[0].text)
    alerts = {entry["alert"]: entry for entry in rule["spec"]["groups"][0]["rules"]}
    assert len(alerts) == len(BOUNDS) + 1
    assert alerts["FirstTokenLate"]["expr"].endswith("> 2")
    assert alerts["TokensSlow"]["expr"].endswith("> 0.05")
    for entry in alerts.values():
        assert entry["expr"].count("(") == entry["expr"].count(")")
        assert re.fullmatch(r"\d+s", entry["for"])


def test_dashboard_draws_every_limit() -> None:
    board = json.loads(emit.emit("grafana", design("sglang-replicas"))[0].text)
    drawn = [panel for panel in board["panels"] if len(panel["fieldConfig"]["defaults"]["thresholds"]["steps"]) == 2]
    assert len(drawn) == len(BOUNDS)
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(set(places)) == len(places)


def test_scaling_starts_a_copy_before_the_others_are_full() -> None:
    scaled = yaml.safe_load(emit.emit("keda", design("replicas"))[0].text)["spec"]
    assert scaled["scaleTargetRef"]["kind"] == "Deployment"
    assert float(scaled["triggers"][0]["metadata"]["threshold"]) < 32
    wide = yaml.safe_load(emit.emit("keda", design("wide"))[0].text)["spec"]
    assert wide["scaleTargetRef"]["kind"] == "LeaderWorkerSet"


def test_older_releases_have_their_own_names() -> None:
    assert load_metrics("vllm", "0.10.0")["tpot"] == "vllm:time_per_output_token_seconds"
    assert load_metrics("vllm", "0.33.0")["tpot"] == "vllm:inter_token_latency_seconds"
    assert "preemptions" not in load_metrics("sglang", "0.5.3")
