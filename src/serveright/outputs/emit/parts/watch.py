"""PromQL over a deployment's own metrics: what each limit of the plan compares."""

from msgspec import Struct

from serveright.errors import UsageError
from serveright.types.deployment import Bound, Deployment
from serveright.types.text import Msg, msg

WINDOW = "5m"


class Watched(Struct, frozen=True, kw_only=True):
    """One curve: `unit` as Grafana names units; `bound` where the plan has a limit for it."""

    key: str
    title: Msg
    query: str
    unit: str
    bound: Bound | None = None


TITLES: dict[str, tuple[Msg, str]] = {
    "kv_usage": (msg("KV cache in use"), "percentunit"),
    "waiting": (msg("requests waiting"), "short"),
    "running_per_copy": (msg("requests running, one copy"), "short"),
    "preemptions_per_s": (msg("preemptions a second"), "short"),
    "ttft_s": (msg("time to first token, p95"), "s"),
    "tpot_s": (msg("time per output token, p95"), "s"),
    "prefix_hit_rate": (msg("prefix cache hits"), "percentunit"),
    "generated_per_s": (msg("output tokens a second"), "short"),
    "prompt_per_s": (msg("prompt tokens a second"), "short"),
}


def label(deployment: Deployment) -> str:
    """Both engines label every series with the served name."""
    return f'{{model_name="{deployment.served_name}"}}'


def watched(deployment: Deployment) -> list[Watched]:
    """Every curve whose metric this version reports, limits first."""
    if not deployment.metrics:
        raise UsageError(msg("the metric names of this engine version are not known"), msg("Take a version that `serveright facts engine` lists."))
    limits = {bound.name: bound for bound in deployment.bounds}
    queries = _queries(deployment)
    order = [*(name for name in limits if name in queries), *(name for name in queries if name not in limits)]
    return [Watched(key=name, title=TITLES[name][0], unit=TITLES[name][1], query=queries[name], bound=limits.get(name)) for name in order]


def in_flight(deployment: Deployment) -> str:
    """Requests running and waiting over all copies: the load that copies share."""
    here, names = label(deployment), deployment.metrics
    return f"sum({names['running']}{here}) + sum({names['waiting']}{here})"


def _queries(deployment: Deployment) -> dict[str, str]:
    here, names = label(deployment), deployment.metrics
    found = {
        "kv_usage": f"max({names['kv_usage']}{here})",
        "waiting": f"max({names['waiting']}{here})",
        "running_per_copy": f"max({names['running']}{here})",
        "ttft_s": _quantile(names["ttft"], here),
        "tpot_s": _quantile(names["tpot"], here),
        "generated_per_s": f"sum(rate({names['generated_tokens']}{here}[{WINDOW}]))",
        "prompt_per_s": f"sum(rate({names['prompt_tokens']}{here}[{WINDOW}]))",
    }
    if "preemptions" in names:
        found["preemptions_per_s"] = f"sum(rate({names['preemptions']}{here}[{WINDOW}]))"
    if "prefix_hits" in names:
        found["prefix_hit_rate"] = f"sum(rate({names['prefix_hits']}{here}[{WINDOW}])) / sum(rate({names['prefix_queries']}{here}[{WINDOW}]))"
    elif "hit_rate" in names:
        found["prefix_hit_rate"] = f"avg({names['hit_rate']}{here})"
    return found


def _quantile(metric: str, here: str) -> str:
    return f"histogram_quantile(0.95, sum by (le) (rate({metric}_bucket{here}[{WINDOW}])))"


def per_copy(deployment: Deployment) -> float:
    """Requests in flight that one copy was planned for. Raises UsageError where the plan does not say."""
    bound = next((bound for bound in deployment.bounds if bound.name == "running_per_copy"), None)
    if bound is None:
        raise UsageError(msg("scaling needs to know how many requests one copy was planned for"), msg("Plan with --concurrency or --rate."))
    return bound.value


def target(deployment: Deployment) -> dict[str, str]:
    """What is scaled: the Deployment of a copy on one node, the LeaderWorkerSet of a copy on several."""
    suffix = f"-{deployment.role.name}" if deployment.disaggregated else ""
    name = f"{deployment.name}{suffix}"
    if deployment.role.nodes > 1:
        return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
