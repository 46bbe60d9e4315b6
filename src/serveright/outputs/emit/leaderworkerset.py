"""LeaderWorkerSet over several nodes in the best way this version knows: vLLM's own processes, its data-parallel ranks, or SGLang's --nnodes."""

from collections.abc import Iterator

from serveright.outputs.emit.parts import group, objects, words
from serveright.outputs.emit.parts.yaml_text import dump
from serveright.types.deployment import Deployment, Emitted, JoinName
from serveright.types.text import msg

TITLE = msg("LeaderWorkerSet (several nodes a copy)")
WAYS: tuple[JoinName, ...] = ("data_parallel", "mp", "sglang", "ray")


def emit(deployment: Deployment, say: words.Say) -> Iterator[Emitted]:
    """One file with all objects; roles that fit one node become Deployments."""
    yield files(deployment, say, "leaderworkerset", WAYS)


def files(deployment: Deployment, say: words.Say, format: str, ways: tuple[JoinName, ...]) -> Emitted:
    """The same for any ways of joining."""
    from serveright.outputs.emit.kubernetes import workload

    workloads = []
    above = [group.RELEASE]
    each_serves = False
    for role in deployment.roles:
        if deployment.disaggregated and role.nodes == 1:
            workloads.append(workload(deployment, role))
            continue
        join = words.needs_join(role, format, *ways)
        each_serves = each_serves or join.each_serves
        above += [join.why, *group.notes(deployment, role)]
        workloads.append(group.object_(deployment, role, join))
    comments = words.comments(deployment, say, above)
    routed = deployment.routed or each_serves
    text = dump(*group.around(deployment), *workloads, *objects.front(deployment, routed=routed), above=comments)
    return Emitted(name=f"{deployment.name}-{format}.yaml", text=text, checked_by=group.SCHEMA)
