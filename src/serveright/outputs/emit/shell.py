"""A bash script that starts the server on this machine, comments saying why: several copies behind their router, several nodes by rank."""

from collections.abc import Iterator

from serveright.outputs.emit.parts import router as routing
from serveright.outputs.emit.parts import words
from serveright.types.deployment import Deployment, Emitted, Join, Role
from serveright.types.text import msg

TITLE = msg("bash script")
FIRST_PORT = 8101
"""Copies behind a router listen from here on."""


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One script; `HOST` and `PORT` change where it listens."""
    words.aggregated(deployment, "shell")
    words.untiered(deployment, "shell")
    role = deployment.role
    lines = ["#!/usr/bin/env bash", *words.comments(deployment, say), "set -euo pipefail"]
    lines += [f"export {name}={words.plain(value)}" for name, value in words.environment(role)]
    lines.append('HOST="${HOST:-127.0.0.1}"')
    if role.nodes > 1:
        lines += _over_nodes(deployment, role, words.needs_join(role, "shell", "mp", "data_parallel", "sglang"), say)
    elif role.copies > 1:
        lines += _copies(deployment, role, say)
    else:
        lines.append(f'PORT="${{PORT:-{deployment.port}}}"')
        lines.append(_command(deployment, role, "$PORT"))
    yield Emitted(name=f"{deployment.name}.sh", text="\n".join(lines) + "\n", checked_by="bash -n; shellcheck")


def _command(deployment: Deployment, role: Role, port: str, prefix: str = "exec ", host: str = "$HOST") -> str:
    flags = words.serving(deployment, role, "@", "@")
    shown = tuple(flag for flag in flags if flag.value != "@")
    raw = [(flag.flag, host if flag.flag == "--host" else port) for flag in flags if flag.value == "@"]
    return words.shell_command(words.argv(deployment, ()), shown, raw, prefix=prefix)


def _over_nodes(deployment: Deployment, role: Role, join: Join, say: words.Say) -> Iterator[str]:
    yield f"# {say(msg('run on each of {n} nodes with NODE_RANK 0 to {last} and LEADER the address of node 0', n=role.nodes, last=role.nodes - 1))}"
    yield f"# {say(join.why)}"
    yield from (f"# {flag}: {say(why)}" for flag, why in words.reasons((*join.flags, *join.follower)))
    yield 'NODE_RANK="${NODE_RANK:?which node this is, from 0}"'
    yield 'LEADER="${LEADER:?address of node 0}"'
    yield f'PORT="${{PORT:-{deployment.port}}}"'
    flags = words.serving(deployment, role, "@", "@")
    shown = tuple(flag for flag in flags if flag.value != "@")
    raw = [(flag.flag, "$HOST" if flag.flag == "--host" else "$PORT") for flag in flags if flag.value == "@"]
    raw += words.node_flags(join.flags, "NODE_RANK", "LEADER")
    if not join.follower:
        yield words.shell_command(words.argv(deployment, ()), shown, raw)
        return
    yield 'if [ "$NODE_RANK" -gt 0 ]; then'
    follower = raw + words.node_flags(join.follower, "NODE_RANK", "LEADER")
    yield "  " + words.shell_command(words.argv(deployment, ()), shown, follower, indent="    ")
    yield "fi"
    yield words.shell_command(words.argv(deployment, ()), shown, raw)


def _copies(deployment: Deployment, role: Role, say: words.Say) -> Iterator[str]:
    """As many copies as this machine holds, each on its own GPUs, and the router in front."""
    room = deployment.gpu.gpus_per_node if deployment.gpu else role.copies
    here = min(role.copies, max(1, room // max(role.node_gpus, 1)))
    if here < role.copies:
        yield f"# {say(msg('{here} of {all} copies fit one machine; run this on each', here=here, all=role.copies))}"
    router = deployment.router
    yield f'PORT="${{PORT:-{router.port}}}"'
    yield "pids=()"
    yield "trap 'kill \"${pids[@]}\" 2>/dev/null || true' EXIT"
    for copy in range(here):
        devices = ",".join(str(copy * role.node_gpus + gpu) for gpu in range(role.node_gpus))
        variable = "HIP_VISIBLE_DEVICES" if deployment.gpu and deployment.gpu.vendor.lower() == "amd" else "CUDA_VISIBLE_DEVICES"
        pinned = f"{variable}={devices} " if deployment.gpu else ""
        yield _command(deployment, role, str(FIRST_PORT + copy), prefix=pinned, host="127.0.0.1") + " &"
        yield 'pids+=("$!")'
    yield f"# {say(routing.note(router))}"
    urls = [f"http://127.0.0.1:{FIRST_PORT + copy}" for copy in range(here)]
    command = [word if word.startswith("$") else words.plain(word) for word in routing.to_urls(router, urls, "$HOST", "$PORT")]
    yield " ".join(f'"{word}"' if word.startswith("$") else word for word in command)
