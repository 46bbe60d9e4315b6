"""Ray Serve LLM on KubeRay: a RayService whose application is built from `engine_kwargs`; Ray places the ranks over its workers."""

import json
from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import objects, pod, words
from serveright.outputs.emit.parts.yaml_text import clean, dump
from serveright.types.deployment import Deployment, Emitted, Role
from serveright.types.design import FlagChoice
from serveright.types.text import msg

TITLE = msg("Ray Serve LLM (RayService)")
RAY_VERSION = "2.57.0"
RELEASE = msg("KubeRay v1 (schema of 2026-08-19), Ray {ray} with ray.serve.llm; the image brings its own vLLM version", ray=RAY_VERSION)
ACCELERATORS = ("H200", "H100", "H20", "B200", "B300", "A100-80G", "A100-40G", "A100", "A10G", "L40S", "L4", "T4", "V100")
"""Ray's own names; others are left out, and the resource request decides alone."""
OWN_INGRESS = ("--host", "--port", "--api-key", "--tool-call-parser", "--reasoning-parser", "--enable-auto-tool-choice")


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One RayService."""
    words.only(deployment, "rayserve", "vllm")
    words.aggregated(deployment, "rayserve")
    words.untiered(deployment, "rayserve")
    above = words.comments(deployment, say, [RELEASE])
    yield Emitted(
        name=f"{deployment.name}-rayservice.yaml",
        text=dump(objects.claim(deployment, True), _service(deployment), above=above),
        checked_by="ray.io_v1_RayService",
    )


def settings(flags: tuple[FlagChoice, ...]) -> dict[str, Any]:
    """Flags as the keyword arguments of the engine: JSON values as objects, numbers as numbers, switches as booleans."""
    return dict(_setting(flag) for flag in flags)


def _setting(flag: FlagChoice) -> tuple[str, Any]:
    name = flag.flag.lstrip("-").replace("-", "_")
    if flag.value is None:
        return (name.removeprefix("no_"), False) if name.startswith("no_") else (name, True)
    try:
        value = json.loads(flag.value)
    except json.JSONDecodeError:
        return name, flag.value
    return name, value


def _application(deployment: Deployment) -> dict[str, Any]:
    role = deployment.role
    flags = tuple(flag for flag in role.launch.flags if flag.flag not in ("--host", "--port"))
    wide = role.nodes > 1 and role.parallel.dp == 1
    kwargs = settings(flags) | ({"distributed_executor_backend": "ray"} if wide else {})
    config = {
        "model_loading_config": {"model_id": deployment.served_name, "model_source": deployment.model},
        "accelerator_type": _accelerator(deployment),
        "deployment_config": {"autoscaling_config": {"min_replicas": deployment.lowest_copies, "max_replicas": deployment.highest_copies}},
        "engine_kwargs": kwargs,
        "runtime_env": {"env_vars": dict(words.environment(role))},
        "placement_group_config": _placement(role) if wide else None,
    }
    return {
        "name": deployment.name,
        "import_path": "ray.serve.llm:build_openai_app",
        "route_prefix": "/",
        "args": {"llm_configs": [clean(config)]},
    }


def _placement(role: Role) -> dict[str, Any]:
    """One bundle a GPU, packed: tensor ranks stay together as far as they can."""
    return {"bundles": [{"GPU": 1}] * role.parallel.gpus, "strategy": "PACK"}


def _accelerator(deployment: Deployment) -> str | None:
    if deployment.gpu is None:
        return None
    name = deployment.gpu.name.upper().replace(" ", "-")
    return next((known for known in ACCELERATORS if known in name.split("-") or known in name), None)


def _service(deployment: Deployment) -> dict[str, Any]:
    role = deployment.role
    pods = role.nodes * deployment.highest_copies
    text = dump({"applications": [_application(deployment)]})
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": objects.metadata(deployment),
        "spec": {
            "serviceUnhealthySecondThreshold": deployment.startup_s,
            "deploymentUnhealthySecondThreshold": deployment.startup_s,
            "serveConfigV2": text,
            "rayClusterConfig": {
                "rayVersion": RAY_VERSION,
                "headGroupSpec": {"rayStartParams": {"num-cpus": "0", "num-gpus": "0"}, "template": _head(deployment)},
                "workerGroupSpecs": [
                    {
                        "groupName": "gpu",
                        "replicas": role.nodes * role.copies,
                        "minReplicas": role.nodes * deployment.lowest_copies,
                        "maxReplicas": pods,
                        "rayStartParams": {},
                        "template": _worker(deployment, role),
                    }
                ],
            },
        },
    }


def _image() -> str:
    return f"rayproject/ray-llm:{RAY_VERSION}-py311-cu128"


def _head(deployment: Deployment) -> dict[str, Any]:
    ports = [{"containerPort": 8000, "name": "serve"}, {"containerPort": 8265, "name": "dashboard"}, {"containerPort": 6379, "name": "gcs"}]
    room = {"cpu": "4", "memory": "16Gi"}
    return {"spec": {"containers": [{"name": "ray-head", "image": _image(), "ports": ports, "resources": {"limits": room, "requests": room}}]}}


def _worker(deployment: Deployment, role: Role) -> dict[str, Any]:
    gpus = {pod.resource(deployment.gpu): str(role.node_gpus)} if deployment.gpu else {}
    worker = {
        "name": "ray-worker",
        "image": _image(),
        "env": pod.variables(role),
        "resources": {"limits": gpus, "requests": gpus},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}, {"name": "cache", "mountPath": "/home/ray/.cache/huggingface"}],
    }
    return {"spec": pod.spec(deployment, worker)}
