"""Deployments as words: the argument vector of one server, the comments that say why, and shell text."""

import shlex
from collections.abc import Callable, Iterable, Sequence

from serveright.errors import UsageError
from serveright.outputs.shell import words
from serveright.types.deployment import Deployment, Join, JoinName, NodeFlag, Role
from serveright.types.design import FlagChoice
from serveright.types.text import Msg, msg

Say = Callable[[Msg], str]
"""Turns a message into prose of the reader's language."""
MODULE = {"vllm": ("python3", "-m", "vllm.entrypoints.openai.api_server"), "sglang": ("python3", "-m", "sglang.launch_server")}
MODEL_FLAG = {"vllm": "--model", "sglang": "--model-path"}


def plain(value: str) -> str:
    """A word as a shell takes it."""
    return shlex.quote(value)


def listening(deployment: Deployment, host: str, port: str) -> tuple[FlagChoice, ...]:
    """Where the server listens, unless the design says it."""
    said = {flag.flag for flag in deployment.role.launch.flags}
    wanted = (("--host", host), ("--port", port))
    return tuple(FlagChoice(flag=flag, value=value, why=msg("where it listens")) for flag, value in wanted if flag not in said)


def serving(deployment: Deployment, role: Role, host: str = "0.0.0.0", port: str | None = None) -> tuple[FlagChoice, ...]:
    """The flags of one server on one node, the served name and the address included."""
    named = (
        ()
        if deployment.served_name == deployment.model or any(flag.flag == "--served-model-name" for flag in role.launch.flags)
        else (FlagChoice(flag="--served-model-name", value=deployment.served_name, why=msg("the name clients use")),)
    )
    return (*role.launch.flags, *named, *listening(deployment, host, port or str(deployment.port)))


def argv(deployment: Deployment, flags: Iterable[FlagChoice]) -> list[str]:
    """Program, model and flags. The CPU builds of vLLM start as a module: their package metadata does not satisfy the `vllm` command."""
    if deployment.target == "cpu" and deployment.engine == "vllm":
        start = [*MODULE["vllm"], MODEL_FLAG["vllm"], deployment.model]
        return start + [word for flag in flags for word in ((flag.flag,) if flag.value is None else (flag.flag, flag.value))]
    return words(deployment.engine, deployment.model, flags)


def container_argv(deployment: Deployment, flags: Iterable[FlagChoice]) -> tuple[list[str], list[str]]:
    """(command, args) of a container: both spelled out, so that no image's entry point matters."""
    all_words = argv(deployment, flags)
    size = 2 if all_words[0] == "vllm" else 3
    return all_words[:size], all_words[size:]


def shell_command(
    start: Sequence[str], flags: Iterable[FlagChoice], raw: Sequence[tuple[str, str | None]] = (), indent: str = "  ", prefix: str = "exec "
) -> str:
    """One command over several lines; `raw` flags carry shell expressions as they stand."""
    lines = [prefix + " ".join(map(plain, start))]
    lines += [plain(flag.flag) if flag.value is None else f"{flag.flag} {plain(flag.value)}" for flag in flags]
    lines += [flag if value is None else f'{flag} "{value}"' for flag, value in raw]
    return f" \\\n{indent}".join(lines)


def node_flags(flags: Iterable[NodeFlag], rank: str, leader: str) -> list[tuple[str, str | None]]:
    """Flags of a join with shell expressions put in: `rank` and `leader` name variables."""
    found: list[tuple[str, str | None]] = []
    for flag in flags:
        if flag.node == "rank":
            found.append((flag.flag, f"${rank}"))
        elif flag.node == "start":
            found.append((flag.flag, f"$(({rank} * {flag.value}))"))
        elif flag.node == "leader":
            found.append((flag.flag, f"${{{leader}}}{flag.value}" if flag.value else f"${leader}"))
        else:
            found.append((flag.flag, flag.value))
    return found


def join_of(role: Role, *names: JoinName) -> Join | None:
    """The best way among some to join a role's nodes."""
    return next((join for join in role.joins if join.name in names), None)


def title(deployment: Deployment) -> list[Msg]:
    """First lines of every file: what it is."""
    gpus = sum(role.gpus for role in deployment.roles)
    if deployment.gpu is None:
        head = msg("{engine} {version}: {model} on the CPU", engine=deployment.engine, version=deployment.version, model=deployment.model)
    else:
        head = msg(
            "{engine} {version}: {model} on {n} x {gpu}",
            engine=deployment.engine,
            version=deployment.version,
            model=deployment.model,
            n=gpus,
            gpu=deployment.gpu.name,
        )
    return [head, *deployment.notes]


