"""The cache of a sparse-attention model: what a forced precision means here.

## What it catches
A DSA model (DeepSeek-V3.2, GLM-5) with `--kv-cache-dtype`, or on a GPU whose default differs from its neighbour's.

## Why it matters
The engines choose rows by GPU: 1152 bytes in bf16, 656 bytes in packed fp8, 576 bytes in plain fp8, 132 more for an indexer key. A forced precision changes rows, kernels and capacity
at once, and the same command holds another number of tokens on another GPU.

## Example
GLM-5.2 in SGLang: bf16 on H200, fp8 on B200 by default; `fp8_e4m3` forced on H200 gives 656-byte rows and flashmla_kv, not 576.

## Fix
Leave it out; set it only when comparing GPUs.

## Versions
vLLM 0.12 and later: auto is bf16 on Hopper; GLM is fp8 on sm_10x. SGLang since 0.5.5.

## Sources
vLLM 0.33.0 layers/attention/mla_attention.py, models/config.py; SGLang 0.5.23 arg_groups/overrides.py, mem_cache/kv_cache_configurator.py
"""

from collections.abc import Iterator

from serveright.rules.context import Context, Hit
from serveright.rules.helpers import without
from serveright.rules.registry import bad, good
from serveright.types.engine import Sized
from serveright.types.text import Msg, msg

CODE = "KV05"
NAME = "dsa-rows"
SEVERITY = "note"
EFFECT = "capacity"
CONFIDENCE = "certain"
SINCE = "0.1"
EXAMPLES = (
    bad("python -m sglang.launch_server --model-path zai-org/GLM-5.2 --tp 8 --kv-cache-dtype fp8_e4m3", gpu="8xh200"),
    good("python -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 8", gpu="8xh200"),
)


def check(context: Context) -> Iterator[Hit]:
    """The rows as written and as left to the engine, with figures where sizing is possible."""
    if not context.dsa:
        return
    given = context.value("--kv-cache-dtype")
    now, default = context.sized, context.what_if(kv_dtype=None)
    if given is None or given == "auto":
        yield Hit(
            message=_rows(now)
            if now is not None
            else msg("the cache precision of DSA is chosen by GPU: bf16 rows of 1152 bytes on Hopper, fp8 rows on data-centre Blackwell"),
            why=msg("the same command holds another number of tokens on another GPU; indexer keys add 132 bytes where a layer owns one"),
            fix=msg("Leave it; set it only when comparing GPUs."),
            confidence=None if now is not None else "likely",
        )
        return
    why = msg("a forced precision changes the row (1152, 656 or 576 bytes), the kernels and the capacity at once")
    if now is not None and default is not None and now.capacity.tokens and default.capacity.tokens:
        why = msg(
            "{now} against {default} left alone; {a:n} against {b:n} tokens",
            now=_rows(now),
            default=_rows(default),
            a=now.capacity.tokens,
            b=default.capacity.tokens,
        )
    elif now is not None and default is not None:
        why = msg("{now} against {default} left alone", now=_rows(now), default=_rows(default))
    yield Hit(
        message=msg("--kv-cache-dtype {value} is forced on a DSA model", value=given),
        why=why,
        fix=msg("Remove it unless a measurement wanted it."),
        flag="--kv-cache-dtype",
        edits=without(context.flag("--kv-cache-dtype"), safe=False),
    )


def _rows(sized: Sized) -> Msg:
    resolved = sized.resolved
    kernels = resolved.indexer if resolved.indexer and "/" in resolved.indexer else f"{resolved.attention_prefill}/{resolved.attention_decode}"
    return msg(
        "{layout}: {bytes:n} bytes a token over all layers, kernels {kernels} (prefill/decode)",
        layout=sized.layout.name,
        bytes=round(sized.layout.stored_bytes_per_token),
        kernels=kernels,
    )
