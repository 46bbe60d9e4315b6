"""Does a tool call come back parsed?"""

from serveright.probes.client import Server
from serveright.types.diagnosis import ProbeResult
from serveright.types.text import msg

SENDS = msg("one chat request with one tool and the wish to use it")
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
MARKS = ("<tool_call", "<function=", "[TOOL_CALLS]", "<|tool", "<｜tool", '"name": "get_weather"', "<invoke", "functions.get_weather")


def run(server: Server) -> ProbeResult:
    """Bad: the call stays in the text, is refused, or hides in the reasoning."""
    answer = server.chat([{"role": "user", "content": "What is the weather in Seoul? Use the tool."}], max_tokens=256, tools=[TOOL], tool_choice="auto")
    if answer.status != 200:
        sign = "probe:tools_unparsed" if "tool" in answer.error.lower() else None
        return ProbeResult(name="tool_call", sent=SENDS, verdict="bad", text=msg("refused: {words}", words=answer.error[:200]), sign=sign)
    if answer.tool_calls:
        return ProbeResult(name="tool_call", sent=SENDS, verdict="good", text=msg("the call came back parsed"))
    if any(mark in answer.text for mark in MARKS):
        return ProbeResult(name="tool_call", sent=SENDS, verdict="bad", text=msg("the call stayed in the text"), sign="probe:tools_unparsed")
    if any(mark in answer.reasoning for mark in MARKS):
        return ProbeResult(name="tool_call", sent=SENDS, verdict="bad", text=msg("the call is inside the reasoning"), sign="probe:call_in_reasoning")
    return ProbeResult(name="tool_call", sent=SENDS, verdict="unknown", text=msg("the model did not call"))
