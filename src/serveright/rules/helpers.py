"""Small questions several rules ask of a context."""

from collections.abc import Iterator
from typing import TypedDict

from serveright.rules.context import Context, Hit
from serveright.types.command import GivenFlag
from serveright.types.report import Confidence, Edit, Severity
from serveright.types.text import Msg, msg

_ONE_FORMAT = {
    frozenset({"modelopt_fp4", "modelopt"}),
    frozenset({"awq", "awq_marlin"}),
    frozenset({"gptq", "gptq_marlin"}),
    frozenset({"mxfp4", "gpt_oss_mxfp4"}),
    frozenset({"fp8", "deepseek_v4_fp8"}),
}


def without(flag: GivenFlag | None, *, safe: bool = True) -> tuple[Edit, ...]:
    """The edit that deletes a flag."""
    return () if flag is None else (Edit(flag.written, None, safe),)


class _Axes(TypedDict, total=False):
    severity: Severity
    confidence: Confidence


def assumed(context: Context, kind: str, name: str) -> _Axes:
    """Milder axes where only the assumption of the newest release speaks against a name: the command states no version, and another release has it."""
    if context.command.engine_version is None and context.seen(context.command.engine, kind, name) is not None:
        return {"severity": "warning", "confidence": "likely"}
    return {}


def set_flag(name: str, value: str, *, safe: bool = True) -> tuple[Edit, ...]:
    """The edit that gives a flag a value, added where it is absent."""
    return (Edit(name, value, safe),)


def gpu_name(context: Context) -> str:
    """The GPU with its capability, for sentences."""
    if context.gpu is None:
        return "?"
    return f"{context.gpu.name} (sm_{context.sm})" if context.sm else context.gpu.name


def defect_hits(context: Context, rule: str, severity: Severity | None = None) -> Iterator[Hit]:
    """A hit for every known defect of this release that the rule reports."""
    for defect in context.defects(rule):
        why = (
            msg("a fault of this release, not of the flags: changing them cannot help (version bounds read from dates)")
            if defect.approximate
            else msg("a fault of this release, not of the flags: changing them cannot help")
        )
        yield Hit(
            message=msg("{engine} {version}: {what}", engine=context.command.engine, version=context.version, what=defect.what),
            why=why,
            fix=msg("Move to: {fix}", fix=defect.fixed_by),
            flag=defect.flag,
            severity=severity,
            confidence="likely" if defect.approximate else "certain",
            sources=(defect.source,),
        )


def divisors(number: int, up_to: int) -> list[int]:
    """The divisors of a number that are at most `up_to`."""
    return [candidate for candidate in range(1, up_to + 1) if number % candidate == 0]


def expert_widths(context: Context) -> frozenset[int]:
    """Widths of routed experts."""
    return frozenset(ffn.intermediate for ffn in context.moe)


def shared_widths(context: Context) -> frozenset[int]:
    """Widths of shared experts, as they are split: all shared experts of a layer together."""
    return frozenset(ffn.shared_intermediate for ffn in context.moe if ffn.shared_intermediate)


def dense_widths(context: Context) -> frozenset[int]:
    """Widths of dense feed-forward blocks."""
    return frozenset() if context.shape is None else frozenset(ffn.intermediate for layer in context.shape.layers for ffn in layer.ffns if ffn.kind == "dense")


def per_gpu_weights(context: Context) -> int | None:
    """Bytes of weights on one GPU as the engine splits them; None where not sized."""
    return None if context.sized is None else context.sized.memory.weights_bytes


def prefix_on(context: Context) -> bool:
    """Whether prefix caching is on, the version's default counted."""
    return "prefix_cache" in context.features


def forced_backend(context: Context) -> GivenFlag | None:
    """The flag that forces an attention backend, `--attention-config.backend` too."""
    return context.flag("--attention-backend") or next(
        (flag for flag in context.flags("--attention-config") if "backend" in (flag.value or "") or flag.written.endswith("backend")), None
    )


def attention_name(context: Context) -> str:
    """What the attention of this model is called, for sentences."""
    if context.dsa:
        return "DSA"
    if context.compressed:
        return "DeepSeek-V4"
    return "MLA" if context.latent else "GQA"


def repeats(asked: str, method: str) -> bool:
    """Whether a `--quantization` word only says what the checkpoint's config says as `method`."""
    asked, own = (word.lower().replace("-", "_") for word in (asked, method))
    return any({asked, own} <= group for group in _ONE_FORMAT) or asked.startswith(own) or own.startswith(asked)


def leave_share_out(context: Context, otherwise: Msg) -> Msg:
    """The advice about SGLang's --mem-fraction-static: leaving it out helps only where SGLang's own share leaves a cache."""
    default = context.what_if(mem_fraction=None)
    if default is None or default.memory.kv_pool_bytes > 0:
        return otherwise
    return msg("Lower --chunked-prefill-size too: SGLang's own share sets 1.5 MiB aside for each of its tokens, and would leave no cache here.")
