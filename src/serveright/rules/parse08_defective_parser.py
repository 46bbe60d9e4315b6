"""The right parser in a release where it is broken.

## What it catches
Parser and version pairs with a known defect (glm47 on 0.13, qwen3_xml when it was new, gemma4 0.19.0 and 0.26.0, mistral before 0.20).

## Why it matters
The flag is right, so people change flags; only another release helps.

## Example
`--tool-call-parser glm47` on vLLM 0.13: calls without arguments throw inside the parser.

## Fix
Move to the release named, or use the workaround named.

## Versions
As listed in the finding.

## Sources
facts/defects.toml, with the thread of each entry
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good

CODE = "PARSE08"
NAME = "defective-parser"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve zai-org/GLM-4.7 --enable-auto-tool-choice --tool-call-parser glm47", version="0.13.0"),
    good("vllm serve zai-org/GLM-4.7 --enable-auto-tool-choice --tool-call-parser glm47", version="0.33.0"),
)


def check(context: Context) -> Iterator[Hit]:
    """Known defects of this release."""
    yield from defect_hits(context, "PARSE08")
