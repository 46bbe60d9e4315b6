"""MoE runner and expert parallelism: arg_groups/moe_hook.py, overrides.py and the architectures' own entries."""

from msgspec.structs import replace

from serveright.engines.sglang.args import Args, Situation
from serveright.engines.sglang.refuse import refuse
from serveright.types.sglang import SglangMoe
from serveright.types.text import msg

_SPANNING = ("megamoe", "deepep", "deepep_v2", "mooncake", "nixl", "ascend_fuseep", "flashinfer", "flashinfer_megamoe", "mori", "pplx")
_ACCEPTS: dict[str, tuple[str, tuple[str | None, ...]]] = {
    "flashinfer_cutlass": ("FlashInfer Cutlass MOE supports only", ("modelopt_fp4", "modelopt_fp8", "modelopt_mixed", None)),
    "flashinfer_trtllm": (
        "FlashInfer TRTLLM MOE supports only",
        ("modelopt_fp4", "nvfp4_online", "fp8", "mxfp8", "modelopt_fp8", "modelopt_mixed", "compressed-tensors", None),
    ),
    "flashinfer_trtllm_routed": (
        "FlashInfer TRTLLM routed MOE supports only",
        ("fp8", "mxfp8", "modelopt_fp4", "modelopt_mixed", "nvfp4_online", "minimax_m3_nvfp4", None),
    ),
}


def declare_quantization(args: Args, at: Situation) -> Args:
    """Some architectures write the checkpoint's method into --quantization; later rules read that, not the checkpoint."""
    name, table = at.seen.architecture, at.behaviour
    writes = table.listed("declares_quantization", name) or (table.listed("declares_quantization_sm100", name) and at.device.at("sm100"))
    return replace(args, quantization=at.seen.quantization) if writes and args.quantization is None else args


def runner(args: Args, at: Situation) -> Args:
    """Replace `auto` by the first entry that holds; the quantisation method chooses later where none does."""
    if args.moe == "auto":
        rule = next((rule for rule in at.behaviour.moe if _holds(rule, args, at)), None)
        if rule is not None:
            why = msg("MoE runner {runner} for {method} experts on this GPU", runner=rule.runner, method=at.seen.quantization or "unquantised")
            args = replace(args, moe=rule.runner, choices=(*args.choices, why))
        elif (kernel := _left_to_format(args, at)) is not None:
            why = msg("MoE runner auto: the {method} layers then take {runner} on this GPU", method=at.seen.quantization or "unquantised", runner=kernel)
            args = replace(args, choices=(*args.choices, why))
    if args.moe == "triton_kernel" and args.ep != 1:
        text = "Triton kernel MoE is only supported when ep_size == 1"
        args = refuse(args, "ep-triton-kernel", text, msg("its experts are not split"), "arg_groups/model_hook.py:553")
    if args.moe in _ACCEPTS and args.quantization not in _ACCEPTS[args.moe][1]:
        text = f"Invalid quantization '{args.quantization}'. \n{_ACCEPTS[args.moe][0]}"
        args = refuse(args, "moe-quantization", text, msg("{runner} has no kernels for this format", runner=args.moe), "arg_groups/moe_hook.py:77")
    return args


def _left_to_format(args: Args, at: Situation) -> str | None:
    """What the quantisation method makes of `auto` on CUDA, where its code says so (quantization/fp8.py, unquant.py, modelopt_quant.py create_moe_runner)."""
    method = args.quantization or at.seen.quantization
    if at.device.sm is None or not any(f.kind == "moe" for layer in at.seen.layers for f in layer.ffns):
        return None
    if method == "fp8":
        return "deep_gemm" if args.a2a in ("deepep", "mooncake", "nixl") else "triton"
    if method is None:
        return "triton"
    if method == "modelopt_fp4":
        return "marlin" if 80 <= at.device.sm < 100 else "flashinfer_trtllm"
    return None


def _holds(rule: SglangMoe, args: Args, at: Situation) -> bool:
    method = args.quantization if rule.declared_only else args.quantization or at.seen.quantization
    return (
        (rule.architectures == ("*",) or at.seen.architecture in rule.architectures)
        and any(at.device.at(place) for place in rule.on)
        and (not rule.quantization or (method or "none") in rule.quantization)
        and (not rule.experts or at.seen.experts == rule.experts)
        and not (rule.a2a_none and args.a2a != "none")
        and not (rule.ep_one and args.ep != 1)
    )


def all_to_all(args: Args) -> Args:
    """Backends that span the whole group set the expert-parallel size; some need one attention rank per GPU."""
    if args.a2a in _SPANNING and args.ep != args.tp:
        why = msg("{backend} spreads experts over all {count} GPUs", backend=args.a2a, count=args.tp)
        args = replace(args, ep=args.tp, choices=(*args.choices, why))
    if args.a2a == "flashinfer_megamoe" and args.attn_dp != args.tp:
        text = "FlashInfer MegaMOE is only supported with --attn-dp-size equal to --tp-size"
        args = refuse(args, "megamoe-dp", text, msg("its exchange expects one attention rank on every GPU"), "arg_groups/moe_hook.py:326")
    if args.moe in ("flashinfer_cutlass", "flashinfer_cutedsl") and args.ep not in (1, args.tp):
        text = "The expert parallel size must be 1 or the same as the tensor parallel size"
        args = refuse(args, "ep-size", text, msg("that runner splits experts over all GPUs or none"), "arg_groups/moe_hook.py:83")
    return args
