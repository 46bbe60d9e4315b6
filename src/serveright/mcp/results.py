"""Reports as tool results: structured content under the published schema, and the same in short words."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from msgspec import Struct
from pydantic import RootModel

from serveright.errors import UserError
from serveright.outputs import json, markdown
from serveright.outputs.language import render
from serveright.types.document import Document

P = ParamSpec("P")
SHORT = 6000
"""Characters of text beside the structured result: enough to answer from, small enough for a context."""


def result(report: Struct, document: Document) -> CallToolResult:
    """A report for an agent."""
    text = markdown.document(document, "en")
    if len(text) > SHORT:
        text = text[:SHORT].rpartition("\n")[0] + "\n\n(shortened: the structured content holds everything)"
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=json.plain(report, "en"))


Result = Annotated[CallToolResult, RootModel[dict[str, Any]]]
"""What every tool returns: structured content is one report as plain data."""


def published(tool: Callable[..., CallToolResult], title: str, reports: tuple[type, ...], annotations: ToolAnnotations) -> Tool:
    """The tool with the JSON Schema of its reports, the same that `serveright schema` prints."""
    made = Tool.from_function(tool, title=title, annotations=annotations, structured_output=True)
    schema = {"type": "object", **json.schema(*reports)}
    return made.model_copy(update={"fn_metadata": made.fn_metadata.model_copy(update={"output_schema": schema})})


def answers(tool: Callable[P, CallToolResult]) -> Callable[P, CallToolResult]:
    """A mistake the agent can mend becomes a tool error that says how."""

    @wraps(tool)
    def safe(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            return tool(*args, **kwargs)
        except UserError as error:
            raise ToolError(words(error)) from error

    return safe


ARGUMENTS = {
    "concurrency": "concurrency", "rate": "concurrency", "input-tokens": "input_tokens", "output-tokens": "output_tokens", "context": "context_tokens",
    "ttft": "ttft_target_s", "tpot": "tpot_target_s", "gpu": "gpu", "gpus": "gpu", "engine": "engine", "model": "model", "log": "log", "metrics": "metrics",
    "command": "command", "symptom": "symptom", "objective": "objective", "topic": "topic",
}  # fmt: skip
"""Options of the command line -> arguments of the tools, which ask for the same."""
_OPTION = re.compile(rf"--({'|'.join(ARGUMENTS)})(?![\w-])")


def words(error: UserError) -> str:
    """What is wrong, and the way out, in the names of the tools' arguments."""
    fix = f" {render(error.fix, 'en')}" if error.fix else ""
    return _OPTION.sub(lambda match: ARGUMENTS[match[1]], f"{render(error.message, 'en')}.{fix}")
