"""Mixers -> cache specs and the backends that read them: what one layer stores on one GPU, in the order the engine registers it.

Follows the layers' `get_kv_cache_spec` and `customize_spec` in the engine. Block sizes come in; nothing here chooses them.
"""

from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from serveright.engines.vllm import deepseek_v4, deepseek_v41, dots3, inkling, minimax, qwen4
from serveright.engines.vllm.backends import Blocks, Choice, Rejected, choose, kernel_blocks, largest_block_within, refusals
from serveright.engines.vllm.combinations import Ask, flash_version
from serveright.engines.vllm.site import Owned, Site, ask_attention, ask_latent, latent_width
from serveright.engines.vllm.specs import LayerSpec, Spec
from serveright.engines.vllm.states import State, exports_checkpoint
from serveright.engines.vllm.words import itemsize, quantised
from serveright.types.model import Attention, Indexer, Latent, Mixer, Recurrent
from serveright.types.vllm import BackendRule

DS_MLA_ROW = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}
"""Bytes of one packed row of DeepSeek's 576-wide latent: values, scales and bf16 rope together."""
INDEX_SCALE_GROUP = 128


class Reader(Struct, frozen=True, kw_only=True):
    """A backend of the model with the kernel blocks it takes; `state` for those that hold recurrences, which never choose a block."""

    name: str
    blocks: Blocks
    model_blocks: Blocks
    """As the engine asks before it knows the layer: for the model's widest head."""
    state: bool = False
    page_layouts: tuple[str, ...] = ()


class StatePlan(Struct, frozen=True, kw_only=True):
    """How states are stored: page padding, blocks per request, the grid of checkpoints."""

    block: int
    padded: int = 0
    aligned: bool = False
    grid: int = 0


def select(site: Site, ask: Ask) -> Choice:
    """The backend for a layer: the forced one where it is valid, else by priority; the diff-KV pair where K and V widths differ."""
    rules = {r.name: r for r in site.behaviour.backends}
    if ask.kind == "latent" and ask.sinks:
        return select(site, replace(ask, sinks=False))  # layers that read every row leave their sinks out
    if ask.kind == "sparse_latent" and ask.sinks:
        return _with_sinks(site, replace(ask, sinks=False), rules)
    if ask.kind == "dense" and ask.head_size != ask.head_size_v:
        name = "FLASH_ATTN_DIFFKV" if flash_version(ask, site.device) in (3, 4) else "TRITON_ATTN_DIFFKV"
        return Choice(rules[site.backend if site.backend.endswith("_DIFFKV") else name], ())
    if site.backend in rules:
        reasons = refusals(rules[site.backend], ask, site.device)
        return choose_forced(rules[site.backend], reasons)
    return choose(ask, site.device, site.behaviour)


def _with_sinks(site: Site, ask: Ask, rules: dict[str, BackendRule]) -> Choice:
    """Latent layers with sinks: where the chosen kernel knows none, FlashMLA's sparse one stands in if it runs here, else the sinks are left out."""
    picked, spare = select(site, ask), rules.get("FLASHMLA_SPARSE")
    if picked.rule is None or picked.rule.sinks or spare is None or refusals(spare, ask, site.device):
        return picked
    return Choice(spare, ())


def choose_forced(rule: BackendRule, reasons: tuple[str, ...]) -> Choice:
    """The user's backend, or nothing with its reasons."""
    return Choice(None, (Rejected(rule.name, reasons),)) if reasons else Choice(rule, ())


def readers(site: Site, owned: tuple[Owned, ...], states: dict[Recurrent, State]) -> tuple[Reader, ...]:
    """The distinct backends of the model in layer order; an indexer comes before the attention it serves."""
    found: dict[str, Reader] = {}
    kinds: dict[Mixer, Owned] = {}
    for entry in owned:
        kinds.setdefault(entry.mixer, entry)
    for entry in kinds.values():
        for reader in _readers_of(site, entry, states):
            found.setdefault(reader.name, reader)
    return tuple(found.values())


def joined(first: tuple[Reader, ...], more: tuple[Reader, ...]) -> tuple[Reader, ...]:
    """Both, each backend once."""
    names = {reader.name for reader in first}
    return first + tuple(reader for reader in more if reader.name not in names)


