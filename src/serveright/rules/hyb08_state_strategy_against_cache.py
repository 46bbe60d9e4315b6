"""SGLang's strategy for recurrent states does not go with the prefix cache asked for.

## What it catches
`--mamba-scheduler-strategy extra_buffer` with the radix cache off and no speculation; `no_buffer` with the radix cache on and speculation.

## Why it matters
Both are refused at start. The buffer exists only for the radix cache; without it, states at a draft's end are not there to share.

## Example
Qwen3.5 with `--speculative-algorithm EAGLE` in SGLang 0.5.10, whose default strategy is no_buffer.

## Fix
`extra_buffer` with `SGLANG_ENABLE_SPEC_V2=1` for speculation; leave the strategy out with `--disable-radix-cache`.

## Versions
SGLang 0.5.10 to 0.5.13. From 0.5.14 on the strategy is resolved by the engine, and what it still refuses is reported as such.

## Sources
SGLang 0.5.10 server_args.py; github.com/sgl-project/sglang/pull/19169, 22908
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.text import msg

CODE = "HYB08"
NAME = "state-strategy-against-cache"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad(
        "python -m sglang.launch_server --model-path Qwen/Qwen3.5-397B-A17B --tp 8 --disable-radix-cache --mamba-scheduler-strategy extra_buffer",
        version="0.5.10",
    ),
    bad("python -m sglang.launch_server --model-path Qwen/Qwen3.5-397B-A17B --tp 8 --speculative-algorithm EAGLE", version="0.5.10"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3.5-397B-A17B --tp 8", version="0.5.10"),
)
_FLAG = "--mamba-scheduler-strategy"


def check(context: Context) -> Iterator[Hit]:
    """The strategy against radix cache and speculation."""
    if context.vllm or not context.hybrid or context.amd or not context.between("0.5.10", "0.5.14"):
        return
    radix, speculation = not context.on("--disable-radix-cache"), context.speculation
    own = "auto" if context.since("0.5.11") else "no_buffer"
    strategy = context.value(_FLAG) or own
    if strategy == "extra_buffer" and not radix and speculation is None:
        yield Hit(
            message=msg("extra_buffer with the radix cache off"),
            why=msg("the buffer keeps states for the radix cache alone: SGLang refuses it here"),
            fix=msg("Remove {flag}.", flag=_FLAG),
            flag=_FLAG,
            edits=without(context.flag(_FLAG), safe=False),
        )
    if strategy == "no_buffer" and radix and speculation is not None:
        yield Hit(
            message=msg("speculation with the radix cache and no_buffer"),
            why=msg("SGLang {version} refuses the pair: no state is kept where a draft ends", version=context.version),
            fix=msg("Use --mamba-scheduler-strategy extra_buffer with SGLANG_ENABLE_SPEC_V2=1, or --disable-radix-cache."),
            flag=_FLAG if context.has(_FLAG) else "--speculative-algorithm",
        )
