"""Chunk size, graph batches and the static memory share from the device's size: arg_groups/memory_hook.py and cuda_graph_hook.py.

Runs before the model's own overrides, so the share does not know the final attention backend. All figures are MiB, as SGLang counts them.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from serveright.engines.sglang.args import Args, Situation
from serveright.types.sglang import SglangTiers
from serveright.types.text import msg

_PREFILL_A2A = ("none", "deepep", "megamoe", "flashinfer")
_DEEPEP_TOKENS = 2048
_AFTER_CAPTURE_MIB, _IMAGES_AFTER_CAPTURE_MIB = 1536, 8192
_FLOOR_MIB, _FLOOR_FROM_MIB = 10 * 1024, 60 * 1024


def graphs(args: Args, at: Situation) -> Args:
    """Whether prefill graphs survive this model and layout."""
    seen, behaviour = at.seen, at.behaviour
    if not behaviour.memory.prefill_graph and not args.prefill_graph_set:
        return replace(args, prefill_graph="disabled")
    if not args.prefill_graph_set and behaviour.listed("prefill_graph_full", seen.architecture):
        return replace(args, prefill_graph="full", prefill_graph_set=True)
    if args.prefill_graph_tokens is None and behaviour.listed("prefill_graph_512", seen.architecture):
        args = replace(args, prefill_graph_tokens=512)
    off = (
        behaviour.listed("prefill_graph_off", seen.architecture)
        or args.dcp > 1
        or args.pp > 1
        or args.a2a not in _PREFILL_A2A
        or (behaviour.memory.prefill_graph_strict and _strictly_off(args, at))
        or (seen.multimodal and not args.language_only and not behaviour.listed("vision_prefill_graph", seen.architecture))
    )
    if off and not args.prefill_graph_set:
        args = replace(args, prefill_graph="disabled")
    if args.a2a == "deepep" and args.prefill_graph == "breakable":
        args = replace(args, prefill_graph_tokens=args.prefill_graph_tokens or _DEEPEP_TOKENS)
    if args.role == "prefill":
        args = replace(args, decode_graph=False)
    if args.role == "decode" and not args.prefill_graph_set:
        args = replace(args, prefill_graph="disabled")
    return args


def _strictly_off(args: Args, at: Situation) -> bool:
    images = at.seen.multimodal and not args.language_only
    return args.algorithm is not None or args.attn_dp > 1 or args.a2a != "none" or images or at.device.hip


def memory_defaults(args: Args, at: Situation) -> Args:
    """Chunk, largest decode graph, and the share of memory for weights and cache."""
    rule, mib = at.behaviour.memory, at.device.mib
    _, chunk, small, large = next(tier for tier in rule.tiers if mib < tier[0])
    batch = args.decode_graph_batch
    if batch is None:
        batch = small if args.tp < 4 else large
        if args.max_running is not None and rule.graphs_follow_running:
            batch = min(batch, args.max_running)
    chunk = args.chunk if args.chunk is not None else chunk
    tokens = args.prefill_graph_tokens
    if tokens is None:
        tokens = min(rule.prefill_graph_mla_tokens, chunk) if at.seen.mla else chunk
        if args.max_total_tokens is not None:
            tokens = min(tokens, args.max_total_tokens)
    args = replace(args, chunk=chunk, decode_graph_batch=batch, prefill_graph_tokens=tokens)
    if args.mem_fraction is not None:
        return args
    share = _share(args, at)
    why = msg(
        "static memory share {share} from {mib:n} MiB: {reserved:n} MiB are kept for activations and graphs",
        share=share,
        mib=mib,
        reserved=round(mib * (1 - share)),
    )
    return replace(args, mem_fraction=share, choices=(*args.choices, why))


def _share(args: Args, at: Situation) -> float:
    rule, mib = at.behaviour.memory, at.device.mib
    images = at.seen.multimodal and not args.language_only and args.role != "decode" and rule.vision
    if _after_capture(args, at):
        share = round((mib - _AFTER_CAPTURE_MIB - args.tp * args.pp / 8 * 1024) / mib, 3)
        return share - _IMAGES_AFTER_CAPTURE_MIB / mib if images else share
    if rule.rule == "share":
        share = next((value for tp, value in rule.shares if args.tp >= tp), 0.88) if mib <= 81920 else (mib - 13 * 1024) / mib
    else:
        share = round((mib - reserved_mib(args, at)) / mib, 3)
    return share * vision_factor(at.seen.vision) if images and at.seen.vision else share


def _after_capture(args: Args, at: Situation) -> bool:
    """Architectures that size their pool after the graphs are captured reserve nothing for them (overrides.py post_capture_kv_sizing_planned)."""
    seen = at.seen
    if not at.behaviour.listed("post_capture", seen.architecture) or seen.mla or seen.v4 or seen.minimax_sparse or args.dcp > 1 or at.device.sm is None:
        return False
    if args.role != "prefill" and not args.decode_graph:
        return False
    return args.role == "decode" or (args.prefill_graph != "disabled" and 0 < (args.chunk or 0) <= (args.prefill_graph_tokens or 0))


def vision_factor(vision: tuple[int, int]) -> float:
    """How much of the share a vision tower leaves: 0.95, scaled by its size against ViT-L/14 within [0.8, 1.05]."""
    layers, width = vision
    ratio = (layers * width**2) / (24 * 1024**2)
    return 0.95 * max(0.8, min(1.05, 1.0 - 0.1 * (ratio - 1.0)))


def reserved_mib(args: Args, at: Situation) -> float:
    """What stays outside weights and cache, in MiB."""
    rule, mib = at.behaviour.memory, at.device.mib
    gpus = args.tp * args.pp
    if rule.rule == "flat":
        _, base, each = next(tier for tier in rule.flat_gib if mib < tier[0])
        reserved = (base + each * gpus) * 1024
        return reserved + _draft_mib(args, rule) + (rule.attention_dp_mib if args.attn_dp > 1 else 0)
    chunk = args.chunk or 0
    tokens = max(chunk, 2048) if chunk > 0 else 16384
    if args.role == "decode":
        tokens = max((args.max_running or args.decode_graph_batch or 1) * (args.draft_tokens or 1), 2048)
    reserved = 512 + tokens * 1.5 + gpus / 8 * 1024 + _graph_mib(args, at, rule)
    if mib > _FLOOR_FROM_MIB:
        reserved = max(reserved, _FLOOR_MIB)
    if args.role != "prefill" and args.decode_graph and args.a2a == "deepep":
        reserved += rule.deepep_decode_mib
    return reserved + _draft_mib(args, rule)


def _draft_mib(args: Args, rule: SglangTiers) -> float:
    if args.algorithm is None or args.algorithm == "NGRAM":
        return 0
    return rule.standalone_mib if args.algorithm == "STANDALONE" else rule.speculative_mib


def _graph_mib(args: Args, at: Situation, rule: SglangTiers) -> float:
    batch = args.decode_graph_batch or 0
    total = 0.0
    if args.role != "prefill":
        total += batch * 2 if args.decode_graph else 0
        if args.attn_dp > 1:
            total += batch * args.attn_dp * (4.5 if batch > 300 else 3)
    if args.role != "decode" and args.prefill_graph != "disabled":
        total += rule.prefill_graph_mla_mib if at.seen.mla else _prefill_graphs(args) * rule.prefill_graph_each_mib
        if args.prefill_graph == "breakable" and args.a2a == "deepep":
            total += rule.deepep_prefill_mib
    return total


def _prefill_graphs(args: Args) -> int:
    sizes = prefill_sizes(args.prefill_graph_tokens or 0)
    aligned = args.a2a == "deepep" and args.prefill_graph == "breakable"
    return len({-(-size // 8) for size in sizes}) if aligned else len(sizes)


def prefill_sizes(largest: int) -> list[int]:
    """Token counts that prefill graphs are captured for, up to `largest`."""
    steps: Iterable[int] = (
        *range(4, 33, 4),
        *range(48, 257, 16),
        *range(288, 513, 32),
        *range(576, 1025, 64),
        *range(1280, 4097, 256),
        *range(4608, largest + 1, 512),
    )
    return [size for size in steps if size <= largest]
