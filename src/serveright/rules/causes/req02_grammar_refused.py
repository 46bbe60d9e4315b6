"""The structured-output backend cannot handle this schema or grammar."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="REQ02",
    title=msg("the structured-output backend cannot handle this schema or grammar"),
    why=msg("each backend knows a part of JSON Schema, regular expressions and grammars"),
    fix=(msg("Simplify the schema, or choose another backend (vLLM: --structured-outputs-config.backend; SGLang: --grammar-backend)."),),
    effect="wrong_output",
    speaks={
        "symptom:grammar_refused": 3,
        "log:refused_grammar": 4.5,
    },
    against={
        "derived:started": 1.2,
    },
)
