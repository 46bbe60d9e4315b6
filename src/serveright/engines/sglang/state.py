"""Recurrent state: radix strategy, slots a request takes, bytes of one slot, and how many slots fit: overrides.py, configs/mamba_utils.py, kv_cache_configurator.py."""

from msgspec import Struct
from msgspec.structs import replace

from serveright.engines.sglang.args import Args, Situation
from serveright.engines.sglang.refuse import refuse
from serveright.engines.sglang.seen import Seen, stages
from serveright.types.model import Attention, Recurrent
from serveright.types.text import msg

_ITEM = {"float32": 4, "bfloat16": 2, "float16": 2}
_FLA_CHUNK = 64


def has_state(seen: Seen) -> bool:
    """The model keeps a state of fixed size per request."""
    return bool(seen.states) or seen.conv_rows > 0


def strategy(args: Args, at: Situation) -> Args:
    """How prefix caching treats the state: snapshots in an extra buffer, or one page a token without overlap; some architectures switch it off."""
    if args.radix and at.behaviour.listed("radix_off", at.seen.architecture):
        return replace(args, radix=False, choices=(*args.choices, msg("prefix caching is off: this architecture cannot reuse a prefix")))
    if not has_state(at.seen) or not at.behaviour.listed("state_radix", at.seen.architecture):
        return _no_state(args, at)
    if not args.radix:
        return args
    args = replace(args, state_radix=True)
    able = at.behaviour.listed("state_extra_buffer", at.seen.architecture) and args.linear_backend == "triton"
    if args.strategy == "auto":
        if at.behaviour.constants.state_strategy_auto == "extra_buffer" and able and (args.overlap or (args.page or 0) > 1):
            why = msg("prefix caching keeps state snapshots in an extra buffer")
            args = replace(args, strategy="extra_buffer", choices=(*args.choices, why))
        else:
            why = msg("prefix caching without an extra buffer: overlap scheduling goes off")
            args = replace(args, strategy="no_buffer", overlap=False, choices=(*args.choices, why))
    return _check_extra(args, at, able) if args.strategy.startswith("extra_buffer") else _check_plain(args)


def _no_state(args: Args, at: Situation) -> Args:
    if args.radix and args.strategy.startswith("extra_buffer") and not has_state(at.seen):
        text = f"--mamba-radix-cache-strategy {args.strategy} needs mamba state, got {at.seen.architecture}."
        return refuse(args, "strategy-without-state", text, msg("the model has no recurrent state"), "arg_groups/model_hook.py:1069")
    return args


def _check_plain(args: Args) -> Args:
    why = msg("without an extra buffer the state is only known at the end of what was computed")
    if args.page not in (None, 1):
        args = refuse(args, "no-buffer-page", "no_buffer only supports page_size=1.", why, "arg_groups/mamba_hook.py:155")
    if args.overlap:
        text = "no_buffer do not support overlap schedule. Try to set disable_overlap_schedule=True."
        args = refuse(args, "no-buffer-overlap", text, why, "arg_groups/mamba_hook.py:156")
    if args.attention == "trtllm_mha":
        args = refuse(args, "no-buffer-trtllm", "no_buffer do not support trtllm_mha attention backend.", why, "arg_groups/mamba_hook.py:159")
    return args


def _check_extra(args: Args, at: Situation, able: bool) -> Args:
    if not able:
        text = f"extra_buffer is not supported for {at.seen.architecture}; use no_buffer."
        args = refuse(args, "extra-buffer-unsupported", text, msg("its kernels take no snapshots"), "arg_groups/mamba_hook.py:121")
    if args.page is not None:
        chunk, page = state_chunk(at.seen), args.page
        if args.track_interval % page:
            text = "AssertionError: mamba_track_interval % page_size == 0"
            args = refuse(args, "track-interval-page", text, msg("snapshots must fall on page borders"), "arg_groups/mamba_hook.py:138")
        if max(chunk, page) % min(chunk, page):
            text = "For SSM models, either chunk_size or page_size must be divisible by the other"
            args = refuse(args, "state-chunk-page", text, msg("the state's chunk is {chunk} tokens", chunk=chunk), "arg_groups/overrides.py:1903")
    return args


def state_chunk(seen: Seen) -> int:
    """Tokens between points where the state is known during prefill."""
    return next((m.chunk_tokens for m in seen.states if m.chunk_tokens), _FLA_CHUNK)


def state_dtype(args: Args, at: Situation) -> str:
    """--mamba-ssm-dtype, else the config's word where SGLang's config class reads it, else float32."""
    if args.state_dtype:
        return args.state_dtype
    word = next((m.state_dtype for m in at.seen.states if m.state_dtype), None)
    read = at.behaviour.listed("state_dtype_from_config", at.seen.architecture)
    return word if word in _ITEM and read else "float32"