def _readers_of(site: Site, entry: Owned, states: dict[Recurrent, State]) -> list[Reader]:
    own = site.behaviour.model_backends.get(site.architecture)
    m = entry.mixer
    if isinstance(m, Recurrent):
        none = Blocks()
        return [Reader(name=states[m].backend, blocks=none, model_blocks=none, state=True)]
    if isinstance(m, Latent):
        if own == "deepseek_v4":
            return [Reader(name=n, blocks=b, model_blocks=b, page_layouts=p) for n, b, p in deepseek_v4.readers(site, m)]
        if own == "deepseek_v41":
            return [Reader(name=n, blocks=b, model_blocks=b, page_layouts=p) for n, b, p in deepseek_v41.readers(site, m)]
        ask = ask_latent(site, m)
        index = [_index_reader(site, m.indexer)] if m.indexer and m.indexer.owns_keys else []
        if own == "dots3_note":
            return [*index, *(Reader(name=n, blocks=b, model_blocks=b, page_layouts=p) for n, b, p in dots3.readers(m))]
        return [*index, *_chosen(site, ask)]
    if isinstance(m, Attention):
        if m.indexer and own == "minimax_m3":
            return [Reader(name=n, blocks=b, model_blocks=b) for n, b in minimax.readers(m)]
        if m.indexer and own == "qsa":
            return [Reader(name=n, blocks=b, model_blocks=b, page_layouts=p) for n, b, p in qwen4.readers()]
        if own == "inkling":
            flash, taken = inkling.reader(site, m)
            conv = Reader(name=inkling.CONVOLUTIONS, blocks=Blocks(), model_blocks=Blocks(), state=True)
            return [Reader(name=flash, blocks=taken, model_blocks=taken), conv]
        return _chosen(site, ask_attention(site, m))
    return []


def _chosen(site: Site, ask: Ask) -> list[Reader]:
    rule = select(site, ask).rule
    if rule is None:
        return []
    whole = replace(ask, head_size=site.model_head_size or ask.head_size, head_size_v=0 if ask.kind == "dense" else ask.head_size_v)
    layouts = rule.page_layouts or (("LBHNC", "BLHNC") if rule.name == "FLASHINFER" and site.device.major == 10 else ())
    return [
        Reader(
            name=rule.name,
            blocks=kernel_blocks(rule, ask, site.device),
            model_blocks=kernel_blocks(rule, whole, site.device),
            page_layouts=layouts,
        )
    ]


def _index_reader(site: Site, indexer: Indexer) -> Reader:
    blocks = _index_blocks(site, indexer)
    return Reader(name="DEEPSEEK_V32_INDEXER", blocks=blocks, model_blocks=blocks)


def _index_blocks(site: Site, indexer: Indexer) -> Blocks:
    if site.device.vendor == "amd":
        return Blocks((1,), 16)
    if indexer.compress_ratio <= 1:
        return Blocks((64,))
    pages = (64,) if site.device.major == 12 else (32, 64)
    return Blocks(tuple(indexer.compress_ratio * p for p in pages))


def specs(site: Site, owned: tuple[Owned, ...], block: int, states: dict[Recurrent, State], plan: StatePlan) -> tuple[LayerSpec, ...]:
    """Every cache of the model on one GPU, in the engine's order of registration."""
    found: list[LayerSpec] = []
    known: dict[Mixer, list[Spec]] = {}
    for entry in owned:
        if entry.mixer not in known:
            known[entry.mixer] = _specs_of(site, entry, block, states, plan)
        found += [LayerSpec(index=entry.index, spec=s, draft=entry.draft) for s in known[entry.mixer]]
    return tuple(found)


def _specs_of(site: Site, entry: Owned, block: int, states: dict[Recurrent, State], plan: StatePlan) -> list[Spec]:
    own = site.behaviour.model_backends.get(site.architecture)
    m = entry.mixer
    if isinstance(m, Recurrent):
        return [_state_spec(site, m, states[m], plan)]
    if isinstance(m, Latent):
        if own == "deepseek_v41":
            return deepseek_v41.specs(site, m, block)
        if own == "dots3_note":
            return [*(_index_specs(site, m.indexer, block) if m.indexer else []), dots3.row_spec(site, m, block)]
        return deepseek_v4.specs(site, m, block) if own == "deepseek_v4" else _latent_specs(site, m, block)
    if isinstance(m, Attention):
        if not m.causal:
            return []  # every token sees every other, at once: nothing is kept
        if m.indexer and own == "minimax_m3":
            return [minimax.index_spec(m.indexer, block), _attention_spec(site, m, block, Blocks((128,)))]
        if m.indexer and own == "qsa":
            return [*qwen4.index_specs(m.indexer, block, site.spec_tokens), _attention_spec(site, m, block, qwen4.MAIN_BLOCKS)]
        if own == "inkling":
            return [inkling.convolution_spec(m, site.tp), _attention_spec(site, m, block, inkling.reader(site, m)[1])]
        ask = ask_attention(site, m)
        rule = select(site, ask).rule
        return [] if rule is None else [_attention_spec(site, m, block, kernel_blocks(rule, ask, site.device))]
    return []