def reasons(flags: Iterable[FlagChoice | NodeFlag]) -> list[tuple[str, Msg]]:
    """Each flag as written with the sentence that says why."""
    return [(flag.flag if flag.value is None else f"{flag.flag} {flag.value}", flag.why) for flag in flags]


def comments(deployment: Deployment, say: Say, extra: Iterable[Msg] = ()) -> list[str]:
    """Comment lines: what it is, why each flag stands there, and what was left to the engine."""
    lines = [say(text) for text in (*title(deployment), *extra)]
    for role in deployment.roles:
        if deployment.disaggregated:
            lines.append(f"[{role.name}]")
        lines += [f"{flag}: {say(why)}" for flag, why in reasons(role.launch.flags)]
        lines += [f"{name}: {say(why)}" for name, _, why in role.environment]
        lines += [say(msg("left to the engine: {flag}: {why}", flag=left.flag, why=left.why)) for left in role.launch.left_to_engine]
    return [f"# {part}" for line in lines for part in line.splitlines()]


def environment(role: Role) -> list[tuple[str, str]]:
    """The role's variables; `@address@` values are the format's business."""
    return [*role.launch.env.items(), *((name, value) for name, value, _ in role.environment)]


def one_node(deployment: Deployment, format: str) -> None:
    """Raises UsageError where a copy needs several nodes and the format joins none."""
    for role in deployment.roles:
        if role.nodes > 1:
            raise UsageError(
                msg("--emit {format} starts every copy on one node; this design needs {n} nodes a copy", format=format, n=role.nodes),
                msg("Use leaderworkerset, slurm, rayserve, dynamo or llm-d."),
            )


def aggregated(deployment: Deployment, format: str) -> None:
    """Raises UsageError where prefill and decode are apart and the format has no place for that."""
    if deployment.disaggregated:
        raise UsageError(
            msg("--emit {format} cannot keep prefill and decode apart", format=format),
            msg("Use compose, kubernetes, leaderworkerset, kserve-llm, llm-d or dynamo."),
        )


def scalable(deployment: Deployment, format: str) -> None:
    """Raises UsageError where there is nothing to scale between, or too little is known to scale by."""
    if deployment.highest_copies <= deployment.lowest_copies or not deployment.metrics:
        raise UsageError(
            msg(
                "--emit {format}: at least {low} and at most {high} copies leave nothing to scale",
                format=format,
                low=deployment.lowest_copies,
                high=deployment.highest_copies,
            ),
            msg("Give more GPUs than one copy needs."),
        )


def untiered(deployment: Deployment, format: str) -> None:
    """Raises UsageError where the design has a cache tier and the format no place for its server."""
    if deployment.tier is not None:
        raise UsageError(
            msg("--emit {format} has no place for the cache tier's server", format=format),
            msg("Use compose, kubernetes, leaderworkerset or kserve, or leave the tier out."),
        )


def only(deployment: Deployment, format: str, engine: str) -> None:
    """Raises UsageError where the format serves another engine."""
    if deployment.engine != engine:
        raise UsageError(
            msg("--emit {format} is for {wanted}; this design is for {engine}", format=format, wanted=engine, engine=deployment.engine),
            msg("Plan with --engine {wanted}, or take another format.", wanted=engine),
        )


_JOINED_BY: dict[JoinName, str] = {
    "mp": "--nnodes",
    "ray": "Ray",
    "data_parallel": "--data-parallel-address",
    "hybrid_lb": "--data-parallel-hybrid-lb",
    "external_lb": "--data-parallel-external-lb",
    "sglang": "--dist-init-addr",
}
"""What the user would write for each way of joining."""


def needs_join(role: Role, format: str, *names: JoinName) -> Join:
    """The join a format is about. Raises UsageError where this version or layout has none."""
    join = join_of(role, *names)
    if join is None:
        raise UsageError(
            msg(
                "--emit {format}: this version or layout cannot be joined that way ({names})",
                format=format,
                names=", ".join(_JOINED_BY[name] for name in names),
            ),
            msg("Data-parallel formats need --dp above 1, multi-node ones a copy larger than a node, and a version with the flags."),
        )
    return join
