"""Speculative decoding: defaults of steps, tree and running requests, and what refuses it: arg_groups/speculative_hook.py."""

from msgspec.structs import replace

from serveright.engines.sglang.args import EAGLE, Args, Situation
from serveright.engines.sglang.refuse import refuse
from serveright.types.text import msg

_TREE_BACKENDS = ("flashinfer", "fa3", "triton")


def speculation(args: Args, at: Situation) -> Args:
    """Fill what the user left open. Unset running requests become 48 whatever the algorithm."""
    if args.algorithm is None:
        return args
    if args.algorithm == "STANDALONE" and args.attn_dp > 1:
        text = "Currently standalone speculative decoding does not support dp attention."
        args = refuse(args, "standalone-dp", text, msg("the draft model is not spread over attention ranks"), "arg_groups/speculative_hook.py:1000")
    if args.max_running is None:
        limit = at.behaviour.constants.speculative_max_running
        args = replace(args, max_running=limit, choices=(*args.choices, msg("at most {count} running requests: the default with speculation", count=limit)))
    if args.algorithm in EAGLE:
        return _checks(_eagle(args, at))
    if args.algorithm == "NGRAM":
        return replace(args, topk=args.topk or 10, draft_tokens=args.draft_tokens or 12)
    return replace(args, steps=args.steps or 1, topk=args.topk or 1, draft_tokens=args.draft_tokens or 16)


def _eagle(args: Args, at: Situation) -> Args:
    if args.steps is None:
        tree = args.algorithm != "STANDALONE" and at.behaviour.listed("spec_tree_default", at.seen.architecture)
        steps, topk, tokens = (5, 4, 8) if tree else (3, 1, 4)
        why = msg("{steps} draft steps, {topk} branches, {tokens} tokens to verify: the defaults", steps=steps, topk=topk, tokens=tokens)
        args = replace(args, steps=steps, topk=topk, draft_tokens=tokens, choices=(*args.choices, why))
    args = replace(args, topk=args.topk or 1)
    if args.topk == 1:
        args = replace(args, draft_tokens=(args.steps or 0) + 1)
    return args


def _checks(args: Args) -> Args:
    topk = args.topk or 1
    if "trtllm_mha" in args.backends and topk > 1:
        text = "trtllm_mha backend only supports topk = 1 for speculative decoding."
        args = refuse(args, "trtllm-mha-tree", text, msg("it verifies chains, not trees"), "arg_groups/speculative_hook.py:1075")
    if topk > 1 and (args.page or 1) > 1 and args.attention not in _TREE_BACKENDS:
        text = f"speculative_eagle_topk > 1 with page_size > 1 is only supported on {_TREE_BACKENDS}; got attention_backend={args.attention!r}."
        args = refuse(args, "tree-pages", text, msg("a tree needs single-token pages there"), "arg_groups/speculative_hook.py:1262")
    return args


def draft_layers(args: Args, at: Situation) -> tuple[int, int, int]:
    """KV layers of the draft that the pool must hold beside the target's: all, those in the window pool, and windows that get a row for every token."""
    if args.algorithm not in EAGLE:
        return 0, 0, 0
    own = at.seen.draft_layers
    if at.seen.drafter is not None:
        return own, at.seen.draft_windows if at.seen.two_pools and not at.seen.v4 else 0, 0
    if at.behaviour.listed("draft_windows_in_full", at.seen.architecture):
        return own, 0, min(own, at.seen.draft_windows)
    return own, min(own, at.seen.window_layers) if at.seen.two_pools and not at.seen.v4 else 0, 0
