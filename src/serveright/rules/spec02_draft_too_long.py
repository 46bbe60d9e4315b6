"""More tokens are drafted than the model's heads were made for.

## What it catches
Multi-token prediction with more than three drafted tokens on one prediction layer, or a number the layers do not divide.

## Why it matters
Later positions are hardly ever accepted; some releases crash in the sparse decode kernel. A checkpoint without prediction layers cannot draft at all.

## Example
`num_speculative_tokens` 13 with one MTP layer.

## Fix
1 to 3; 1 on a fine-tuned backbone with its old head.

## Versions
vLLM 0.13 to 0.16: at most 1 on DSA models on Hopper.

## Sources
vLLM config/speculative.py; github.com/vllm-project/vllm-ascend/issues/9290; github.com/vllm-project/vllm/issues/31845
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.eng01_engine_refuses import says_none
from serveright.rules.helpers import defect_hits
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "SPEC02"
NAME = "draft-too-long"
SEVERITY = "warning"
EFFECT = "slow"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = (
    bad('vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --speculative-config \'{"method":"mtp","num_speculative_tokens":8}\''),
    good('vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --speculative-config \'{"method":"mtp","num_speculative_tokens":1}\''),
)


def check(context: Context) -> Iterator[Hit]:
    """Drafted tokens against prediction layers."""
    yield from defect_hits(context, "SPEC02")
    speculation = context.speculation
    shape = context.shape
    if speculation is None or shape is None:
        return
    method, tokens = speculation
    own = method.lower().endswith("mtp") or method.upper() in ("NEXTN", "EAGLE")
    draft = context.json("--speculative-config").get("model") or context.has("--speculative-draft-model-path")
    flag = "--speculative-config" if context.vllm else "--speculative-num-draft-tokens"
    if not own or draft:
        return
    if shape.mtp_layers == 0 and method.lower().endswith("mtp") and says_none(context):
        yield Hit(
            message=msg("this checkpoint has no prediction layers to draft with"),
            why=msg("the config names none; the start fails"),
            fix=msg("Drop speculation, or name a draft model."),
            flag=flag,
            effect="crash",
            confidence="likely",
        )
    elif shape.mtp_layers == 1 and tokens > 3:
        yield Hit(
            message=msg("{tokens} drafted tokens from one prediction layer", tokens=tokens),
            why=msg("one layer is run again for every position; from the third on little is accepted"),
            fix=msg("Draft 1 to 3 tokens."),
            flag=flag,
            severity=None if tokens > 5 else "note",
        )
    elif shape.mtp_layers > 1 and tokens > shape.mtp_layers and tokens % shape.mtp_layers and context.vllm:
        yield Hit(
            message=msg("{tokens} drafted tokens do not divide by {layers} prediction layers", tokens=tokens, layers=shape.mtp_layers),
            why=msg("vLLM refuses a number beyond the layers that is no multiple of them"),
            fix=msg("Use {layers} or a multiple.", layers=shape.mtp_layers),
            flag=flag,
            severity="error",
            effect="crash",
        )
