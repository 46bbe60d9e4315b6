"""Which block the cache gets: the smallest every backend takes, grown until an attention page holds a recurrent state.

Follows `platforms/interface.py` update_block_size_for_backend and _align_hybrid_block_size.
"""

from math import lcm

from msgspec import Struct

from serveright.engines.vllm.backends import preferred_block
from serveright.engines.vllm.combinations import Ask, flash_block
from serveright.engines.vllm.layers import Reader, StatePlan
from serveright.engines.vllm.site import Site
from serveright.engines.vllm.states import State, checkpoint_alignment
from serveright.engines.vllm.words import itemsize
from serveright.types.model import Recurrent
from serveright.types.vllm import BackendRule


class BlockChoice(Struct, frozen=True, kw_only=True):
    """`block` tokens for attention, the plan for states, and what the alignment rested on (`step` tokens, `token_bytes`, `state_bytes`; 0 where none took place)."""

    block: int
    states: StatePlan
    preferred: int
    step: int = 0
    token_bytes: int = 0
    state_bytes: int = 0


def choose_block(site: Site, readers: tuple[Reader, ...], states: dict[Recurrent, State], *, aligned: bool, max_context: int, latent: bool) -> BlockChoice:
    """The block and the state plan. `aligned`: states are cached at block ends. Raises ValueError where backends share no size."""
    attention = [r for r in readers if not r.state]
    default = site.behaviour.default_block
    preferred = site.block or (preferred_block([r.model_blocks for r in attention], default, _special(site, attention)) if attention else default)
    state_block = preferred if aligned else max_context
    if not states or not attention:
        return BlockChoice(block=preferred, states=StatePlan(block=state_block, aligned=aligned), preferred=preferred)
    widest = max(s.bytes for s in states.values())
    step = max(attention[0].model_blocks.smallest, preferred, 128 if latent else 0)
    grid = _checkpoint_step(site, states, aligned=aligned)
    step = lcm(step, grid) if aligned else step
    token = token_bytes(site, latent=latent)
    block = step * -(-widest // (step * token))
    common = lcm(*(r.model_blocks.smallest for r in attention if r.model_blocks.sizes))
    block = max(preferred, common * -(-block // common))
    page = block * token
    plan = StatePlan(block=block if aligned else max_context, padded=page if page != widest else 0, aligned=aligned, grid=_grid(states, block, grid))
    return BlockChoice(block=block, states=plan, preferred=preferred, step=step, token_bytes=token, state_bytes=widest)


def _special(site: Site, attention: list[Reader]) -> int:
    """The page a wide-head FlashAttention kernel demands for the model as a whole."""
    rule = next((r for r in site.behaviour.backends if r.name == attention[0].name), None)
    if rule is None or rule.name not in ("FLASH_ATTN", "FLASH_ATTN_DIFFKV"):
        return 0
    return flash_block(rule, _whole(site, rule), site.device)


def _whole(site: Site, rule: BackendRule) -> Ask:
    return Ask(
        kind=rule.kind,
        head_size=site.model_head_size,
        head_size_v=0,
        dtype=site.model_dtype,
        kv_dtype=site.cache_dtype,
        heads=1,
        forced_fa=site.forced_fa,
        mm_prefix=site.image_prefix,
        dcp=site.dcp > 1,
    )


def token_bytes(site: Site, *, latent: bool) -> int:
    """Bytes of one token in one attention layer as the alignment reckons: the model's widest head, latent rows without packing."""
    size = itemsize(site.cache_dtype, site.model_dtype)
    if latent:
        return site.model_head_size * size
    head, kv = site.model_head_size, site.model_kv_heads
    if site.cache_dtype.startswith("nvfp4"):
        return 2 * kv * (head // 2 + head // 16)
    if site.cache_dtype.endswith("_per_token_head"):
        return kv * (2 * (head // (2 if site.cache_dtype.startswith("int4") else 1)) + 8)
    return 2 * kv * head * size


def _checkpoint_step(site: Site, states: dict[Recurrent, State], *, aligned: bool) -> int:
    """Tokens between exportable states, 1 unless every recurrent layer names one."""
    steps = [checkpoint_alignment(m, s, site.device, site.behaviour, aligned=aligned) for m, s in states.items()]
    return lcm(*steps) if all(steps) else 1


def _grid(states: dict[Recurrent, State], block: int, step: int) -> int:
    """What keeps checkpoints of unequal layers apart in the engine's grouping."""
    kinds = {s.checkpoint for s in states.values()}
    return block if "flashinfer_gdn" in kinds and step > 1 else step
