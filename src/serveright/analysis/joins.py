"""How several nodes become one engine: the words of every way a version knows, best first. Only flags of the version's table."""

from collections.abc import Iterator

from serveright.types.deployment import Join, NodeFlag
from serveright.types.engine import Parallel
from serveright.types.engine_table import EngineTable
from serveright.types.text import msg

MASTER_PORT = 29501
"""vLLM's own default of --master-port."""
RPC_PORT = 13345
RAY_PORT = 6379
DIST_PORT = 20000


def knows(table: EngineTable, flag: str) -> bool:
    """Whether this version has the flag."""
    return any(flag == known.name or flag in known.aliases for known in table.flags)


def joins(table: EngineTable, parallel: Parallel, nodes: int, per_node: int) -> tuple[Join, ...]:
    """The ways to run one copy over `nodes` nodes of `per_node` GPUs; with data-parallel ranks also the ways without a single front door."""
    if table.engine == "sglang":
        return tuple(_sglang(table, nodes)) if nodes > 1 else ()
    found: list[Join] = []
    rank_fits = parallel.tp * parallel.pp <= per_node
    if nodes > 1 and parallel.dp > 1 and rank_fits:
        found += _data_parallel(table, parallel, nodes)
    elif nodes > 1:
        found += _one_world(table, nodes)
    if parallel.dp > 1 and rank_fits:
        found += _external(table, parallel)
    return tuple(found)


def _sglang(table: EngineTable, nodes: int) -> Iterator[Join]:
    if not knows(table, "--nnodes"):
        return
    yield Join(
        name="sglang",
        why=msg("SGLang starts the same command on every node; only the first one answers"),
        flags=(
            NodeFlag(flag="--nnodes", value=str(nodes), why=msg("one engine over {n} nodes", n=nodes)),
            NodeFlag(flag="--node-rank", value=None, node="rank", why=msg("which of them this is")),
            NodeFlag(flag="--dist-init-addr", value=f":{DIST_PORT}", node="leader", why=msg("where the nodes meet")),
        ),
        ports=(("dist", DIST_PORT),),
    )


def _one_world(table: EngineTable, nodes: int) -> Iterator[Join]:
    """Tensor or pipeline ranks over nodes."""
    if knows(table, "--nnodes") and knows(table, "--headless"):
        yield Join(
            name="mp",
            why=msg("vLLM's own processes on every node (--nnodes): no Ray to install and watch"),
            flags=(
                NodeFlag(flag="--nnodes", value=str(nodes), why=msg("one engine over {n} nodes", n=nodes)),
                NodeFlag(flag="--node-rank", value=None, node="rank", why=msg("which of them this is")),
                NodeFlag(flag="--master-addr", value="", node="leader", why=msg("where the nodes meet")),
            ),
            follower=(NodeFlag(flag="--headless", value=None, why=msg("only the first node answers requests")),),
            ports=(("master", MASTER_PORT),),
        )
    yield Join(
        name="ray",
        why=msg("one Ray cluster a copy; vLLM starts its workers through it"),
        flags=(NodeFlag(flag="--distributed-executor-backend", value="ray", why=msg("workers are Ray actors on all nodes of the copy")),),
        ports=(("ray", RAY_PORT),),
    )


def _meeting(size_local: int) -> tuple[NodeFlag, ...]:
    return (
        NodeFlag(flag="--data-parallel-size-local", value=str(size_local), why=msg("attention ranks of one node")),
        NodeFlag(flag="--data-parallel-address", value="", node="leader", why=msg("where the ranks meet")),
        NodeFlag(flag="--data-parallel-rpc-port", value=str(RPC_PORT), why=msg("where the ranks meet")),
    )


def _data_parallel(table: EngineTable, parallel: Parallel, nodes: int) -> Iterator[Join]:
    """Whole data-parallel ranks on every node."""
    local = parallel.dp // nodes
    start = NodeFlag(flag="--data-parallel-start-rank", value=str(local), node="start", why=msg("the first rank of this node"))
    if knows(table, "--headless"):
        yield Join(
            name="data_parallel",
            why=msg("the first node answers and spreads requests over all {n} ranks", n=parallel.dp),
            flags=_meeting(local),
            follower=(start, NodeFlag(flag="--headless", value=None, why=msg("only the first node answers requests"))),
            ports=(("dp-rpc", RPC_PORT),),
        )
    if knows(table, "--data-parallel-hybrid-lb") and local > 1:
        yield Join(
            name="hybrid_lb",
            why=msg("every node answers for its own {n} ranks; a router in front spreads over nodes, so one API process is no bottleneck", n=local),
            flags=(
                *_meeting(local),
                start,
                NodeFlag(flag="--data-parallel-hybrid-lb", value=None, why=msg("each node balances over its own ranks only")),
            ),
            each_serves=True,
            ports=(("dp-rpc", RPC_PORT),),
        )


def _external(table: EngineTable, parallel: Parallel) -> Iterator[Join]:
    """One pod a data-parallel rank."""
    if not knows(table, "--data-parallel-rank"):
        return
    said = NodeFlag(flag="--data-parallel-external-lb", value=None, why=msg("the router in front chooses the rank"))
    yield Join(
        name="external_lb",
        why=msg("one pod a rank: the router sees every rank and can choose by load and cached prefix"),
        flags=(
            NodeFlag(flag="--data-parallel-rank", value=None, node="rank", why=msg("which of the {n} ranks this is", n=parallel.dp)),
            NodeFlag(flag="--data-parallel-address", value="", node="leader", why=msg("where the ranks meet")),
            NodeFlag(flag="--data-parallel-rpc-port", value=str(RPC_PORT), why=msg("where the ranks meet")),
            *((said,) if knows(table, "--data-parallel-external-lb") else ()),
        ),
        each_serves=True,
        ports=(("dp-rpc", RPC_PORT),),
        node_gpus=parallel.tp * parallel.pp,
        pods=parallel.dp,
    )
