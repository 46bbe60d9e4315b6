"""A SLURM batch script: one task a node, the first node is the leader, GPUs and nodes as the design needs them."""

from collections.abc import Iterator

from serveright.outputs.emit.parts import words
from serveright.types.deployment import Deployment, Emitted, Join, Role
from serveright.types.text import msg

TITLE = msg("SLURM batch script")


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One script for one copy; submit it once a copy."""
    words.aggregated(deployment, "slurm")
    words.untiered(deployment, "slurm")
    role = deployment.role
    gpu = "" if deployment.gpu is None else f"gpu:{deployment.gpu.key.split('-')[0]}:{role.node_gpus}"
    extra = [msg("submit once for each of {n} copies", n=role.copies)] if role.copies > 1 else []
    lines = ["#!/usr/bin/env bash", f"#SBATCH --job-name={deployment.name}", f"#SBATCH --nodes={role.nodes}", "#SBATCH --ntasks-per-node=1"]
    lines += [f"#SBATCH --gres={gpu}"] if gpu else []
    lines += ["#SBATCH --exclusive", *words.comments(deployment, say, extra), "set -euo pipefail"]
    lines += [f"export {name}={words.plain(value)}" for name, value in words.environment(role)]
    if role.nodes == 1:
        lines.append(words.shell_command(words.argv(deployment, ()), words.serving(deployment, role)))
    else:
        lines += _over_nodes(deployment, role, words.needs_join(role, "slurm", "mp", "data_parallel", "sglang"), say)
    yield Emitted(name=f"{deployment.name}.sbatch", text="\n".join(lines) + "\n", checked_by="bash -n; shellcheck")


def _over_nodes(deployment: Deployment, role: Role, join: Join, say: words.Say) -> Iterator[str]:
    yield f"# {say(join.why)}"
    yield 'LEADER="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"'
    yield "export LEADER"
    flags, argv = words.serving(deployment, role), words.argv(deployment, ())
    raw = words.node_flags(join.flags, "SLURM_NODEID", "LEADER")
    lines = [words.shell_command(argv, flags, raw)]
    if join.follower:
        follower = [*raw, *words.node_flags(join.follower, "SLURM_NODEID", "LEADER")]
        lines = ['if [ "$SLURM_NODEID" -gt 0 ]; then', "  " + words.shell_command(argv, flags, follower, indent="    "), "fi", *lines]
    yield "# shellcheck disable=SC2016  # every node expands its own SLURM_NODEID"
    yield f"srun bash -c '{_inside(chr(10).join(lines))}'"


def _inside(text: str) -> str:
    """Text inside single quotes."""
    return text.replace("'", "'\\''")
