"""The context is stretched by switch or override without the rope that belongs to it.

## What it catches
`VLLM_ALLOW_LONG_MAX_MODEL_LEN=1` without a rope override; rope overrides at the top level of a config whose text model is nested.

## Why it matters
Positions are wrong: text degrades silently. An override in the wrong nest is dropped without a word; static YaRN also hurts short text.

## Example
`--hf-overrides '{"rope_scaling": {...}}'` for a multimodal model with `text_config`.

## Fix
`--hf-overrides '{"text_config": {"rope_parameters": {...}}}'`.

## Versions
vLLM; `--rope-scaling` left in 0.11.1.

## Sources
github.com/ls1intum/edutelligence/issues/744; vLLM config/model.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "OVR05"
NAME = "context-stretched"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve Qwen/Qwen3-8B --max-model-len 131072"),
    good("vllm serve Qwen/Qwen3-8B --max-model-len 32768"),
)
_ROPE = ("rope_scaling", "rope_parameters", "rope_theta", "max_position_embeddings")


def check(context: Context) -> Iterator[Hit]:
    """The switch alone; the override in the wrong place."""
    name = "--hf-overrides" if context.vllm else "--json-model-override-args"
    overrides = context.json(name)
    top = [key for key in _ROPE if key in overrides]
    nested = context.facts.files is not None and isinstance(context.facts.files.config.get("text_config"), dict)
    if top and nested:
        yield Hit(
            message=msg("{keys} at the top level of a config whose text model is nested", keys=", ".join(top)),
            why=msg("the text model reads its own nest; this override is dropped without a word"),
            fix=msg("Put it inside text_config."),
            flag=name,
            effect="dead_flag",
        )
    elif top and context.shape is None:
        yield Hit(
            message=msg("{keys} at the top level", keys=", ".join(top)),
            why=msg("a config whose text model is nested drops it without a word"),
            fix=msg("Put it where the config holds its rope parameters."),
            flag=name,
            severity="note",
            confidence="possible",
        )
    inside = overrides.get("text_config")
    rope = bool(top) or (isinstance(inside, dict) and any(key in inside for key in _ROPE))
    asked = context.context_tokens
    most = context.shape.max_context_tokens if context.shape else None
    if context.env("VLLM_ALLOW_LONG_MAX_MODEL_LEN") == "1" and not rope and asked and (most is None or asked > most):
        yield Hit(
            message=msg("the length check is switched off and no rope override is given"),
            why=msg("positions beyond the trained ones turn text to noise"),
            fix=msg("Override rope_parameters for this length, or lower --max-model-len."),
            flag="--max-model-len",
            location=None if context.flag("--max-model-len") else context.command.env["VLLM_ALLOW_LONG_MAX_MODEL_LEN"].location,
            confidence=None if most else "possible",
        )
