"""LeaderWorkerSet: pods that live and die together, the first one addressed by all; shared by every format that joins nodes in Kubernetes."""

from typing import Any

from serveright.outputs.emit.parts import objects, pod, words
from serveright.types.deployment import Deployment, Join, Role
from serveright.types.design import FlagChoice
from serveright.types.text import Msg, msg

API = "leaderworkerset.x-k8s.io/v1"
SCHEMA = "leaderworkerset.x-k8s.io_v1_LeaderWorkerSet"
RELEASE = msg("LeaderWorkerSet leaderworkerset.x-k8s.io/v1 (schema of 2026-08-21)")
RANK, LEADER = "LWS_WORKER_INDEX", "LWS_LEADER_ADDRESS"
NETWORK = msg("ask for the cluster's RDMA device here (its name differs by cluster); without it NCCL falls back to TCP between nodes")
CLIQUE = "nvidia.com/gpu.clique"
"""Label of NVIDIA's DRA driver and feature discovery: nodes of one NVLink domain share its value."""


def notes(deployment: Deployment, role: Role) -> list[Msg]:
    """What a reader must know about the network between the pods."""
    if role.nodes * role.node_gpus <= deployment.domain_gpus and role.nodes > 1:
        return [
            msg("all pods of a group share one NVLink domain of {n} GPUs: the topology annotation keeps them together", n=deployment.domain_gpus),
            msg("memory across nodes also needs NVIDIA's DRA driver with a ComputeDomain"),
        ]
    return [NETWORK]


def object_(deployment: Deployment, role: Role, join: Join) -> dict[str, Any]:
    """The LeaderWorkerSet of one role."""
    gpus = join.node_gpus or role.node_gpus
    pods = join.pods or role.nodes
    suffix = f"-{role.name}" if deployment.disaggregated else ""
    meta = objects.metadata(deployment, suffix)
    if pods > 1 and pods * gpus <= deployment.domain_gpus and role.nodes > 1:
        meta["annotations"] = {"leaderworkerset.sigs.k8s.io/exclusive-topology": CLIQUE}
    lead = _pod(deployment, role, join, gpus, leads=True)
    body: dict[str, Any] = {"size": pods, "restartPolicy": "RecreateGroupOnPodRestart"}
    if join.follower or join.name == "ray" or not join.each_serves:
        body["leaderTemplate"] = lead
        body["workerTemplate"] = _pod(deployment, role, join, gpus, leads=False)
    else:
        body["workerTemplate"] = lead
    return {
        "apiVersion": API,
        "kind": "LeaderWorkerSet",
        "metadata": meta,
        "spec": {
            "replicas": role.copies,
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1}},
            "leaderWorkerTemplate": body,
        },
    }


def _pod(deployment: Deployment, role: Role, join: Join, gpus: int, *, leads: bool) -> dict[str, Any]:
    answers = leads or join.each_serves
    script = leader_script(deployment, role, join) if leads else follower_script(deployment, role, join)
    engine = pod.container(deployment, role, ["bash", "-c"], [script], answers=answers, gpus=gpus, ports=join.ports)
    made = pod.template(deployment, role, engine, scraped=answers)
    if not answers:  # services and routers must not find pods that do not answer
        made["metadata"]["labels"] = {"app": deployment.name, "serveright/role": f"{role.name}-follower"}
    return made


def leader_script(deployment: Deployment, role: Role, join: Join, rank: str = RANK, leader: str = LEADER) -> str:
    """What the first node runs."""
    flags, raw = _flags(deployment, role, join, rank, leader)
    command = words.shell_command(words.argv(deployment, ()), flags, raw)
    if join.name != "ray":
        return command + "\n"
    port = dict(join.ports)["ray"]
    alive = (
        'import ray; ray.init(address="auto", log_to_driver=False, logging_level="ERROR"); '
        f'raise SystemExit(sum(node["Alive"] for node in ray.nodes()) < {role.nodes})'
    )
    return f"ray start --head --port={port}\nuntil python3 -c '{alive}'; do sleep 5; done\n{command}\n"


def follower_script(deployment: Deployment, role: Role, join: Join, rank: str = RANK, leader: str = LEADER) -> str:
    """What the other nodes run."""
    if join.name == "ray":
        port = dict(join.ports)["ray"]
        return f'until ray start --address="${leader}:{port}" --block; do sleep 5; done\n'
    flags, raw = _flags(deployment, role, join, rank, leader)
    return words.shell_command(words.argv(deployment, ()), flags, [*raw, *words.node_flags(join.follower, rank, leader)]) + "\n"


def _flags(deployment: Deployment, role: Role, join: Join, rank: str, leader: str) -> tuple[tuple[FlagChoice, ...], list[tuple[str, str | None]]]:
    return words.serving(deployment, role), words.node_flags(join.flags, rank, leader)


def around(deployment: Deployment) -> list[dict[str, Any]]:
    """The cache every pod mounts and the tier's configuration."""
    return [objects.claim(deployment, True), *objects.tier_config(deployment)]
