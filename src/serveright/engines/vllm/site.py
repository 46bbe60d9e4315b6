"""Where a model is being sized: device, ranks, number formats and the engine's version, gathered once and read by every step."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from serveright.engines.vllm.combinations import Ask, Device, has_fa4
from serveright.types.model import Attention, Latent, Layer, Mixer, ModelShape, Recurrent
from serveright.types.vllm import VllmBehaviour


class Site(Struct, frozen=True, kw_only=True):
    """`cache_dtype` is vLLM's word after every automatic choice so far; `block` the user's block, 0 for none; `backend` a forced one."""

    behaviour: VllmBehaviour
    device: Device
    architecture: str
    tp: int
    dcp: int
    model_dtype: str
    cache_dtype: str
    block: int = 0
    backend: str = ""
    image_prefix: bool = False
    forced_fa: int = 0
    model_head_size: int = 0
    model_kv_heads: int = 1
    spec_tokens: int = 0
    draft_layers: int = 0
    indexer_dtype: str = ""
    output_groups: int = 0
    """Groups of the output projection (DeepSeek-V4), dealt to GPUs whole; 0 for models without."""
    widest_latent: int = 0
    """Elements of the widest latent row of any layer, 0 for models without."""


class Owned(Struct, frozen=True, kw_only=True):
    """A mixer of the model with the place it owns a cache at; draft layers count on after the model's own."""

    index: int
    mixer: Mixer
    draft: bool = False


def owners(shape: ModelShape, draft: tuple[Layer, ...]) -> Iterator[Owned]:
    """Every mixer that stores rows or a state, in layer order: layers that read another's cache store at most their window."""
    for layer in shape.layers:
        if layer.cache_from is None:
            yield from (Owned(index=layer.index, mixer=m) for m in layer.mixers)
        else:
            yield from (Owned(index=layer.index, mixer=_window_of(m)) for m in layer.mixers if isinstance(m, Latent) and m.compress_ratio and m.window_tokens)
    for i, layer in enumerate(draft):
        if layer.cache_from is None:
            yield from (Owned(index=len(shape.layers) + i, mixer=m, draft=True) for m in layer.mixers)


def _window_of(m: Latent) -> Latent:
    """What a layer keeps that reads another's compressed rows: its own window."""
    return replace(m, kind="sliding_mla", compress_ratio=None, indexer=None)


def output_groups(shape: ModelShape) -> int:
    """Groups of the output projection, by the weight that holds them; 0 for models without."""
    return next((w.units or 0 for w in shape.weights if w.path.endswith(".attn.wo_a")), 0)


def as_read(shape: ModelShape, behaviour: VllmBehaviour, *, remote: bool) -> ModelShape:
    """The model as its classes take it: some config classes overwrite `head_dim` by the rope part's, which linear layers then take; some models expand latent rows, some close a last incomplete group of layers by softmax attention.

    `remote`: the repository's class is used instead (`--trust-remote-code` with an `auto_map`).
    """
    if shape.architecture in behaviour.expanded_latent:
        return replace(shape, layers=tuple(replace(layer, mixers=tuple(map(_expanded, layer.mixers))) for layer in shape.layers))
    if shape.architecture in behaviour.rest_softmax:
        shape = replace(shape, layers=_rest_as_softmax(shape.layers))
    rope = next((m.rope_dim for m in latents(shape)), 0)
    if remote or not rope or shape.model_type not in behaviour.head_dim_overwritten:
        return shape
    layers = tuple(replace(layer, mixers=tuple(_narrowed(m, rope) for m in layer.mixers)) for layer in shape.layers)
    return replace(shape, layers=layers)


