"""Pods: container, probes that allow long starts, shared memory, GPUs, cache volume, node selector. Plain data; knows no particular workload kind."""

from collections.abc import Sequence
from typing import Any

from serveright.outputs.emit.parts.words import environment
from serveright.outputs.emit.parts.yaml_text import clean, quantity
from serveright.types.deployment import Deployment, Role
from serveright.types.hardware import Gpu

HEALTH_PERIOD_S = 10
GRACE_S = 120
"""Time for running requests to finish after SIGTERM."""
CACHE_PATH = "/root/.cache/huggingface"
RESOURCE = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}
PRODUCT_LABEL = {"nvidia": "nvidia.com/gpu.product", "amd": "amd.com/gpu.product-name"}
"""Written by NVIDIA's GPU feature discovery and AMD's node labeller."""


def resource(gpu: Gpu) -> str:
    """The extended resource a pod asks for."""
    return RESOURCE.get(gpu.vendor.lower(), "nvidia.com/gpu")


def product(gpu: Gpu) -> str:
    """The product label's value: what the driver calls the card, blanks as dashes."""
    driver = [alias for alias in gpu.aliases if alias.lower().startswith(gpu.vendor.lower())]
    name = max(driver, key=len) if driver else gpu.name
    return name.replace(" ", "-") if name != name.lower() else "-".join(part.upper() for part in name.replace(" ", "-").split("-"))


def selector(deployment: Deployment) -> dict[str, str]:
    """Nodes with this GPU."""
    if deployment.gpu is None:
        return {}
    return {PRODUCT_LABEL.get(deployment.gpu.vendor.lower(), PRODUCT_LABEL["nvidia"]): product(deployment.gpu)}


def labels(deployment: Deployment, role: Role) -> dict[str, str]:
    """What services and routers select by."""
    return {"app": deployment.name, "serveright/role": role.name}


def scrape(deployment: Deployment) -> dict[str, str]:
    """Annotations for Prometheus."""
    return {"prometheus.io/scrape": "true", "prometheus.io/port": str(deployment.port), "prometheus.io/path": "/metrics"}


def probes(deployment: Deployment) -> dict[str, Any]:
    """Start-up may take `startup_s`; only then do the other probes count."""
    ask = {"httpGet": {"path": "/health", "port": deployment.port}, "periodSeconds": HEALTH_PERIOD_S, "timeoutSeconds": 10}
    return {
        "startupProbe": {**ask, "failureThreshold": -(-deployment.startup_s // HEALTH_PERIOD_S)},
        "readinessProbe": {**ask, "failureThreshold": 3},
        "livenessProbe": {**ask, "failureThreshold": 6},
    }


def variables(role: Role) -> list[dict[str, Any]]:
    """The role's environment and the Hub's token, which may be absent."""
    entries: list[dict[str, Any]] = []
    for name, value in environment(role):
        if value == "@address@":
            entries.append({"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        else:
            entries.append({"name": name, "value": value})
    entries.append({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token", "key": "token", "optional": True}}})
    return entries


def container(
    deployment: Deployment,
    role: Role,
    command: Sequence[str],
    args: Sequence[str],
    *,
    answers: bool = True,
    gpus: int | None = None,
    ports: Sequence[tuple[str, int]] = (),
) -> dict[str, Any]:
    """The engine's container. `answers`: it serves HTTP, so probes make sense."""
    count = role.node_gpus if gpus is None else gpus
    listed = ([("http", deployment.port)] if answers else []) + list(ports)
    limits: dict[str, str] = {}
    if deployment.gpu is not None:
        limits[resource(deployment.gpu)] = str(count)
    if deployment.host_bytes:
        limits["memory"] = quantity(deployment.host_bytes)
    return clean(
        {
            "name": f"{deployment.engine}-{role.name}" if deployment.disaggregated else deployment.engine,
            "image": deployment.image,
            "command": list(command),
            "args": list(args),
            "env": variables(role),
            "ports": [{"name": name, "containerPort": port} for name, port in listed],
            "resources": {"limits": limits, "requests": limits},
            **(probes(deployment) if answers else {}),
            "volumeMounts": mounts(deployment),
            "securityContext": {"allowPrivilegeEscalation": False},
        }
    )


def mounts(deployment: Deployment) -> list[dict[str, Any]]:
    """Where the volumes appear."""
    found = [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "cache", "mountPath": CACHE_PATH}]
    if deployment.tier and deployment.engine == "sglang":
        found.append({"name": "lmcache", "mountPath": "/etc/lmcache"})
    return found


def volumes(deployment: Deployment) -> list[dict[str, Any]]:
    """Shared memory for the workers, the checkpoint cache, the tier's configuration."""
    found: list[dict[str, Any]] = [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": quantity(deployment.shm_bytes)}},
        {"name": "cache", "persistentVolumeClaim": {"claimName": f"{deployment.name}-cache"}},
    ]
    if deployment.tier and deployment.engine == "sglang":
        found.append({"name": "lmcache", "configMap": {"name": f"{deployment.name}-lmcache"}})
    return found


def tier_container(deployment: Deployment) -> dict[str, Any] | None:
    """The LMCache server beside the engine, in the same pod: it shares the GPUs' memory handles without asking for GPUs of its own."""
    tier = deployment.tier
    if tier is None:
        return None
    words = ["lmcache", "server", "--host", "127.0.0.1", "--port", str(tier.port), "--chunk-size", str(tier.chunk_tokens)]
    words += ["--l1-size-gb", str(tier.host_bytes >> 30)]
    room = {"memory": quantity(tier.host_bytes + (8 << 30))}
    return {
        "name": "lmcache",
        "image": tier.image,
        "command": words,
        "env": [{"name": "PYTHONHASHSEED", "value": "0"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
        "resources": {"limits": room, "requests": room},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }


def spec(deployment: Deployment, engine: dict[str, Any]) -> dict[str, Any]:
    """The pod around the engine's container."""
    beside = tier_container(deployment)
    return clean(
        {
            "nodeSelector": selector(deployment),
            "tolerations": [{"key": resource(deployment.gpu), "operator": "Exists", "effect": "NoSchedule"}] if deployment.gpu else None,
            "terminationGracePeriodSeconds": GRACE_S,
            "hostIPC": True if beside else None,
            "containers": [engine, *([beside] if beside else [])],
            "volumes": volumes(deployment),
        }
    )


def template(deployment: Deployment, role: Role, engine: dict[str, Any], *, scraped: bool = True) -> dict[str, Any]:
    """A pod template with labels and scrape annotations."""
    metadata: dict[str, Any] = {"labels": labels(deployment, role)}
    if scraped:
        metadata["annotations"] = scrape(deployment)
    return {"metadata": metadata, "spec": spec(deployment, engine)}
