"""The tools through the SDK's own client: in memory, over stdio, over HTTP."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conftest import ROOT

pytest.importorskip("mcp")

import anyio
import jsonschema
from mcp import Client, StdioServerParameters

from serveright.mcp.server import TOOLS, create

COMMAND = "from serveright.cli.main import main; main()"
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "LANG": "C.UTF-8", "HF_HUB_OFFLINE": "1"}


def session(target: Any, talk: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(target) as client:
            await talk(client)

    anyio.run(run)


def test_eight_tools_read_only_and_typed() -> None:
    async def talk(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [tool.__name__ for tool, _, _ in TOOLS]
        for tool in tools:
            assert tool.annotations is not None
            assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)
            assert tool.title
            assert tool.description
            assert tool.output_schema is not None
            assert "schema" in str(tool.output_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            for name, argument in tool.input_schema["properties"].items():
                assert argument.get("description"), (tool.name, name)

    session(create(), talk)


CALLS: dict[str, dict[str, Any]] = {
    "inspect_model": {"model": "Qwen/Qwen3.6-27B"},
    "check_hardware": {"model": "Qwen/Qwen3.6-27B", "gpu": "1xrtx-4090"},
    "plan_serving": {"model": "Qwen/Qwen3.6-27B", "gpu": "2xh200", "concurrency": 64},
    "audit_command": {"text": "vllm serve Qwen/Qwen3.6-27B -tp 3", "gpu": "4xh200"},
    "diagnose_server": {"log": "torch.OutOfMemoryError: CUDA out of memory.", "symptom": "it dies under load"},
    "compare_models": {"models": ["Qwen/Qwen3-8B", "Qwen/Qwen3-32B"], "gpus": ["2xh200"]},
    "choose_model": {"gpu": "1xrtx-3090", "needs": ["tools"], "concurrency": 4},
    "explain_topic": {"topic": "attention"},
}


def test_every_tool_answers_under_its_schema() -> None:
    async def talk(client: Client) -> None:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        assert set(schemas) == set(CALLS)
        for name, arguments in CALLS.items():
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer.content
            jsonschema.validate(answer.structured_content, schemas[name])
            text = answer.content[0].text  # pyright: ignore[reportAttributeAccessIssue]
            assert 40 < len(text) < 7000
            assert "/tmp/" not in str(answer.structured_content)

    session(create(), talk)


def test_a_pasted_config_needs_no_catalogue() -> None:
    async def talk(client: Client) -> None:
        config = (ROOT / "tests/data/qwen3_8b.json").read_text()
        answer = await client.call_tool("inspect_model", {"config_json": config})
        assert answer.structured_content is not None
        assert answer.structured_content["parameters"]["total"] == 8_190_735_360

    session(create(), talk)


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("inspect_model", {"model": "Qwen/Qwen3.6-27"}, "Did you mean"),
        ("inspect_model", {}, "config_json"),
        ("inspect_model", {"model": "/etc/passwd"}, "Unknown model"),
        ("inspect_model", {"config_json": "{"}, "ends too early"),
        ("plan_serving", {"model": "Qwen/Qwen3-8B", "gpu": "8xh20x"}, "Did you mean"),
        ("plan_serving", {"model": "Qwen/Qwen3-8B", "gpu": "own.toml"}, "Unknown GPU"),
        ("plan_serving", {"model": "Qwen/Qwen3-8B", "gpu": "1xh200", "concurrency": 0}, "greater than or equal to 1"),
        ("plan_serving", {"model": "Qwen/Qwen3-8B", "gpu": "1xh200", "objective": "fun"}, "'cost'"),
        ("plan_serving", {"model": "Qwen/Qwen3-8B", "gpu": "1xh200", "engine": "tgi"}, "vllm"),
        ("plan_serving", {"model": "Qwen/Qwen3-8B", "gpu": "1xh200", "context_tokens": 100}, "context_tokens 100 is shorter"),
        ("audit_command", {"text": "ls -la"}, "no vLLM or SGLang start"),
        ("diagnose_server", {}, "nothing to diagnose"),
        ("explain_topic", {"topic": "attenton"}, "attention"),
    ],
)
def test_bad_arguments_get_a_message_to_act_on(tool: str, arguments: dict[str, Any], says: str) -> None:
    async def talk(client: Client) -> None:
        answer = await client.call_tool(tool, arguments)
        assert answer.is_error
        text: str = answer.content[0].text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        assert says in text
        assert "--" not in text, "an option of the command line is no argument of a tool"

    session(create(), talk)


def test_facts_are_resources() -> None:
    async def talk(client: Client) -> None:
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert uris == ["serveright://models", "serveright://gpus", "serveright://rules"]
        templates = [template.uri_template for template in (await client.list_resource_templates()).resource_templates]
        assert templates == ["serveright://gpu/{name}", "serveright://rule/{code}", "serveright://engine/{name}"]
        for uri, says in (
            ("serveright://gpu/h200-sxm", "memory_bytes"),
            ("serveright://rule/ENG01", "severity"),
            ("serveright://engine/vllm", "flags"),
            *((u, "{") for u in uris),
        ):
            content = (await client.read_resource(uri)).contents[0]
            assert content.mime_type == "application/json"
            assert says in content.text  # pyright: ignore[reportAttributeAccessIssue]

    session(create(), talk)


def test_an_unknown_fact_says_what_is_near() -> None:
    async def talk(client: Client) -> None:
        from mcp.shared.exceptions import MCPError

        with pytest.raises(MCPError, match="Did you mean"):
            await client.read_resource("serveright://gpu/h20x")

    session(create(), talk)


async def short_talk(client: Client) -> None:
    assert len((await client.list_tools()).tools) == len(TOOLS)
    answer = await client.call_tool("check_hardware", {"model": "Qwen/Qwen3-8B", "gpu": "1xh200"})
    assert answer.structured_content is not None
    assert answer.structured_content["engines"][0]["verdict"] == "best"
    assert (await client.call_tool("check_hardware", {"model": "Qwen/Qwen3-8B", "gpu": "x"})).is_error


def test_over_stdio() -> None:
    session(StdioServerParameters(command=sys.executable, args=["-c", COMMAND, "mcp"], env=ENVIRONMENT), short_talk)


def test_over_http() -> None:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", COMMAND, "mcp", "--http", "--port", str(port)], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        session(f"http://127.0.0.1:{port}/mcp", short_talk)
        foreign = urllib.request.Request(f"http://127.0.0.1:{port}/mcp", data=b"{}", headers={"host": "evil.example", "content-type": "application/json"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(foreign, timeout=30)
        refused.value.close()
        assert refused.value.code in (403, 421)
    finally:
        server.terminate()
        server.wait(30)
