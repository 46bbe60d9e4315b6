"""Everything vLLM settles before it reserves memory, in its own order: dtype, backends, block, specs, groups; and every refusal on the way.

`plan` is the one place where model, device, version and settings meet; `resolve`, `layout` and `capacity` read it.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from serveright.engines.vllm import deepseek_v4, deepseek_v41, dots3, refusals
from serveright.engines.vllm.blocks import BlockChoice, choose_block
from serveright.engines.vllm.combinations import PLATFORMS, Device
from serveright.engines.vllm.grouping import CannotGroup, group_layers, pool_block_bytes
from serveright.engines.vllm.layers import Reader, joined, readers, select, sparse_word, specs
from serveright.engines.vllm.moe import expert_kernel, has_no_kernel
from serveright.engines.vllm.parallel import split_stages
from serveright.engines.vllm.runner import second_runner
from serveright.engines.vllm.scheduling import Schedule, schedule
from serveright.engines.vllm.site import (
    Owned,
    Site,
    as_read,
    ask_attention,
    ask_latent,
    hook_flash,
    latent_width,
    latents,
    mixers,
    model_head_size,
    model_kv_heads,
    output_groups,
    owners,
)
from serveright.engines.vllm.specs import Demand, Group, LayerSpec
from serveright.engines.vllm.states import State, state_of
from serveright.engines.vllm.words import MTP_METHODS, engine_word, model_dtype
from serveright.types.engine import Refusal, Settings
from serveright.types.hardware import Gpu
from serveright.types.model import Attention, Checkpoint, Latent, Layer, ModelShape, Recurrent
from serveright.types.vllm import VllmBehaviour


class Plan(Struct, frozen=True, kw_only=True):
    """The engine's decisions for one model on one GPU of a layout. Sizes are bytes on the worst pipeline stage."""

    site: Site
    schedule: Schedule
    readers: tuple[Reader, ...]
    choice: BlockChoice
    layers: tuple[LayerSpec, ...]
    """Caches of the whole model."""
    groups: tuple[Group, ...]
    """Groups as one GPU of the worst stage holds them."""
    whole: tuple[Group, ...]
    """Groups over all stages: a request takes blocks in every one of them."""
    page_layout: str
    pool_block_bytes: int
    prefix_caching: bool
    state_mode: str | None
    state_dtype: str | None
    demand: Demand
    experts: str | None
    """Kernel of the routed experts; None for dense models and where it is not known."""
    second_runner: bool = False
    """The second of the engine's model runners serves."""
    refusals: tuple[Refusal, ...]

    @property
    def block(self) -> int:
        """Tokens of the attention block."""
        return self.choice.block


def plan(shape: ModelShape, checkpoint: Checkpoint, gpu: Gpu, behaviour: VllmBehaviour, settings: Settings, drafter: ModelShape | None = None) -> Plan:
    """The engine's decisions, with a `Refusal` for everything it would not start over. Raises nothing for user mistakes that the engine itself reports.

    `drafter`: a draft model of its own, whose caches join the target's groups.
    """
    device = Device(sm=gpu.sm or 0, name=gpu.name, vendor=gpu.vendor.lower(), aiter=settings.extra.get("VLLM_ROCM_USE_AITER") == "1")
    shape = as_read(shape, behaviour, remote=shape.remote_code and settings.extra.get("trust-remote-code") == "true")
    draft = draft_layers(shape, behaviour, settings)
    times = schedule(shape, gpu, behaviour, settings)
    found = list(refusals.before(shape, device, behaviour, settings))
    site = _site(shape, checkpoint, device, behaviour, settings, len(draft))
    owned = tuple(owners(shape, draft))
    site, more = _settle(site, owned, gpu)
    found += more if device.vendor in PLATFORMS else ()
    states = _states(site, owned, settings)
    prefix = prefix_caching(shape, behaviour, settings)
    aligned = bool(states) and prefix
    backends = readers(site, owned, states)
    choice = _block(site, backends, states, shape, settings, aligned=aligned, found=found)
    layers = specs(site, owned, choice.block, states, choice.states)
    if drafter is not None:
        beside, own = _beside(site, shape, drafter)
        backends = joined(backends, readers(beside, own, {}))
        layers += specs(beside, own, choice.block, {}, choice.states)
    order = page_layout(backends, layers)
    experts = expert_kernel(shape, checkpoint, device, behaviour, settings)
    found += [refusals.no_expert_kernel()] if has_no_kernel(experts) else []
    whole, groups, pool = _groups(shape, layers, settings, order, found)
    return Plan(
        site=site,
        schedule=times,
        readers=backends,
        choice=choice,
        layers=layers,
        groups=groups,
        whole=whole,
        page_layout=order,
        pool_block_bytes=pool,
        prefix_caching=prefix,
        state_mode=("align" if aligned else "none") if states else None,
        state_dtype=next((s.state_dtype for s in states.values()), None),
        demand=Demand(in_flight_tokens=times.in_flight_tokens, dcp=settings.parallel.dcp, aligned_states=aligned),
        experts=experts or None,
        second_runner=second_runner(shape, checkpoint, behaviour, settings),
        refusals=tuple(found),
    )


