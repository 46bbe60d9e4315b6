"""One design made ready for machines: who runs where, with which words, and how several nodes become one engine. What every emitter reads."""

from typing import Literal

from msgspec import Struct

from serveright.types.design import FlagChoice, Launch
from serveright.types.engine import Parallel
from serveright.types.engine_table import EngineName
from serveright.types.hardware import Gpu
from serveright.types.text import Msg

JoinName = Literal["mp", "ray", "data_parallel", "hybrid_lb", "external_lb", "sglang"]
RoleName = Literal["serve", "prefill", "decode"]
Target = Literal["gpu", "cpu"]


class NodeFlag(Struct, frozen=True, kw_only=True):
    """A flag whose value may depend on the node. `node` None: `value` as it stands; `rank`: the node's index; `start`: index x `value`;

    `leader`: the first node's address with `value` put behind it.
    """

    flag: str
    value: str | None
    why: Msg
    node: Literal["rank", "start", "leader"] | None = None


class Join(Struct, frozen=True, kw_only=True):
    """One way a version knows to make several nodes one engine. `follower` flags stand on every node but the first.

    `each_serves`: every node answers requests of its own (hybrid and external load balancing); otherwise only the first does.
    """

    name: JoinName
    why: Msg
    flags: tuple[NodeFlag, ...] = ()
    follower: tuple[NodeFlag, ...] = ()
    each_serves: bool = False
    ports: tuple[tuple[str, int], ...] = ()
    """Ports that nodes use among themselves, by name."""
    node_gpus: int | None = None
    """GPUs of one pod under this way, where it differs from the role's."""
    pods: int | None = None
    """Pods of one copy under this way, where it differs from the role's nodes."""


class Role(Struct, frozen=True, kw_only=True):
    """Identical copies of one server. `nodes` x `node_gpus` GPUs make one copy; `joins` are the ways to join its nodes, best first, () on one node."""

    name: RoleName
    launch: Launch
    parallel: Parallel
    copies: int = 1
    nodes: int = 1
    node_gpus: int = 1
    joins: tuple[Join, ...] = ()
    environment: tuple[tuple[str, str, Msg], ...] = ()
    """Name, value, why: beside the launch's own. The value `@address@` means the pod's own address."""

    @property
    def gpus(self) -> int:
        """GPUs of all copies."""
        return self.copies * self.nodes * self.node_gpus


class Tier(Struct, frozen=True, kw_only=True):
    """A cache tier in host memory kept by an LMCache server beside the engine."""

    version: str
    image: str
    chunk_tokens: int
    host_bytes: int
    port: int
    why: Msg


class Router(Struct, frozen=True, kw_only=True):
    """The engine's own router in front of several copies or of prefill and decode."""

    name: Literal["vllm-router", "sglang-router"]
    version: str
    port: int
    policy: str
    transfer: str | None = None
    """How caches travel from prefill to decode (`nixl`, `mooncake`); None without disaggregation."""


class Bound(Struct, frozen=True, kw_only=True):
    """One limit of the plan, watched on a running server: `value` in the unit of the metric, `for_s` seconds before it counts."""

    name: str
    why: Msg
    value: float
    for_s: int = 300


class Deployment(Struct, frozen=True, kw_only=True):
    """Everything an emitter needs. Names are DNS labels; sizes bytes, times seconds."""

    name: str
    engine: EngineName
    version: str
    model: str
    served_name: str
    image: str
    gpu: Gpu | None
    roles: tuple[Role, ...]
    port: int
    router: Router
    """Stands in front wherever more than one server answers."""
    target: Target = "gpu"
    tier: Tier | None = None
    startup_s: int = 1800
    """How long loading and warming may take before a probe gives up."""
    shm_bytes: int = 16 << 30
    cache_bytes: int = 0
    """Room for the checkpoint on disk."""
    host_bytes: int = 0
    """Main memory one pod asks for; 0 leaves it out."""
    domain_gpus: int = 8
    """GPUs reachable at scale-up speed."""
    bounds: tuple[Bound, ...] = ()
    metrics: dict[str, str] = {}
    """What this engine version calls the quantities that are watched (`kv_usage`, `waiting`, `ttft`, ...)."""
    lowest_copies: int = 1
    highest_copies: int = 1
    notes: tuple[Msg, ...] = ()
    """What a reader of the file must know."""

    @property
    def role(self) -> Role:
        """The role clients talk to: the only one, else decode."""
        return next((role for role in self.roles if role.name in ("serve", "decode")), self.roles[0])

    @property
    def disaggregated(self) -> bool:
        """Prefill and decode run apart."""
        return len(self.roles) > 1

    @property
    def routed(self) -> bool:
        """More than one server answers, so a router stands in front."""
        return self.disaggregated or self.role.copies > 1


class Emitted(Struct, frozen=True, kw_only=True):
    """One file of an emitted deployment; `checked_by` names the published schema it must satisfy, "" where only a reference exists."""

    name: str
    text: str
    checked_by: str = ""


def flag_words(flags: tuple[FlagChoice, ...]) -> list[str]:
    """Flags as an argument vector."""
    return [word for flag in flags for word in ((flag.flag,) if flag.value is None else (flag.flag, flag.value))]
