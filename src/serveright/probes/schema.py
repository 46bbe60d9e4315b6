"""Does a JSON schema hold, and may the model still think?"""

import json

from serveright.probes.client import Server
from serveright.types.diagnosis import ProbeResult
from serveright.types.text import msg

SENDS = msg("one chat request with a JSON schema")
SCHEMA = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"], "additionalProperties": False}


def run(server: Server) -> ProbeResult:
    """Bad: refused, or the answer is no JSON of that shape."""
    answer = server.chat(
        [{"role": "user", "content": "What is 17 + 25? Answer as JSON."}],
        max_tokens=512,
        response_format={"type": "json_schema", "json_schema": {"name": "sum", "schema": SCHEMA}},
    )
    if answer.status != 200:
        return ProbeResult(name="schema", sent=SENDS, verdict="bad", text=msg("refused: {words}", words=answer.error[:200]))
    try:
        fits = isinstance(json.loads(answer.text).get("sum"), int)
    except (ValueError, AttributeError):
        fits = False
    if fits:
        return ProbeResult(name="schema", sent=SENDS, verdict="good", text=msg("the answer keeps the schema"))
    if answer.finish == "length":
        return ProbeResult(name="schema", sent=SENDS, verdict="unknown", text=msg("the answer was cut off before it ended"))
    return ProbeResult(name="schema", sent=SENDS, verdict="bad", text=msg("the answer is not of that schema"), sign="probe:schema_broken")