def draft_layers(shape: ModelShape, behaviour: VllmBehaviour, settings: Settings) -> tuple[Layer, ...]:
    """Prediction layers the engine builds for the asked speculation; none for methods without the model's own layers."""
    own_block = settings.speculative_method == "dspark" and behaviour.model_backends.get(shape.architecture) in ("deepseek_v4", "deepseek_v41")
    if not (settings.speculative_method in MTP_METHODS or own_block) or settings.speculative_tokens < 1:
        return ()
    depth = behaviour.mtp_depth.get(shape.architecture, len(shape.mtp))
    if behaviour.model_backends.get(shape.architecture) == "inkling":
        depth = min(depth, settings.speculative_tokens)  # further depths are never stepped into, so they are not built
    own = shape.mtp or (_last_full(shape) if shape.architecture in behaviour.mtp_depth else ())
    return (own * depth)[:depth]


def _beside(site: Site, shape: ModelShape, drafter: ModelShape) -> tuple[Site, tuple[Owned, ...]]:
    """Where the layers of a draft model stand: the target's ranks and cache dtype, its own heads and class; counted on after the target's layers.

    A draft's recurrent states are not sized here. Source: v1/spec_decode/llm_base_proposer.py `load_model` (its attention layers are registered with the target's).
    """
    at = replace(
        site, architecture=drafter.architecture, model_head_size=model_head_size(drafter), model_kv_heads=model_kv_heads(drafter, site.tp), forced_fa=0
    )
    own = (m for m in owners(drafter, ()) if not isinstance(m.mixer, Recurrent))
    return at, tuple(replace(m, index=len(shape.layers) + m.index, draft=True) for m in own)


def _last_full(shape: ModelShape) -> tuple[Layer, ...]:
    """What a prediction layer the config is silent about looks like: the model's own full-attention layer."""
    return tuple(layer for layer in shape.layers if any(isinstance(m, Attention) and m.kind == "full" for m in layer.mixers))[-1:]


def prefix_caching(shape: ModelShape, behaviour: VllmBehaviour, settings: Settings) -> bool:
    """On unless the user or, for recurrent models, an older version says otherwise; never for encoders and models without attention (config/model.py)."""
    if settings.prefix_caching is not None:
        return settings.prefix_caching
    if not shape.causal or shape.architecture in behaviour.attention_free:
        return False
    return behaviour.hybrid_prefix_caching or not any(isinstance(m, Recurrent) for m in mixers(shape))


def _site(shape: ModelShape, checkpoint: Checkpoint, device: Device, behaviour: VllmBehaviour, settings: Settings, draft: int) -> Site:
    word = cache_word(shape, checkpoint, device, behaviour, settings)
    computes = model_dtype(settings.extra.get("dtype", "auto"), shape.dtype, device.sm)
    forced, backend = hook_flash(shape, behaviour, device, word, (settings.attention_backend or "").upper())
    tp = settings.parallel.tp
    return Site(
        behaviour=behaviour,
        device=device,
        architecture=shape.architecture,
        tp=tp,
        dcp=settings.parallel.dcp,
        model_dtype=computes,
        cache_dtype=word,
        block=settings.block_tokens or 0,
        backend=backend,
        image_prefix=shape.image_prefix and not settings.language_only,
        forced_fa=forced,
        model_head_size=model_head_size(shape),
        model_kv_heads=model_kv_heads(shape, tp),
        spec_tokens=settings.speculative_tokens,
        draft_layers=draft,
        indexer_dtype=settings.extra.get("indexer-kv-dtype", ""),
        output_groups=output_groups(shape),
        widest_latent=max(map(latent_width, latents(shape)), default=0),
    )


def cache_word(shape: ModelShape, checkpoint: Checkpoint, device: Device, behaviour: VllmBehaviour, settings: Settings) -> str:
    """vLLM's cache dtype before a backend has its say: the flag, else the checkpoint's scheme, else the model's hooks."""
    word = engine_word(settings.kv_dtype or "auto")
    if word == "auto" and checkpoint.kv_dtype:
        word = _checkpoint_word(checkpoint)
    if word == "auto" and device.major == 10:
        word = behaviour.fp8_by_architecture_sm10.get(shape.architecture, word)
    if any(m.indexer for m in latents(shape)) and behaviour.model_backends.get(shape.architecture) not in ("deepseek_v4", "deepseek_v41"):
        if word == "auto":
            return behaviour.dsa_auto
        if word == "bfloat16":
            return "auto"
        if word.startswith("fp8") and behaviour.dsa_fp8 != "fp8":
            return behaviour.dsa_fp8
    return word


