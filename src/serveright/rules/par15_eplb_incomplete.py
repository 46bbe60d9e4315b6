"""Expert load balancing is asked for without what it needs.

## What it catches
`--enable-eplb` without expert parallelism, redundant experts without `--enable-eplb`, an asynchronous policy that is not the default one.

## Why it matters
The engine refuses with an assertion, after the weights were read in some releases.

## Example
`--enable-eplb` with plain tensor parallelism.

## Fix
Give `--enable-expert-parallel` (SGLang: `--ep-size`) as well.

## Versions
vLLM since 0.9.2, SGLang since 0.4.7.

## Sources
vLLM config/parallel.py: "enable_expert_parallel must be True to use EPLB"; SGLang arg_groups: EPLB asserts ep_size > 1
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.registry import bad, good
from serveright.types.report import Edit
from serveright.types.text import msg

CODE = "PAR15"
NAME = "eplb-incomplete"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --enable-eplb"),
    good("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --enable-expert-parallel --enable-eplb"),
)


def check(context: Context) -> Iterator[Hit]:
    """EPLB's own conditions."""
    redundant = context.json("--eplb-config").get("num_redundant_experts") if context.vllm else context.integer("--ep-num-redundant-experts")
    if context.on("--enable-eplb") and context.layout.ep == 1:
        yield Hit(
            message=msg("--enable-eplb without expert parallelism"),
            why=msg("there are no whole experts to move: the engine refuses"),
            fix=msg("Add --enable-expert-parallel.") if context.vllm else msg("Add --ep-size {tp}.", tp=context.tp_flag),
            flag="--enable-eplb",
            edits=(Edit("--enable-expert-parallel", "", safe=False),) if context.vllm else (Edit("--ep-size", str(context.tp_flag), safe=False),),
        )
    elif redundant and not context.on("--enable-eplb") and context.vllm:
        yield Hit(
            message=msg("num_redundant_experts is set but EPLB is off"),
            why=msg("vLLM refuses redundant experts without EPLB"),
            fix=msg("Add --enable-eplb or drop the key."),
            flag="--eplb-config",
            edits=(Edit("--enable-eplb", "", safe=False),),
        )