def slots_per_request(args: Args, at: Situation) -> int:
    """State slots one running request may hold."""
    slots = at.behaviour.constants.state_slots
    if not args.radix:
        return slots["radix_off"]
    if args.strategy == "extra_buffer":
        return slots["extra_buffer" if args.overlap else "extra_buffer_no_overlap"]
    return slots.get(args.strategy, slots["no_buffer"])


class Slot(Struct, frozen=True, kw_only=True):
    """One layer's share of one slot on one GPU: convolution elements (2 bytes each) and recurrent elements."""

    conv: int
    state: int


def slot_of(mixer: Recurrent, tp: int) -> Slot:
    """Mamba2StateShape.create / KimiLinearStateShape.create / create_full_rank for one layer.

    Groups that do not divide the ranks are repeated: `tp - groups` more. Raises ValueError where heads or channels do not divide.
    """
    rows = mixer.conv_rows
    if mixer.kind == "short_conv":
        return Slot(conv=_split(mixer.conv_channels, 1 if mixer.replicated else tp, "conv channels") * rows, state=0)
    if mixer.kind == "lightning":
        heads, *sides = mixer.state_shape
        return Slot(conv=0, state=_split(heads, tp, "heads") * _product(sides))
    if mixer.kind == "mamba1":
        return Slot(
            conv=_split(mixer.conv_channels, tp, "inner channels") * rows, state=_split(mixer.state_shape[0], tp, "inner channels") * mixer.state_shape[-1]
        )
    heads, value, key = mixer.state_shape
    state = _split(heads, tp, "heads") * value * key
    if mixer.kind == "kimi_delta":
        channels = _split(heads * value, tp, "value channels") + 2 * _split(mixer.groups * mixer.key_dim, tp, "key channels")
        return Slot(conv=channels * rows, state=state)
    groups = mixer.groups if mixer.groups % tp == 0 else tp
    return Slot(conv=_split(heads * value + 2 * groups * key, tp, "conv channels") * rows, state=state)


def _product(sides: list[int]) -> int:
    total = 1
    for side in sides:
        total *= side
    return total


def _split(count: int, tp: int, what: str) -> int:
    if count % tp:
        raise ValueError(f"{count} {what} is not divisible by {tp}")
    return count // tp


def slot_bytes(args: Args, at: Situation) -> int:
    """Bytes of one slot over all layers of the fullest pipeline stage, on one GPU. Raises ValueError where heads do not divide."""
    if not has_state(at.seen):
        return 0
    item = _ITEM[state_dtype(args, at)]
    return max(_stage_bytes(stage, args.attn_tp, item) for stage in stages(at.seen, args.pp))


def _stage_bytes(seen: Seen, tp: int, item: int) -> int:
    if seen.conv_rows:
        return _conv_only(seen, tp)
    parts = [slot_of(mixer, tp) for mixer in seen.states]
    return sum(part.conv * 2 + part.state * item for part in parts)


def _conv_only(seen: Seen, tp: int) -> int:
    """Inkling: short convolutions over the K and V rows of full and window layers and over both residual branches, kept for every layer."""

    def width(mixer: Attention | None) -> int:
        return 0 if mixer is None else max(1, mixer.kv_heads // tp) * mixer.head_dim

    channels = 2 * width(seen.full) + 2 * width(seen.window or seen.full) + 2 * seen.hidden
    return channels * seen.conv_rows * 2 * len(seen.layers)


class StatePool(Struct, frozen=True, kw_only=True):
    """`slots` a server may hand out (one more lies in memory), `rest_gib` what remains for KV rows; a double, as SGLang computes it."""

    slots: int
    rest_gib: float


def state_pool(args: Args, at: Situation, rest_gib: float, slot: int) -> StatePool:
    """_handle_max_mamba_cache: the split of the memory left after weights between state slots and KV rows."""
    drafts = args.draft_tokens if args.algorithm is not None else None
    per_request = slots_per_request(args, at)
    running = max(1, (args.max_running or 0) // args.attn_dp)
    spare = int(at.behaviour.constants.padding_slot)
    if args.max_states is not None:
        slots = args.max_states // args.attn_dp
        if drafts:
            rest_gib -= slot * (min(running, slots // per_request) + spare) * drafts / (1 << 30)
    elif not args.radix and args.max_running is not None:
        slots = running
        if drafts:
            rest_gib -= slot * (slots + spare) * drafts / (1 << 30)
    else:
        ratio = args.mamba_ratio if args.mamba_ratio is not None else at.behaviour.constants.mamba_full_memory_ratio
        budget = rest_gib * ratio / (1 + ratio) * (1 << 30)
        if drafts:
            slots = int((budget - slot * (1 + drafts) * spare) // (slot * (1 + drafts / per_request)))
            rest_gib -= slot * (min(running, slots // per_request) + spare) * drafts / (1 << 30)
        else:
            slots = int((budget - slot * spare) // slot)
    return StatePool(slots=slots, rest_gib=rest_gib - (slots + spare) * slot / (1 << 30))
