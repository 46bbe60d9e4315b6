"""DeepSeek sparse attention: page, KV dtype and the kernels of prefill and decode: arg_groups/overrides.py `_dsa_*`."""

from msgspec.structs import replace

from serveright.engines.sglang.args import Args, Situation, place
from serveright.engines.sglang.refuse import refuse
from serveright.types.text import msg

_ONLY = "DeepSeek DSA only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype"


def dsa_defaults(args: Args, at: Situation) -> Args:
    """Everything an indexer decides. Only for models SGLang takes as DSA."""
    if not at.seen.dsa:
        return args
    return _kernels(_kv_dtype(args, at), at)


def index_pool(at: Situation) -> int:
    """Tokens that share one index key (index_kpool)."""
    latent = at.seen.latent
    return latent.indexer.compress_ratio if latent and latent.indexer else 1


def _kv_dtype(args: Args, at: Situation) -> Args:
    sinks = at.behaviour.listed("learnable_sink", at.seen.architecture) and at.seen.sinks
    wanted = args.kv_dtype
    if sinks and wanted not in ("auto", "bf16", "bfloat16"):
        return refuse(
            args,
            "dsa-sinks-kv",
            f"Learnable DSA attention sinks require a bfloat16 KV cache; got kv_cache_dtype={wanted}.",
            msg("the sinks are kept in bfloat16 only"),
            "arg_groups/overrides.py:521",
        )
    rule = at.behaviour.dsa
    chosen = place(rule.kv_auto, at) if rule else None
    if chosen and (wanted == "auto" or (rule and rule.kv_forced)):
        wanted = "bfloat16" if sinks else chosen
        why = msg(
            "KV cache dtype {dtype}: the default for sparse latent attention on sm_{sm}; the checkpoint's own KV scheme is not asked",
            dtype=wanted,
            sm=at.device.sm,
        )
        args = replace(args, choices=(*args.choices, why))
    wanted = "bfloat16" if wanted == "bf16" else wanted
    if wanted not in ("bfloat16", "fp8_e4m3", "auto"):
        return refuse(
            args, "dsa-kv-dtype", _ONLY, msg("sparse latent attention has kernels for bfloat16 and fp8_e4m3 rows only"), "arg_groups/overrides.py:537"
        )
    return replace(args, kv_dtype=wanted)


def _kernels(args: Args, at: Situation) -> Args:
    prefill, decode = _kernel_defaults(args, at)
    chosen = (args.dsa_prefill or prefill, args.dsa_decode or decode)
    args = replace(args, dsa_prefill=chosen[0], dsa_decode=chosen[1])
    why = msg("sparse attention kernels for {dtype} rows: prefill {prefill}, decode {decode}", dtype=args.kv_dtype, prefill=chosen[0], decode=chosen[1])
    return _checks(replace(args, choices=(*args.choices, why)), at)


def _kernel_defaults(args: Args, at: Situation) -> tuple[str, str]:
    rule = at.behaviour.dsa
    if at.behaviour.listed("learnable_sink", at.seen.architecture) and at.seen.sinks:
        return "flashmla_sparse", "flashmla_sparse"
    if rule and rule.sm120_fp8 and at.seen.architecture in rule.sm120_fp8_architectures and at.device.at("sm120") and args.kv_dtype == "fp8_e4m3":
        return rule.sm120_fp8
    if at.device.hip:
        return "triton", "triton"
    if args.dcp > 1:
        return "trtllm", "trtllm"
    table = (rule.fp8 if args.kv_dtype == "fp8_e4m3" else rule.bf16) if rule else {}
    return place(table, at) or ("", "")


def _checks(args: Args, at: Situation) -> Args:
    chosen = {args.dsa_prefill, args.dsa_decode}
    if "triton" in chosen and not at.device.hip:
        return refuse(
            args, "dsa-triton", "The triton DSA backend is only supported on ROCm/HIP.", msg("that kernel exists for AMD only"), "arg_groups/overrides.py:562"
        )
    if at.device.hip or args.kv_dtype != "fp8_e4m3" or "tilelang" not in chosen:
        return args
    if chosen != {"tilelang"}:
        text = "CUDA TileLang FP8 KV requires both DSA backends to be tilelang; raw and scaled FP8 KV layouts cannot be mixed."
        return refuse(args, "dsa-tilelang-both", text, msg("TileLang reads raw fp8 rows, the other kernels scaled ones"), "arg_groups/overrides.py:571")
    if args.dcp > 1:
        return refuse(
            args,
            "dsa-tilelang-dcp",
            "CUDA TileLang FP8 KV does not support --dcp-size > 1.",
            msg("decode context parallelism needs another kernel"),
            "arg_groups/overrides.py:576",
        )
    if (at.device.sm or 0) < 89:
        return refuse(args, "dsa-tilelang-sm", "CUDA TileLang FP8 KV requires SM89 or newer.", msg("the GPU has no fp8 units"), "arg_groups/overrides.py:582")
    return args