def _checkpoint_word(checkpoint: Checkpoint) -> str:
    if checkpoint.method.startswith("modelopt"):
        return {"fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3", "nvfp4": "nvfp4"}.get(checkpoint.kv_dtype or "", "auto")
    return "fp8" if checkpoint.kv_dtype and checkpoint.kv_dtype.startswith("fp8") else "auto"


def _settle(site: Site, owned: tuple[Owned, ...], gpu: Gpu) -> tuple[Site, list[Refusal]]:
    """The cache dtype after the layers chose their backends, and what they refuse."""
    found: list[Refusal] = []
    seen: set[object] = set()
    for entry in owned:
        m = entry.mixer
        if isinstance(m, Recurrent) or m in seen:
            continue
        seen.add(m)
        site, refusal = _settle_one(site, m, gpu)
        if refusal is not None:
            found.append(refusal)
            break
    return site, found


def _settle_one(site: Site, m: object, gpu: Gpu) -> tuple[Site, Refusal | None]:
    own = site.behaviour.model_backends.get(site.architecture)
    if isinstance(m, Latent):
        if own == "deepseek_v4":
            word = deepseek_v4.cache_word(site)
            return (replace(site, cache_dtype=word), refusals.v4_backend(site)) if word else (site, refusals.v4_dtype(site.cache_dtype))
        if own == "deepseek_v41":
            word = deepseek_v41.cache_word(site, m)
            return (replace(site, cache_dtype=word), refusals.v41_backend(site)) if word else (site, refusals.v41_dtype(site.cache_dtype))
        if own == "dots3_note":
            return site, dots3.refusal(site)
        ask = ask_latent(site, m)
        picked = select(site, ask)
        if picked.rule is None:
            return site, refusals.no_backend(site, ask, picked.rejected)
        return replace(site, cache_dtype=sparse_word(picked.rule.name, site.cache_dtype)), refusals.kernel(picked.rule.name, site, ask, gpu)
    if isinstance(m, Attention):
        if m.indexer and own == "minimax_m3":
            return site, None
        ask = ask_attention(site, m)
        picked = select(site, ask)
        if picked.rule is None:
            return site, refusals.no_backend(site, ask, picked.rejected)
        return site, refusals.kernel(picked.rule.name, site, ask, gpu)
    return site, None


def _states(site: Site, owned: tuple[Owned, ...], settings: Settings) -> dict[Recurrent, State]:
    override = settings.state_dtype or "auto"
    return {
        m: state_of(
            m,
            behaviour=site.behaviour,
            architecture=site.architecture,
            tp=site.tp,
            model_dtype=site.model_dtype,
            spec_tokens=site.spec_tokens,
            override=override,
        )
        for m in (o.mixer for o in owned)
        if isinstance(m, Recurrent)
    }


def _block(
    site: Site, backends: tuple[Reader, ...], states: Mapping[Recurrent, State], shape: ModelShape, settings: Settings, *, aligned: bool, found: list[Refusal]
) -> BlockChoice:
    longest = settings.context_tokens or shape.max_context_tokens or 0
    try:
        return choose_block(site, backends, dict(states), aligned=aligned, max_context=longest, latent=bool(latents(shape)))
    except ValueError as error:
        found.append(refusals.no_common_block(str(error)))
        return choose_block(replace(site, block=site.behaviour.default_block), backends, {}, aligned=False, max_context=longest, latent=False)


def page_layout(backends: tuple[Reader, ...], layers: tuple[LayerSpec, ...]) -> str:
    """The memory order all backends can read; mixed page shapes need whole pages in one run."""
    orders = ["LBNHC", "LBHNC", "LHBNC", "BLHNC", "BLNHC", "BHLNC"]
    wishes = [r.page_layouts for r in backends if r.page_layouts]
    candidates = [o for o in (wishes[0] if wishes else orders) if all(o in w for w in wishes)]
    shapes = {(x.spec.heads, 1 if x.spec.kind == "state" else x.spec.block // x.spec.tokens_per_row, x.spec.page) for x in layers}
    if len(shapes) > 1:
        candidates = [o for o in candidates if set(o[:2]) == {"L", "B"}]
    return candidates[0] if candidates else orders[0]


def _groups(
    shape: ModelShape, layers: tuple[LayerSpec, ...], settings: Settings, order: str, found: list[Refusal]
) -> tuple[tuple[Group, ...], tuple[Group, ...], int]:
    outermost = order.startswith("B")
    full = settings.extra.get("disable-hybrid-kv-cache-manager", "") not in ("", "false")
    try:
        whole = group_layers(layers, block_outermost=outermost, full_windows=full)
    except CannotGroup as error:
        found.append(refusals.cannot_group(str(error)))
        return (), (), 0
    stages = split_stages(whole, len(shape.layers), settings.parallel.pp)
    priced = [(g, pool_block_bytes(g, block_outermost=outermost)) for g in stages]
    nothing: tuple[tuple[Group, ...], int] = ((), 0)
    groups, block = max(priced, key=lambda x: x[1], default=nothing)
    return whole, groups, block