def _rest_as_softmax(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    last = next((layer for layer in reversed(layers) if not any(isinstance(m, Recurrent) for m in layer.mixers)), None)
    return layers if last is None else tuple(replace(layer, mixers=last.mixers) if layer.index > last.index else layer for layer in layers)


def _expanded(m: Mixer) -> Mixer:
    if not isinstance(m, Latent):
        return m
    width = m.nope_dim + m.rope_dim
    return Attention(kind="full", query_heads=m.query_heads, kv_heads=m.query_heads, head_dim=width, v_head_dim=width)


def _narrowed(m: Mixer, dim: int) -> Mixer:
    if not isinstance(m, Recurrent):
        return m
    channels = m.conv_channels * dim // m.key_dim if m.key_dim else m.conv_channels
    return replace(m, state_shape=(m.state_heads, dim, dim), conv_channels=channels, key_dim=dim, value_dim=dim)


def mixers(shape: ModelShape) -> tuple[Mixer, ...]:
    """All mixers of the model's own layers."""
    return tuple(m for layer in shape.layers for m in layer.mixers)


def attentions(shape: ModelShape) -> tuple[Attention, ...]:
    """Softmax attention mixers."""
    return tuple(m for m in mixers(shape) if isinstance(m, Attention))


def latents(shape: ModelShape) -> tuple[Latent, ...]:
    """Latent attention mixers."""
    return tuple(m for m in mixers(shape) if isinstance(m, Latent))


def recurrents(shape: ModelShape) -> tuple[Recurrent, ...]:
    """Mixers with a state."""
    return tuple(m for m in mixers(shape) if isinstance(m, Recurrent))


def latent_width(mixer: Latent) -> int:
    """Elements of one cached latent row."""
    return mixer.kv_lora_rank + mixer.rope_dim


def model_head_size(shape: ModelShape) -> int:
    """The head size the engine takes for the whole model: latent row width, else the widest head."""
    if latents(shape):
        return latent_width(latents(shape)[0])
    return max((m.head_dim for m in attentions(shape)), default=0)


def model_kv_heads(shape: ModelShape, tp: int) -> int:
    """KV heads per GPU the engine takes for the whole model."""
    if latents(shape):
        return 1
    return max(1, max((m.kv_heads for m in attentions(shape)), default=0) // tp)


def mixed_heads(shape: ModelShape, behaviour: VllmBehaviour) -> bool:
    """The model's own hook looks at unequal head sizes (Gemma-4)."""
    mine = behaviour.model_backends.get(shape.architecture) == "mixed_heads"
    return mine and len({m.head_dim for m in attentions(shape)}) > 1


def hook_flash(shape: ModelShape, behaviour: VllmBehaviour, device: Device, cache_dtype: str, backend: str) -> tuple[int, str]:
    """(FlashAttention version, backend) that the hook for unequal head sizes sets; (0, what was forced) where it sets none."""
    if not mixed_heads(shape, behaviour):
        return 0, backend
    if behaviour.mixed_heads_flash and has_fa4(device) and model_head_size(shape) <= 512:
        per_layer = device.major == 9 and cache_dtype.startswith("fp8")
        return (0 if per_layer or backend not in ("", "FLASH_ATTN") else 4), backend
    return 0, backend or "TRITON_ATTN"


def ask_attention(site: Site, m: Attention) -> Ask:
    """What a softmax layer asks of a backend, per GPU."""
    return Ask(
        kind="dense",
        head_size=m.head_dim,
        head_size_v=m.v_head_dim,
        dtype=site.model_dtype,
        kv_dtype=site.cache_dtype,
        heads=m.query_heads // site.tp,
        kv_heads=max(1, m.kv_heads // site.tp),
        block=site.block,
        sinks=m.sinks,
        mm_prefix=site.image_prefix,
        sliding=m.kind == "sliding",
        dcp=site.dcp > 1,
        dcp_size=site.dcp,
        forced_fa=site.forced_fa,
        model_head_size=site.model_head_size,
    )


def ask_latent(site: Site, m: Latent) -> Ask:
    """What a latent layer asks of a backend, per GPU."""
    return Ask(
        kind="sparse_latent" if m.indexer else "latent",
        head_size=latent_width(m),
        head_size_v=0,
        dtype=site.model_dtype,
        kv_dtype=site.cache_dtype,
        heads=m.query_heads // site.tp,
        block=site.block,
        sinks=m.sinks and site.behaviour.model_backends.get(site.architecture) == "latent_sinks",
        dcp=site.dcp > 1,
        dcp_size=site.dcp,
        nope_dim=m.nope_dim,
        rope_dim=m.rope_dim,
        v_head_dim=m.v_head_dim,
        lora_rank=m.kv_lora_rank,
        topk=m.indexer.topk if m.indexer else 0,
        model_head_size=site.model_head_size,
    )
