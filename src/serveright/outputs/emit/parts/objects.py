"""Core Kubernetes objects around the pods: cache claim, tier configuration, services, and the router with the rights it needs to find pods."""

from typing import Any

from serveright.outputs.emit.parts import router as routing
from serveright.outputs.emit.parts.pod import labels
from serveright.outputs.emit.parts.yaml_text import quantity
from serveright.types.deployment import Deployment, Router

NAMESPACE = "default"
"""The router's service discovery must name one; change it here and nowhere else."""


def metadata(deployment: Deployment, suffix: str = "", **more: Any) -> dict[str, Any]:
    """Name and the label all objects share."""
    return {"name": f"{deployment.name}{suffix}", "labels": {"app": deployment.name}, **more}


def claim(deployment: Deployment, shared: bool) -> dict[str, Any]:
    """Room for the checkpoint; several pods need a class that many nodes can mount."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata(deployment, "-cache"),
        "spec": {
            "accessModes": ["ReadWriteMany" if shared else "ReadWriteOnce"],
            "resources": {"requests": {"storage": quantity(deployment.cache_bytes or 50 << 30)}},
        },
    }


def tier_config(deployment: Deployment) -> list[dict[str, Any]]:
    """SGLang reads where the LMCache server listens from a file."""
    if deployment.tier is None or deployment.engine != "sglang":
        return []
    data = {"lmcache.yaml": f"mp_host: 127.0.0.1\nmp_port: {deployment.tier.port}\nchunk_size: {deployment.tier.chunk_tokens}\n"}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(deployment, "-lmcache"), "data": data}]


def service(deployment: Deployment, select: dict[str, str], *, suffix: str = "", port: int | None = None, target: int | None = None) -> dict[str, Any]:
    """A ClusterIP in front of pods with these labels."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(deployment, suffix),
        "spec": {"selector": select, "ports": [{"name": "http", "port": port or deployment.port, "targetPort": target or deployment.port}]},
    }


def front(deployment: Deployment, *, routed: bool) -> list[dict[str, Any]]:
    """What clients talk to: the router's objects where more than one server answers, else a service over the pods."""
    if not routed:
        return [service(deployment, labels(deployment, deployment.role))]
    router = deployment.router
    return [*_rights(deployment), _router(deployment, router), service(deployment, {"app": f"{deployment.name}-router"}, port=router.port, target=router.port)]


def _rights(deployment: Deployment) -> list[dict[str, Any]]:
    name = f"{deployment.name}-router"
    kind = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(deployment, "-router", namespace=NAMESPACE)},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata(deployment, "-router", namespace=NAMESPACE),
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata(deployment, "-router", namespace=NAMESPACE),
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
            "roleRef": kind,
        },
    ]


def _router(deployment: Deployment, router: Router) -> dict[str, Any]:
    name = f"{deployment.name}-router"
    ask = {"httpGet": {"path": "/health", "port": router.port}, "periodSeconds": 10, "timeoutSeconds": 5}
    words = routing.discovering(deployment, router, NAMESPACE)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(deployment, "-router", namespace=NAMESPACE),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "serviceAccountName": name,
                    "containers": [
                        {
                            "name": "router",
                            "image": routing.IMAGE,
                            "command": ["sh", "-c", routing.install_and_run(router, words)],
                            "ports": [{"name": "http", "containerPort": router.port}],
                            "startupProbe": {**ask, "failureThreshold": 60},
                            "readinessProbe": ask,
                            "resources": {"requests": {"cpu": "2", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
                        }
                    ],
                },
            },
        },
    }
