"""Benchmark results of vLLM's and SGLang's own tools, of GuideLLM and of `measure`: the same figures for all."""

from typing import Any, cast

from msgspec import DecodeError, Struct
from msgspec.json import decode


class BenchPoint(Struct, frozen=True, kw_only=True):
    """One run. Seconds and rates; None where the result does not say. `random` True where prompts were random tokens."""

    tool: str
    concurrency: float | None = None
    requests: int | None = None
    failed: int | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    ttft_mean_s: float | None = None
    ttft_median_s: float | None = None
    tpot_s: float | None = None
    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    acceptance_length: float | None = None
    random: bool = False


def parse_benchmark(text: str) -> tuple[BenchPoint, ...]:
    """Points of a result file: one JSON object, JSON lines (SGLang appends), or GuideLLM's list of benchmarks. () where it is none."""
    found: list[BenchPoint] = []
    for piece in _objects(text):
        if isinstance(piece.get("benchmarks"), list):
            found.extend(_guidellm(one) for one in _dicts(piece["benchmarks"]))
        elif str(piece.get("schema", "")).startswith("serveright.measure/"):
            found.extend(_measured(one) for one in _dicts(piece.get("samples")))
        elif "mean_ttft_ms" in piece or "median_ttft_ms" in piece:
            found.append(_engine_tool(piece))
    return tuple(found)


def _dicts(value: object) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", one) for one in cast("list[object]", value) if isinstance(one, dict)] if isinstance(value, list) else []


def _objects(text: str) -> list[dict[str, Any]]:
    try:
        whole: Any = decode(text)
        return [cast("dict[str, Any]", whole)] if isinstance(whole, dict) else []
    except DecodeError:
        pass
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            one: Any = decode(line)
        except DecodeError:
            return found
        if isinstance(one, dict):
            found.append(cast("dict[str, Any]", one))
    return found


def _engine_tool(run: dict[str, Any]) -> BenchPoint:
    requests = _number(run, "completed")
    asked = _number(run, "num_prompts")
    return BenchPoint(
        tool="sglang" if "accept_length" in run or "sharegpt_output_len" in run else "vllm",
        concurrency=_number(run, "max_concurrency") or _number(run, "concurrency"),
        requests=None if requests is None else int(requests),
        failed=None if requests is None or asked is None else int(asked - requests),
        input_tokens=_mean(run, "total_input_tokens", requests),
        output_tokens=_mean(run, "total_output_tokens", requests),
        ttft_mean_s=_ms(run, "mean_ttft_ms"),
        ttft_median_s=_ms(run, "median_ttft_ms"),
        tpot_s=_ms(run, "mean_tpot_ms") or _ms(run, "mean_itl_ms"),
        requests_per_s=_number(run, "request_throughput"),
        output_tokens_per_s=_number(run, "output_throughput"),
        acceptance_length=_number(run, "accept_length") or _number(run, "spec_decode_acceptance_length"),
        random=run.get("dataset_name") == "random" or "random_input_len" in run,
    )


def _measured(sample: dict[str, Any]) -> BenchPoint:
    """A rung of our own `measure`: all its requests start together, so its first tokens are those of a burst."""
    requests = _number(sample, "requests")
    return BenchPoint(
        tool="serveright",
        concurrency=requests,
        requests=None if requests is None else int(requests),
        input_tokens=_number(sample, "input_tokens"),
        output_tokens=_number(sample, "output_tokens"),
        tpot_s=_number(sample, "tpot_s") or None,
    )


def _guidellm(run: dict[str, Any]) -> BenchPoint:
    def mean(name: str, which: str = "mean") -> float | None:
        inside: Any = run
        for key in ("metrics", name, "successful"):
            inside = cast("dict[str, Any]", inside).get(key) if isinstance(inside, dict) else None
        return _number(cast("dict[str, Any]", inside), which) if isinstance(inside, dict) else None

    ttft, median, itl = mean("time_to_first_token_ms"), mean("time_to_first_token_ms", "median"), mean("inter_token_latency_ms")
    return BenchPoint(
        tool="guidellm",
        concurrency=mean("request_concurrency"),
        input_tokens=mean("prompt_token_count"),
        output_tokens=mean("output_token_count"),
        ttft_mean_s=None if ttft is None else ttft / 1000,
        ttft_median_s=None if median is None else median / 1000,
        tpot_s=None if itl is None else itl / 1000,
        requests_per_s=mean("requests_per_second"),
        output_tokens_per_s=mean("output_tokens_per_second"),
    )


def _number(run: dict[str, Any], key: str) -> float | None:
    value = run.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _ms(run: dict[str, Any], key: str) -> float | None:
    value = _number(run, key)
    return None if value is None else value / 1000


def _mean(run: dict[str, Any], key: str, count: float | None) -> float | None:
    value = _number(run, key)
    return value / count if value is not None and count else None
