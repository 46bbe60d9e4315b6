"""An fp8 cache without calibrated scales.

## What it catches
`--kv-cache-dtype fp8...` where the checkpoint declares no cache precision of its own; `--calculate-kv-scales` on a hybrid, which the engine ignores.

## Why it matters
Scale 1.0 is used: harmless on some models, collapse on others (one write-up: Qwen2.5-7B at 23 % in a multiple-choice test). Nothing fails.

## Example
`--kv-cache-dtype fp8_e4m3` with a checkpoint that quantises weights only.

## Fix
`auto`, or a checkpoint with scales; always compare answers at 1k and 32k tokens.

## Versions
All. `--calculate-kv-scales` left vLLM in 0.28.

## Sources
github.com/sgl-project/sgl-cookbook/pull/237; github.com/noonghunna/club-3090/pull/594; vLLM logs "Using KV cache scaling factor 1.0 for fp8_e4m3"
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "KV01"
NAME = "fp8-without-scales"
SEVERITY = "warning"
EFFECT = "wrong_output"
CONFIDENCE = "possible"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve Qwen/Qwen3-32B --kv-cache-dtype fp8", gpu="1xh200"),
    good("vllm serve Qwen/Qwen3-32B", gpu="1xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """The flag against what the checkpoint declares; models that force fp8 rows themselves are left out."""
    if context.on("--calculate-kv-scales") and context.hybrid:
        yield Hit(
            message=msg("--calculate-kv-scales is ignored on a hybrid model"),
            why=msg("the calibration pass meets uninitialised recurrent states; the scale stays 1.0"),
            fix=msg("Remove it and measure quality with scale 1.0, or take a checkpoint with scales."),
            flag="--calculate-kv-scales",
            edits=without(context.flag("--calculate-kv-scales")),
            effect="dead_flag",
            confidence="certain",
        )
    given = context.value("--kv-cache-dtype")
    if given is None or not given.startswith("fp8") or context.compressed or given == "fp8_ds_mla":
        return
    if context.checkpoint is not None and context.checkpoint.kv_dtype:
        return
    if context.dsa:
        return
    yield Hit(
        message=msg("--kv-cache-dtype {value}, and the checkpoint holds no cache scales", value=given)
        if context.checkpoint is not None
        else msg("--kv-cache-dtype {value}: with a checkpoint that holds no cache scales, scale 1.0 is used", value=given),
        why=msg("scale 1.0 halves the memory and costs nothing on some models, much on others; nothing is reported"),
        fix=msg("Use auto or a checkpoint with scales; or compare answers at 1k and 32k tokens first."),
        flag="--kv-cache-dtype",
        edits=without(context.flag("--kv-cache-dtype"), safe=False),
    )
