"""Each probe against a server that does it right and one that does not; measure against a server whose truth is known."""

import json
import threading
from typing import Any

import pytest

from serveright.api.diagnosing import Bundle, diagnose
from serveright.api.measuring import measure
from serveright.errors import NetworkError
from serveright.outputs.json import encode
from serveright.outputs.text import Options
from serveright.outputs.text import document as text
from serveright.outputs.views.measure import document
from serveright.probes import image, near_limit, prefix, schema, thinking, tool_call
from serveright.probes.client import Server
from tests.probes.fake import BLOCK, BLOCKS, FIXED, Fake, said, serve

CALL = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}


def right(request: dict[str, Any]) -> dict[str, Any] | tuple[int, str]:
    if "tools" in request:
        return said("", tool_calls=[CALL])
    return said('{"sum": 42}' if "response_format" in request else "42", reasoning_content="17 + 25")


def wrong(request: dict[str, Any]) -> dict[str, Any] | tuple[int, str]:
    if isinstance(request["messages"][0]["content"], list):
        return 400, "images are not supported"
    return said('17 + 25</think>42 <tool_call>{"name": "get_weather"}</tool_call>' if "tools" in request else "17 + 25</think>42")


def test_a_server_that_does_it_right() -> None:
    with serve(Fake(right)) as url:
        server = Server(url)
        results = [tool_call.run(server), thinking.run(server), schema.run(server), image.run(server), near_limit.run(server), *prefix.run(server, BLOCK)]
    assert [result.verdict for result in results] == ["good"] * 7


def test_a_server_that_does_not() -> None:
    with serve(Fake(wrong, cached=False)) as url:
        server = Server(url)
        signs = [probe.run(server).sign for probe in (tool_call, thinking, schema, image)] + [one.sign for one in prefix.run(server, BLOCK)]
    assert signs == ["probe:tools_unparsed", "probe:thinking_leaks", "probe:schema_broken", None, "probe:prefix_not_cached", None]


def test_a_call_inside_the_reasoning_and_a_refusal() -> None:
    with serve(Fake(lambda _: said("", reasoning_content="<tool_call>x"))) as url:
        assert tool_call.run(Server(url)).sign == "probe:call_in_reasoning"
    with serve(Fake(lambda _: (400, '"auto" tool choice requires --enable-auto-tool-choice'))) as url:
        assert tool_call.run(Server(url)).sign == "probe:tools_unparsed"
    with pytest.raises(NetworkError):
        Server("http://127.0.0.1:9")


def test_probes_feed_the_diagnosis_and_say_what_they_send() -> None:
    told: list[str] = []
    with serve(Fake(wrong)) as url:
        report = diagnose(Bundle(url=url, probe=True, command="vllm serve Qwen/Qwen3-8B"), tell=lambda line: told.append(line.template))
    assert {cause.code for cause in report.causes[:3]} & {"PARSE01", "PARSE04"}
    assert told.count("sending {what}") == 7


def test_measure_finds_block_state_and_bytes_of_a_known_server() -> None:
    with serve(Fake(right)) as url:
        report = measure(url, model="no-such-model-anywhere", requests=2)
    assert report.block_tokens.measured == pytest.approx(BLOCK, rel=1 / 40)
    assert report.bytes_per_token.measured == pytest.approx(100, rel=1 / 40)
    assert report.state_bytes.measured == pytest.approx(FIXED * BLOCK * 100, rel=1 / FIXED)
    assert report.concurrency.measured == pytest.approx((BLOCKS - 1) / (4096 / BLOCK + FIXED), rel=0.05)
    assert report.agreement == "unknown"
    assert set(report.curves) == {"ttft", "tpot"}
    assert report.version == "0.33.0"
    for lang in ("en", "ko"):
        assert json.loads(encode(report, lang))["schema"] == "serveright.measure/1"
        assert text(document(report), Options(lang=lang, color=False, columns=0, explain=False))


def test_a_request_that_no_page_showed_is_sent_again() -> None:
    class Late(Fake):
        """Its page stands still while every other prompt is answered."""

        page = ""

        def metrics(self) -> str:
            if not self.page or len(self.seen) % 2 == 0:
                self.page = super().metrics()
            return self.page

    with serve(Late(right)) as url:
        report = measure(url, model="no-such-model-anywhere", requests=1)
    assert report.bytes_per_token.measured == pytest.approx(100, rel=1 / 40)


def test_measure_stops_when_told() -> None:
    stop = threading.Event()
    with serve(Fake(right)) as url:
        report = measure(url, model="no-such-model-anywhere", requests=64, tell=lambda _: stop.set(), stop=stop)
    assert report.interrupted
    assert len(report.samples) <= 1
