"""Every emitted object is valid: core Kubernetes by kubernetes-validate, CRDs by their published schemas, compose and shell by their own rules."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from serveright.outputs import emit
from serveright.types.deployment import Emitted
from tests.emit.designs import CASES
from tests.emit.strict import problems
from tests.emit.test_law import emitted

HERE = Path(__file__).parent
SCHEMAS = HERE / "schemas"
"""The parts of the published schemas that our objects touch, so that the tests stand without the originals (tests/emit/schemas/README.md)."""
UNCHECKED = {"DynamoGraphDeployment", "Gateway", "HTTPRoute", "PrometheusRule"}
"""No schema at hand; the emitted files say so."""
SERVICE_KEYS = {
    "image",
    "entrypoint",
    "command",
    "environment",
    "shm_size",
    "ipc",
    "volumes",
    "configs",
    "ports",
    "healthcheck",
    "restart",
    "deploy",
    "devices",
    "group_add",
    "network_mode",
    "depends_on",
}
PAIRS = [(format, name) for format in emit.formats() for name in CASES if emitted(format, name)]


def documents(files: tuple[Emitted, ...]) -> list[dict[str, Any]]:
    found = [document for file in files if file.name.endswith(".yaml") for document in yaml.safe_load_all(file.text)]
    return [document for document in found if "kind" in document]


def is_custom(document: dict[str, Any]) -> bool:
    group = document["apiVersion"].partition("/")[0]
    return ("." in group and not group.endswith("k8s.io")) or "leaderworkerset" in group or "gateway.networking" in group


def schema_name(document: dict[str, Any]) -> str:
    return f"{document['apiVersion'].replace('/', '_')}_{document['kind']}.json"


@pytest.mark.parametrize(("format", "name"), PAIRS)
def test_core_objects(format: str, name: str) -> None:
    for document in documents(emitted(format, name)):
        if not is_custom(document):
            kubernetes_validate.validate(document, "1.37", strict=True)


@pytest.mark.parametrize(("format", "name"), PAIRS)
def test_custom_objects(format: str, name: str) -> None:
    for document in documents(emitted(format, name)):
        if is_custom(document) and document["kind"] not in UNCHECKED:
            assert not problems(json.loads((SCHEMAS / schema_name(document)).read_text()), document)


@pytest.mark.shared
@pytest.mark.parametrize(("format", "name"), PAIRS)
def test_custom_objects_by_the_whole_schema(format: str, name: str, shared: Path) -> None:
    for document in documents(emitted(format, name)):
        if is_custom(document) and document["kind"] not in UNCHECKED:
            assert not problems(json.loads((shared / "schemas" / schema_name(document)).read_text()), document)


@pytest.mark.parametrize(("format", "name"), PAIRS)
def test_names_and_labels(format: str, name: str) -> None:
    for document in documents(emitted(format, name)):
        metadata = document["metadata"]
        assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", metadata["name"])
        for value in metadata.get("labels", {}).values():
            assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", value)


@pytest.mark.parametrize("name", [name for format, name in PAIRS if format == "compose"])
def test_compose(name: str) -> None:
    document = yaml.safe_load(emitted("compose", name)[0].text)
    assert set(document) <= {"name", "services", "volumes", "configs"}
    devices: list[str] = []
    for service in document["services"].values():
        assert set(service) <= SERVICE_KEYS
        assert isinstance(service["image"], str)
        for key in ("entrypoint", "command"):
            assert all(isinstance(word, str) for word in service.get(key, []))
        assert all(isinstance(value, str) for value in service.get("environment", {}).values())
        for port in service.get("ports", []):
            assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)
        for other in service.get("depends_on", {}):
            assert "healthcheck" in document["services"][other]
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in document["volumes"]
        for config in service.get("configs", []):
            assert config["source"] in document["configs"]
        for text in [*service.get("command", []), *service.get("environment", {}).values()]:
            assert "$" not in re.sub(r"\$\$|\$\{\w+:-[^}]*\}", "", text)
        reserved = service.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices", [])
        devices += [gpu for device in reserved for gpu in device["device_ids"]]
    assert len(devices) == len(set(devices)), "two services share a GPU"


SCRIPTS = [(format, name) for format, name in PAIRS if format in ("shell", "docker", "slurm")]


@pytest.mark.parametrize(("format", "name"), SCRIPTS)
def test_scripts(format: str, name: str, tmp_path: Path) -> None:
    for file in emitted(format, name):
        check(file.text, tmp_path)


@pytest.mark.parametrize(("format", "name"), PAIRS)
def test_scripts_inside_containers(format: str, name: str, tmp_path: Path) -> None:
    for document in documents(emitted(format, name)):
        for script in scripts(document):
            check("#!/usr/bin/env bash\n" + script, tmp_path, known=("LWS_WORKER_INDEX", "LWS_LEADER_ADDRESS"))


def scripts(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["args"][0]] if node.get("command") == ["bash", "-c"] else []
        own += [node["command"][2]] if isinstance(node.get("command"), list) and node["command"][:2] == ["sh", "-c"] else []
        return own + [script for value in node.values() for script in scripts(value)]
    return [script for item in node for script in scripts(item)] if isinstance(node, list) else []


def check(text: str, folder: Path, known: tuple[str, ...] = ()) -> None:
    path = folder / "script.sh"
    path.write_text(text)
    subprocess.run(["bash", "-n", str(path)], check=True)
    linter = Path(sys.executable).with_name("shellcheck")
    ignored = "SC2154" if known else "SC1000"
    found = subprocess.run([str(linter), "--shell=bash", f"--exclude={ignored}", str(path)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
