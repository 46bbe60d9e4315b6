"""A real server under known requests agrees with the derivation and with its own log."""

import pytest

from serveright.api.diagnosing import Bundle, diagnose, gather
from serveright.api.measuring import measure
from serveright.readers.metrics import read_metrics
from tests.engine.server import Server

pytestmark = pytest.mark.engine


def test_measure_agrees_with_derivation_and_log(server: Server) -> None:
    report = measure(server.url, model=server.arguments[0], requests=4, seconds=120)
    log = gather(Bundle(logs=(str(server.log),))).logs[0]
    reported = log.facts["kv_tokens"].numbers["tokens"]
    print(report.bytes_per_token, report.state_bytes, report.block_tokens, report.capacity_tokens, report.concurrency, reported)
    block = report.block_tokens.derived
    assert block is not None
    assert report.capacity_tokens.reported == reported
    assert report.capacity_tokens.derived == pytest.approx(float(reported), abs=block)
    assert report.bytes_per_token.measured is not None
    assert report.bytes_per_token.derived is not None
    step = block / 4096
    assert report.bytes_per_token.measured == pytest.approx(report.bytes_per_token.derived, rel=step)
    assert report.agreement == "agrees"
    assert not any(sample.failed for sample in report.samples)
    if report.state_bytes.derived is not None:
        block_bytes = block * report.bytes_per_token.derived
        assert report.state_bytes.measured == pytest.approx(report.state_bytes.derived, abs=block_bytes)


def test_healthy_server_shows_no_fault_of_its_own(server: Server) -> None:
    report = diagnose(Bundle(logs=(str(server.log),), metrics=(server.url,)))
    assert report.engine == "vllm"
    assert {cause.code for cause in report.causes if cause.likelihood > 0.5} <= {"PERF01"}  # it was started with --enforce-eager


def test_the_probe_sees_whether_prefixes_are_kept(server: Server) -> None:
    """On the CPU the engine turns prefix caching off for latent attention: then nothing may come from the cache."""
    from serveright.probes.client import Server as Client
    from serveright.probes.prefix import run

    info = read_metrics(server.url).info
    cached, _ = run(Client(server.url), float(info["effective_attention_block_size"]))
    assert cached.verdict == ("good" if info["enable_prefix_caching"] == "True" else "bad"), cached.text