def _attention_spec(site: Site, m: Attention, block: int, blocks: Blocks) -> Spec:
    kv = max(1, m.kv_heads // site.tp)
    heads, content = _content(site, m, kv)
    spec = Spec(
        kind="full",
        role="kv",
        block=block,
        heads=heads,
        content=content,
        stride_tokens=max(blocks.exact) if blocks.exact and not blocks.multiple else 0,
        identity=(kv, m.head_dim, m.v_head_dim, site.cache_dtype),
    )
    if m.kind == "chunked" and m.chunk_tokens:
        return replace(spec, kind="chunked", role="window", chunk=m.chunk_tokens)
    if m.kind == "sliding" and m.window_tokens:
        window = m.window_tokens + site.behaviour.window_extra.get(site.architecture, 0)
        fitted = largest_block_within(blocks, spec.row_bytes, spec.row_bytes * block, block)
        retained = max(0, _lookahead(site) - 1)
        return replace(spec, kind="window", role="window", block=fitted, window=window, extra_retained=retained)
    return spec


def _lookahead(site: Site) -> int:
    """Prompt tokens a chain of prediction layers reads ahead; one for a single layer."""
    return site.spec_tokens if site.draft_layers > 1 and site.spec_tokens > 1 else min(site.spec_tokens, 1)


def _content(site: Site, m: Attention, kv: int) -> tuple[int, int]:
    """(head slots, bytes per slot and row) of K and V together."""
    word = site.cache_dtype
    if word.startswith("nvfp4"):
        return 2 * kv, m.head_dim // 2 + m.head_dim // 16
    if word.endswith("_per_token_head"):
        halves = 2 if word.startswith("int4") else 1
        return kv, m.head_dim // halves + m.v_head_dim // halves + 8
    return kv, (m.head_dim + m.v_head_dim) * itemsize(word, site.model_dtype)


def _latent_specs(site: Site, m: Latent, block: int) -> list[Spec]:
    ask = ask_latent(site, m)
    rule = select(site, ask).rule
    if rule is None:
        return []
    word = sparse_word(rule.name, site.cache_dtype)
    width = latent_width(m)
    content = DS_MLA_ROW.get(word) or width * itemsize(word, site.model_dtype)
    blocks = kernel_blocks(rule, ask, site.device)
    packed = rule.name == "FLASHMLA_SPARSE" and quantised(word) and site.device.major != 10
    exact = max(blocks.exact) if blocks.exact and not blocks.multiple else 0
    spec = Spec(
        kind="latent",
        role="latent",
        block=block,
        heads=1,
        content=content,
        stride_bytes=0 if packed else rule.row_aligned * content,
        stride_tokens=64 if packed else exact,
        identity=(width, word, m.indexer is not None and m.indexer.owns_keys),
    )
    if m.kind == "sliding_mla" and m.window_tokens:
        spec = replace(spec, kind="window_latent", role="window", window=m.window_tokens)
    return [*_index_specs(site, m.indexer, block), spec] if m.indexer and m.indexer.owns_keys else [spec]


def _index_specs(site: Site, indexer: Indexer, block: int) -> list[Spec]:
    content = index_row(indexer.dim)
    ratio = indexer.compress_ratio
    keys = Spec(
        kind="latent",
        role="index_key",
        block=block,
        heads=1,
        content=content,
        tokens_per_row=ratio,
        stride_tokens=max(_index_blocks(site, indexer).exact),
        identity=(content, "uint8", "indexer"),
    )
    if ratio <= 1:
        return [keys]
    ring = ratio * _power_of_two(ceil((ratio + site.spec_tokens) / ratio))
    tail = Spec(kind="ring", role="compressor_state", block=ring, heads=2, content=indexer.dim * 2, sharded=False, identity=(indexer.dim, "bfloat16"))
    return [keys, tail]


def index_row(dim: int) -> int:
    """Bytes of one fp8 index key with a 4-byte scale per 128 values."""
    return dim + dim // INDEX_SCALE_GROUP * 4


def sparse_word(backend: str, cache_dtype: str) -> str:
    """The layout a sparse latent backend makes of the cache dtype."""
    if backend == "FLASHMLA_SPARSE" and quantised(cache_dtype):
        return cache_dtype if cache_dtype == "nvfp4_ds_mla" else "fp8_ds_mla"
    if backend == "FLASHINFER_MLA_SPARSE_SM120" and cache_dtype in ("auto", "fp8", "fp8_e4m3"):
        return "fp8_ds_mla"
    return cache_dtype


def _state_spec(site: Site, m: Recurrent, state: State, plan: StatePlan) -> Spec:
    with_others = state.checkpoint == "with_others" and plan.aligned and plan.grid > 1
    exports = with_others or exports_checkpoint(m, state, site.device, aligned=plan.aligned)
    return Spec(
        kind="state",
        role="state",
        block=plan.block,
        heads=1,
        content=state.bytes,
        padded=plan.padded,
        sharded=False,
        replicated=state.replicated,
        spare_states=site.spec_tokens,
        checkpoints=int(exports),
        checkpoint_grid=plan.grid if exports else 0,
        identity=(m.kind, state.conv_dtype, state.state_dtype, state.conv_bytes),
    )


def _power_of_two(n: int) -> int:
    return 1 if n < 1 else 1 << (n - 1).bit_length()
