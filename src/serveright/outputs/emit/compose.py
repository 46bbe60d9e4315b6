"""Docker Compose: one service a copy with health check, shared memory, GPUs and cache volume; router and cache tier beside."""

from collections.abc import Iterator
from typing import Any

from serveright.outputs.emit.parts import router as routing
from serveright.outputs.emit.parts import words
from serveright.outputs.emit.parts.pod import CACHE_PATH
from serveright.outputs.emit.parts.yaml_text import clean, dump
from serveright.types.deployment import Deployment, Emitted, Role
from serveright.types.text import msg

TITLE = msg("Docker Compose")
ASK = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:{port}/health', timeout=5)"


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One compose file for one machine."""
    words.one_node(deployment, "compose")
    services: dict[str, Any] = {}
    device = 0
    for role in deployment.roles:
        for copy in range(role.copies):
            name = _name(role, copy)
            services[name] = _engine(deployment, role, device, published=not deployment.routed)
            if deployment.tier:
                services[f"{name}-lmcache"] = _tier(deployment, name)
            device += role.node_gpus
    if deployment.routed:
        services["router"] = _router(deployment)
    document = clean(
        {
            "name": deployment.name,
            "services": services,
            "volumes": {"huggingface": {"name": f"{deployment.name}-huggingface"}},
            "configs": _configs(deployment),
        }
    )
    text = dump(document, above=words.comments(deployment, say, [msg("Compose specification; `$` in a value is written `$$`")]))
    yield Emitted(name="compose.yaml", text=text, checked_by="compose-spec")


def _name(role: Role, copy: int) -> str:
    return role.name if role.copies == 1 else f"{role.name}-{copy}"


def _engine(deployment: Deployment, role: Role, device: int, *, published: bool) -> dict[str, Any]:
    command, args = words.container_argv(deployment, words.serving(deployment, role))
    environment = {name: value.replace("@address@", "0.0.0.0") for name, value in words.environment(role)}
    made: dict[str, Any] = {
        "image": deployment.image,
        "entrypoint": command,
        "command": [word.replace("$", "$$") for word in args],
        "environment": {**environment, "HF_TOKEN": "${HF_TOKEN:-}"},
        "shm_size": f"{deployment.shm_bytes >> 30}gb",
        "ipc": "shareable" if deployment.tier else None,
        "volumes": [f"huggingface:{CACHE_PATH}"],
        "configs": [{"source": "lmcache", "target": "/etc/lmcache/lmcache.yaml"}] if deployment.tier and deployment.engine == "sglang" else None,
        "ports": [f"127.0.0.1:{deployment.port}:{deployment.port}"] if published else None,
        "healthcheck": {
            "test": ["CMD", "python3", "-c", ASK.format(port=deployment.port)],
            "interval": "10s",
            "timeout": "10s",
            "retries": 6,
            "start_period": f"{deployment.startup_s}s",
        },
        "restart": "unless-stopped",
    }
    return {**made, **_devices(deployment, role, device)}


def _devices(deployment: Deployment, role: Role, first: int) -> dict[str, Any]:
    if deployment.gpu is None:
        return {}
    listed = [str(first + gpu) for gpu in range(role.node_gpus)]
    if deployment.gpu.vendor.lower() == "amd":
        return {"devices": ["/dev/kfd", "/dev/dri"], "group_add": ["video"]}
    return {"deploy": {"resources": {"reservations": {"devices": [{"driver": "nvidia", "device_ids": listed, "capabilities": ["gpu"]}]}}}}


def _tier(deployment: Deployment, engine: str) -> dict[str, Any]:
    from serveright.outputs.emit.parts.pod import tier_container

    beside = tier_container(deployment) or {}
    return {
        "image": beside["image"],
        "entrypoint": beside["command"],
        "environment": {entry["name"]: entry["value"] for entry in beside["env"]},
        "network_mode": f"service:{engine}",
        "ipc": f"service:{engine}",
        "restart": "unless-stopped",
    }


def _configs(deployment: Deployment) -> dict[str, Any] | None:
    if deployment.tier is None or deployment.engine != "sglang":
        return None
    return {"lmcache": {"content": f"mp_host: 127.0.0.1\nmp_port: {deployment.tier.port}\nchunk_size: {deployment.tier.chunk_tokens}\n"}}


def _router(deployment: Deployment) -> dict[str, Any]:
    router = deployment.router
    urls = {role.name: [f"http://{_name(role, copy)}:{deployment.port}" for copy in range(role.copies)] for role in deployment.roles}
    if deployment.disaggregated:
        bootstrap = next((port for port in (_bootstrap(role) for role in deployment.roles) if port), None)
        command = routing.apart(router, urls["prefill"], urls["decode"], "0.0.0.0", str(router.port), bootstrap)
    else:
        command = routing.to_urls(router, urls["serve"], "0.0.0.0", str(router.port))
    return {
        "image": routing.IMAGE,
        "command": ["sh", "-c", routing.install_and_run(router, command)],
        "ports": [f"127.0.0.1:{router.port}:{router.port}"],
        "depends_on": {_name(role, copy): {"condition": "service_healthy"} for role in deployment.roles for copy in range(role.copies)},
        "restart": "unless-stopped",
    }


def _bootstrap(role: Role) -> int | None:
    value = next((flag.value for flag in role.launch.flags if flag.flag == "--disaggregation-bootstrap-port"), None)
    return int(value) if value else None
