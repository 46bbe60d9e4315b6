"""Metrics pages of both engines, of strangers, of nobody."""

import json
from pathlib import Path

import pytest

from serveright.analysis.evidence import growth, scrape_signs
from serveright.errors import InputError, NetworkError
from serveright.readers.metrics import parse_metrics, read_metrics
from serveright.readers.prometheus import read_scrapes
from serveright.types.diagnosis import Scrape

PAGE = (Path(__file__).parent / "vllm_0_32_0.metrics").read_text()
"""Recorded from vLLM 0.32.0."""
SGLANG = """# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="m",dp_rank="0"} 40.0
sglang:num_running_reqs{model_name="m",dp_rank="1"} 0.0
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{model_name="m",dp_rank="0"} 11.0
sglang:num_queue_reqs{model_name="m",dp_rank="1"} 0.0
# TYPE sglang:token_usage gauge
sglang:token_usage{model_name="m",dp_rank="0"} 0.35
# TYPE sglang:mamba_usage gauge
sglang:mamba_usage{model_name="m",dp_rank="0"} 0.8
"""


def signs(*pages: str) -> set[str]:
    return {sign.key for sign in scrape_signs([parse_metrics(page, "page") for page in pages])}


def test_a_recorded_page() -> None:
    page = parse_metrics(PAGE, "page")
    assert page.engine == "vllm"
    assert page.info["kv_cache_size_tokens"] == "524288"
    assert page.total["prefix_queries"] == 300
    assert signs(PAGE) == {"metrics:no_preemption", "metrics:prefix_on"}


def test_two_pages_give_rates_and_a_restart_begins_anew() -> None:
    later = PAGE.replace('num_preemptions_total{engine="0",model_name="/m"} 0.0', 'num_preemptions_total{engine="0",model_name="/m"} 7.0')
    assert later != PAGE
    assert "metrics:preempting" in signs(PAGE, later)
    assert growth([parse_metrics(later, "a"), parse_metrics(PAGE, "b")])["preemptions"] == 0


def test_one_request_with_undefined_logits_is_enough() -> None:
    assert "metrics:corrupted" in signs("# TYPE vllm:corrupted_requests_total counter\nvllm:corrupted_requests_total 1.0\n")
    assert "metrics:corrupted" not in signs("# TYPE vllm:corrupted_requests_total counter\nvllm:corrupted_requests_total 0.0\n")


def test_sglang_ranks_and_states() -> None:
    page = parse_metrics(SGLANG, "page")
    assert (page.engine, page.total["running"], page.ranks["1"]["waiting"]) == ("sglang", 40, 0)
    assert signs(SGLANG) == {"metrics:ranks_uneven", "metrics:state_pool_full"}


def test_pages_of_others() -> None:
    assert parse_metrics("# TYPE go_goroutines gauge\ngo_goroutines 12\n", "p").engine is None
    assert parse_metrics("", "p").engine is None
    for text in ("<html><body>404</body></html>", "vllm:x{ 3", "\x00\x01\x02 = ?"):
        with pytest.raises(InputError):
            parse_metrics(text, "p")


def test_dead_addresses_are_one_message(tmp_path: Path) -> None:
    for url in ("http://127.0.0.1:9/metrics", "http://127.0.0.1:1", "http://[::bad"):
        with pytest.raises(NetworkError):
            read_metrics(url, timeout_s=2)
    with pytest.raises(InputError):
        read_metrics(str(tmp_path / "absent"))


def test_a_prometheus_answer(tmp_path: Path) -> None:
    series = [
        {"metric": {"__name__": "vllm:num_preemptions_total", "engine": "0"}, "values": [[1, "0"], [61, "3"], [121, "9"]]},
        {"metric": {"__name__": "vllm:kv_cache_usage_perc", "engine": "0"}, "values": [[1, "0.2"], [61, "0.97"], [121, "0.99"]]},
    ]
    path = tmp_path / "range.json"
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}}))
    pages: tuple[Scrape, ...] = read_scrapes(str(path))
    assert [page.at for page in pages] == [1, 61, 121]
    assert {"metrics:preempting", "metrics:kv_full"} <= {sign.key for sign in scrape_signs(pages)}
    path.write_text('{"status":"error","resultType":"", "error":"bad"}')
    with pytest.raises(InputError):
        read_scrapes(str(path))
