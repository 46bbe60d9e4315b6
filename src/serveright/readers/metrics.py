"""A `/metrics` page of vLLM or SGLang -> the same names for both; several pages -> rates. Pages of other products are recognised as such."""

from collections.abc import Iterator
from typing import NamedTuple

from serveright.catalog.own import read_own, refuse_utf16
from serveright.errors import InputError
from serveright.readers.http import fetch
from serveright.types.diagnosis import Scrape
from serveright.types.text import Msg, msg

MAX_BYTES = 32 << 20
COUNTERS = {
    "vllm:num_preemptions_total": "preemptions",
    "vllm:prefix_cache_queries_total": "prefix_queries",
    "vllm:prefix_cache_hits_total": "prefix_hits",
    "vllm:gpu_prefix_cache_queries_total": "prefix_queries",
    "vllm:gpu_prefix_cache_hits_total": "prefix_hits",
    "vllm:external_prefix_cache_queries_total": "external_queries",
    "vllm:external_prefix_cache_hits_total": "external_hits",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:spec_decode_num_drafts_total": "drafts",
    "vllm:spec_decode_num_draft_tokens_total": "draft_tokens",
    "vllm:spec_decode_num_accepted_tokens_total": "accepted_tokens",
    "vllm:corrupted_requests_total": "corrupted",
    "sglang:num_retracted_requests_total": "preemptions",
    "sglang:num_retracted_reqs": "preemptions",
    "sglang:prompt_tokens_total": "prompt_tokens",
    "sglang:cached_tokens_total": "prefix_hits",
    "sglang:generation_tokens_total": "generation_tokens",
}
GAUGES = {
    "vllm:num_requests_running": "running",
    "vllm:num_requests_waiting": "waiting",
    "vllm:kv_cache_usage_perc": "kv_usage",
    "vllm:gpu_cache_usage_perc": "kv_usage",
    "sglang:num_running_reqs": "running",
    "sglang:num_queue_reqs": "waiting",
    "sglang:token_usage": "kv_usage",
    "sglang:full_token_usage": "full_usage",
    "sglang:mamba_usage": "state_usage",
    "sglang:cache_hit_rate": "hit_rate",
    "sglang:max_total_num_tokens": "capacity_tokens",
    "sglang:spec_accept_length": "acceptance_length",
    "sglang:spec_accept_rate": "acceptance_rate",
    "sglang:eplb_balancedness": "expert_balance",
    "sglang:gen_throughput": "generation_tokens_per_s",
}
SUMMED = frozenset({"running", "waiting", "waiting_capacity", "waiting_deferred", *COUNTERS.values(), "generation_tokens_per_s", "capacity_tokens"})
HISTOGRAMS = {
    "time_to_first_token_seconds": "ttft",
    "inter_token_latency_seconds": "itl",
    "time_per_output_token_seconds": "itl",
    "request_queue_time_seconds": "queue",
    "queue_time_seconds": "queue",
}


class _Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def read_metrics(where: str, timeout_s: float = 10) -> Scrape:
    """One page from a file, or from a URL (`/metrics` is added to a bare host). Raises InputError and NetworkError."""
    if where.startswith(("http://", "https://")):
        url = where if where.rstrip("/").count("/") > 2 else where.rstrip("/") + "/metrics"
        return parse_metrics(fetch(url, timeout_s, MAX_BYTES), url)
    raw = read_own(where, msg("Give a saved /metrics page or its URL."), MAX_BYTES)
    refuse_utf16(raw, where)
    return parse_metrics(raw.decode("utf-8", "replace"), where)


def parse_metrics(text: str, source: str, at: float | None = None) -> Scrape:
    """The text of a page. `engine` None where no name of either engine is on it. Raises InputError where it is no exposition at all."""
    try:
        samples = tuple(_samples(text))
    except (ValueError, KeyError, IndexError) as error:
        raise InputError(
            msg("{source} is not a Prometheus metrics page ({why})", source=source, why=_unreadable(text)), msg("Save the server's /metrics as it stands.")
        ) from error
    return scrape(samples, source, at)


def _unreadable(text: str) -> Msg:
    """The first line that is no sample."""
    for number, line in enumerate(text.split("\n"), 1):
        try:
            list(_samples(line + "\n"))
        except (ValueError, KeyError, IndexError):
            return msg("line {n}: {text}", n=number, text=line.strip()[:80])
    return msg("its lines contradict each other")


def scrape(samples: tuple[_Sample, ...], source: str, at: float | None) -> Scrape:
    """Engine-free names out of samples."""
    names = {sample.name.partition(":")[0] for sample in samples if ":" in sample.name}
    engine = next((name for name in ("vllm", "sglang") if name in names), None)
    ranks: dict[str, dict[str, float]] = {}
    info: dict[str, str] = {}
    for sample in samples:
        if sample.name == "vllm:cache_config_info":
            info |= sample.labels
        name = _name(sample)
        if name is None:
            continue
        rank = ranks.setdefault(sample.labels.get("engine") or sample.labels.get("dp_rank") or "0", {})
        shards = sample.labels.get("tp_rank") not in (None, "0")
        if not shards:
            rank[name] = rank.get(name, 0.0) + sample.value if name in SUMMED or name.endswith(("_sum", "_count")) else max(rank.get(name, 0.0), sample.value)
    return Scrape(source=source, engine=engine, at=at, total=_total(ranks), ranks=ranks, info=info)


def sample(name: str, labels: dict[str, str], value: float) -> _Sample:
    """One sample, for readers of other shapes."""
    return _Sample(name, labels, value)


def _name(sample: _Sample) -> str | None:
    if sample.name == "vllm:num_requests_waiting_by_reason":
        return f"waiting_{sample.labels.get('reason', 'other')}"
    known = COUNTERS.get(sample.name) or GAUGES.get(sample.name)
    if known is not None:
        return known
    _, _, bare = sample.name.partition(":")
    stem, _, end = bare.rpartition("_")
    return f"{HISTOGRAMS[stem]}_{end}" if end in ("sum", "count") and stem in HISTOGRAMS else None


def _total(ranks: dict[str, dict[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for values in ranks.values():
        for name, value in values.items():
            adds = name in SUMMED or name.endswith(("_sum", "_count"))
            total[name] = total.get(name, 0.0) + value if adds else max(total.get(name, 0.0), value)
    return total


def _samples(text: str) -> Iterator[_Sample]:
    from prometheus_client.parser import text_string_to_metric_families

    for family in text_string_to_metric_families(text):
        for one in family.samples:
            yield _Sample(one.name, dict(one.labels), float(one.value))
