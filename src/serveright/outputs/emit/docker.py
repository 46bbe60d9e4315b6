"""`docker run`, one command a copy: GPUs by number, shared memory, the checkpoint cache kept, and the port only on this machine."""

from collections.abc import Iterator

from serveright.outputs.emit.parts import words
from serveright.types.deployment import Deployment, Emitted, Role
from serveright.types.text import msg

TITLE = msg("docker run")


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One script of `docker run` commands."""
    words.aggregated(deployment, "docker")
    words.one_node(deployment, "docker")
    words.untiered(deployment, "docker")
    role = deployment.role
    extra = [msg("the port is published on this machine only; put a gateway with a key in front before opening it")]
    if role.copies > 1:
        extra.append(msg("{n} copies without a router; compose and kubernetes bring one", n=role.copies))
    lines = ["#!/usr/bin/env bash", *words.comments(deployment, say, extra), "set -euo pipefail"]
    lines += [_run(deployment, role, copy) for copy in range(role.copies)]
    yield Emitted(name=f"{deployment.name}-docker.sh", text="\n".join(lines) + "\n", checked_by="bash -n; shellcheck")


def _run(deployment: Deployment, role: Role, copy: int) -> str:
    command, arguments = words.container_argv(deployment, words.serving(deployment, role))
    name = deployment.name if role.copies == 1 else f"{deployment.name}-{copy}"
    lines = [f"docker run --detach --name {name} --restart unless-stopped"]
    if deployment.gpu is not None:
        lines += _gpus(deployment, role, copy)
    lines += [
        f"--shm-size {deployment.shm_bytes >> 30}g",
        f"--publish 127.0.0.1:{deployment.port + copy}:{deployment.port}",
        '--volume "$HOME/.cache/huggingface:/root/.cache/huggingface"',
        '--env HF_TOKEN="${HF_TOKEN:-}"',
    ]
    lines += [f"--env {name}={words.plain(value)}" for name, value in words.environment(role)]
    rest = command[1:] + arguments
    lines += [f"--entrypoint {command[0]}", deployment.image]
    lines += _grouped(rest)
    return " \\\n  ".join(lines)


def _gpus(deployment: Deployment, role: Role, copy: int) -> list[str]:
    devices = [str(copy * role.node_gpus + gpu) for gpu in range(role.node_gpus)]
    if deployment.gpu is not None and deployment.gpu.vendor.lower() == "amd":
        return ["--device /dev/kfd --device /dev/dri --group-add video", f"--env HIP_VISIBLE_DEVICES={','.join(devices)}"]
    return [f"--gpus '\"device={','.join(devices)}\"'"]


def _grouped(arguments: list[str]) -> list[str]:
    """A flag and its value on one line."""
    lines: list[str] = []
    for word in map(words.plain, arguments):
        if lines and not word.startswith("-") and lines[-1].startswith("-") and " " not in lines[-1]:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
