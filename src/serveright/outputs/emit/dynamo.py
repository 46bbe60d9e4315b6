"""NVIDIA Dynamo: a DynamoGraphDeployment with the frontend and one worker service a role; the operator joins nodes by itself."""

from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import objects, pod, words
from serveright.outputs.emit.parts.yaml_text import clean, dump
from serveright.types.deployment import Deployment, Emitted, Role
from serveright.types.design import FlagChoice
from serveright.types.text import msg

TITLE = msg("NVIDIA Dynamo graph")
VERSION = "1.5.0"
RELEASE = msg("Dynamo {version}, nvidia.com/v1alpha1 DynamoGraphDeployment; the runtime image brings its own engine version", version=VERSION)
UNCHECKED = msg("written after the project's own examples; there is no published schema to check against")
MODULE = {"vllm": "dynamo.vllm", "sglang": "dynamo.sglang"}
FRONT_FLAGS = frozenset(["--host", "--port", "--enable-auto-tool-choice", "--api-key", "--enable-metrics"])
"""The frontend's business; the worker refuses them."""
RENAMED = {"--tool-call-parser": "--dyn-tool-call-parser", "--reasoning-parser": "--dyn-reasoning-parser"}


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One graph."""
    above = words.comments(deployment, say, [RELEASE, UNCHECKED])
    words.untiered(deployment, "dynamo")
    yield Emitted(name=f"{deployment.name}-dynamo.yaml", text=dump(objects.claim(deployment, True), _graph(deployment), above=above))


def _image(deployment: Deployment) -> str:
    return f"nvcr.io/nvidia/ai-dynamo/{deployment.engine}-runtime:{VERSION}"


def _graph(deployment: Deployment) -> dict[str, Any]:
    front = {
        "componentType": "frontend",
        "replicas": 1,
        "envs": [{"name": "DYN_ROUTER_MODE", "value": "kv"}] if deployment.routed else None,
        "extraPodSpec": {"mainContainer": {"image": _image(deployment)}},
    }
    services = {"Frontend": clean(front)} | {_name(role): _worker(deployment, role) for role in deployment.roles}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": objects.metadata(deployment),
        "spec": {
            "backendFramework": deployment.engine,
            "pvcs": [{"name": f"{deployment.name}-cache", "create": False}],
            "services": services,
        },
    }


def _name(role: Role) -> str:
    return "worker" if role.name == "serve" else role.name


def flags(deployment: Deployment, role: Role) -> tuple[FlagChoice, ...]:
    """The engine's flags in the worker's spelling."""
    kept = tuple(flag for flag in words.serving(deployment, role) if flag.flag not in FRONT_FLAGS)
    renamed = tuple(FlagChoice(flag=RENAMED.get(flag.flag, flag.flag), value=flag.value, why=flag.why) for flag in kept)
    own = FlagChoice(flag="--is-prefill-worker", value=None, why=msg("this worker does only this phase"))
    return (*renamed, own) if role.name == "prefill" and deployment.engine == "vllm" else renamed


def _worker(deployment: Deployment, role: Role) -> dict[str, Any]:
    model = words.MODEL_FLAG[deployment.engine]
    args = [model, deployment.model, *(word for flag in flags(deployment, role) for word in ((flag.flag,) if flag.value is None else (flag.flag, flag.value)))]
    main = {
        "image": _image(deployment),
        "command": ["python3", "-m", MODULE[deployment.engine]],
        "args": args,
        "startupProbe": {"httpGet": {"path": "/health", "port": 9090}, "periodSeconds": 10, "failureThreshold": -(-deployment.startup_s // 10)},
    }
    return clean(
        {
            "componentType": "worker",
            "subComponentType": role.name if role.name != "serve" else None,
            "replicas": role.copies,
            "multinode": {"nodeCount": role.nodes} if role.nodes > 1 else None,
            "resources": {"limits": {"gpu": str(role.node_gpus)}} if deployment.gpu else None,
            "envs": pod.variables(role),
            "sharedMemory": {"size": f"{deployment.shm_bytes >> 30}Gi"},
            "volumeMounts": [{"name": f"{deployment.name}-cache", "mountPoint": pod.CACHE_PATH}],
            "extraPodSpec": {"nodeSelector": pod.selector(deployment), "mainContainer": main},
        }
    )
