"""llm-d: values for the `llm-d-modelservice` chart, values for the `inferencepool` chart, and the gateway objects in front."""

from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import group, objects, pod, words
from serveright.outputs.emit.parts.yaml_text import clean, dump, quantity
from serveright.types.deployment import Deployment, Emitted, Join, Role
from serveright.types.text import msg

TITLE = msg("llm-d (Helm values and gateway objects)")
CHART = msg("chart llm-d-modelservice v0.4.0; chart inferencepool v1.5.0 of the Gateway API Inference Extension; Gateway API v1")
UNCHECKED = msg("written after the charts' own examples; there is no published schema to check against")
PROXY_PORT = 8200
"""With llm-d's routing sidecar in front (disaggregation) the decode server listens here and the sidecar on the service port."""


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """Three files: model service values, inference pool values, gateway and route."""
    words.only(deployment, "llm-d", "vllm")
    words.untiered(deployment, "llm-d")
    above = words.comments(deployment, say, [CHART, UNCHECKED])
    yield Emitted(name=f"{deployment.name}-modelservice.values.yaml", text=dump(_values(deployment), above=above))
    yield Emitted(name=f"{deployment.name}-inferencepool.values.yaml", text=dump(_pool(deployment), above=[f"# {say(CHART)}"]))
    yield Emitted(name=f"{deployment.name}-gateway.yaml", text=dump(*_gateway(deployment), above=[f"# {say(CHART)}"]))


def _labels(deployment: Deployment) -> dict[str, str]:
    return {"llm-d.ai/inference-serving": "true", "llm-d.ai/model": deployment.name}


def _values(deployment: Deployment) -> dict[str, Any]:
    roles = {role.name: role for role in deployment.roles}
    decode = roles.get("decode") or deployment.role
    several = any(role.nodes > 1 for role in deployment.roles)
    values: dict[str, Any] = {
        "multinode": several,
        "modelArtifacts": {
            "name": deployment.served_name,
            "labels": _labels(deployment),
            "uri": f"hf://{deployment.model}",
            "size": quantity(deployment.cache_bytes or 50 << 30),
            "authSecretName": "hf-token",
        },
        "routing": {"servicePort": deployment.port, "proxy": {"enabled": deployment.disaggregated, "targetPort": PROXY_PORT, "secure": False}},
        "decode": _role(deployment, decode, PROXY_PORT if deployment.disaggregated else deployment.port, several),
    }
    values["prefill"] = _role(deployment, roles["prefill"], deployment.port, several) if "prefill" in roles else {"create": False}
    return values


def _role(deployment: Deployment, role: Role, port: int, several: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "create": True,
        "replicas": role.copies,
        "parallelism": _parallelism(role),
        "acceleratorTypes": {"labelKey": next(iter(pod.selector(deployment))), "labelValues": list(pod.selector(deployment).values())}
        if deployment.gpu
        else None,
        "volumes": [volume for volume in pod.volumes(deployment) if volume["name"] == "shm"],
    }
    join = words.needs_join(role, "llm-d", "data_parallel", "hybrid_lb", "mp", "ray") if role.nodes > 1 else None
    made["containers"] = [_engine(deployment, role, port, join)]
    return clean(made)


def _parallelism(role: Role) -> dict[str, Any]:
    parallel = role.parallel
    local = parallel.dp // role.nodes if role.nodes > 1 and parallel.dp > 1 else parallel.dp
    return {"tensor": parallel.tp, "data": parallel.dp, "dataLocal": local, "workers": role.nodes}


def _engine(deployment: Deployment, role: Role, port: int, join: Join | None) -> dict[str, Any]:
    flags = words.serving(deployment, role, port=str(port))
    if join is None:
        command, args = words.container_argv(deployment, flags)
    else:
        command, args = ["bash", "-c"], [_either(deployment, role, join, port)]
    engine = pod.container(deployment, role, command, args, ports=join.ports if join else ())
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        engine[probe] = {**engine[probe], "httpGet": {"path": "/health", "port": port}}
    engine["ports"][0] = {"name": "http", "containerPort": port}
    engine["volumeMounts"] = [mount for mount in engine["volumeMounts"] if mount["name"] == "shm"]
    return {**engine, "name": deployment.engine, "modelCommand": "custom", "mountModelVolume": True}


def _either(deployment: Deployment, role: Role, join: Join, port: int) -> str:
    """One template serves leader and followers: the pod's index tells which it is."""
    from msgspec.structs import replace

    moved = replace(deployment, port=port)
    leader = group.leader_script(moved, role, join)
    if not join.follower and join.name != "ray":
        return leader
    return f'if [ "${group.RANK}" -gt 0 ]; then\n{group.follower_script(moved, role, join)}fi\n{leader}'


def _pool(deployment: Deployment) -> dict[str, Any]:
    return {
        "inferencePool": {
            "targetPorts": [{"number": deployment.port}],
            "modelServerType": deployment.engine,
            "modelServers": {"matchLabels": _labels(deployment)},
        },
        "provider": {"name": "none"},
    }


def _gateway(deployment: Deployment) -> list[dict[str, Any]]:
    name = f"{deployment.name}-gateway"
    backend = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": f"{deployment.name}-pool"}
    return [
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": objects.metadata(deployment, "-gateway"),
            "spec": {"gatewayClassName": "istio", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
        },
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": objects.metadata(deployment),
            "spec": {
                "parentRefs": [{"name": name}],
                "rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [backend], "timeouts": {"request": "600s"}}],
            },
        },
    ]
