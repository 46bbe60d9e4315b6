"""How a plan's caches lie in memory, summed up per group and role, with the formulas that made the numbers."""

from collections.abc import Iterator
from fractions import Fraction

from serveright.engines.vllm.layers import DS_MLA_ROW
from serveright.engines.vllm.plan import Plan
from serveright.engines.vllm.specs import GROWING, Group, LayerSpec
from serveright.engines.vllm.words import plain_word
from serveright.types.derivation import Derivation
from serveright.types.engine import CacheGroup, EngineLayout
from serveright.types.text import Msg, msg

_PLANNING = "vLLM v1/core/kv_cache_planning.py"


def layout(plan: Plan, context_tokens: int) -> EngineLayout:
    """The layout; `pool_bytes_per_token` is what one token of the capacity the engine reports for `context_tokens` costs."""
    layers = tuple(x for g in plan.groups for x in g.layers)
    fixed = sum(g.pages(context_tokens, plan.demand) for g in plan.whole if g.first.kind not in GROWING)
    states = [g for g in plan.groups if g.first.kind == "state"]
    return EngineLayout(
        name=_name(plan),
        block_tokens=plan.block,
        groups=tuple(c for g in plan.groups for c in _cache_groups(g)),
        stored_bytes_per_token=_growth(layers, plan.demand.dcp),
        padded_bytes_per_token=sum(plan.pool_block_bytes / (g.block * _share(g, plan.demand.dcp)) for g in plan.whole if g.first.kind in GROWING),
        pool_bytes_per_token=pool_token_bytes(plan, context_tokens),
        pool_bytes_per_block=plan.pool_block_bytes,
        fixed_bytes_per_sequence=fixed * plan.pool_block_bytes,
        state_slots_per_request=states[0].pages(context_tokens, plan.demand) if states else 0,
        state_bytes_per_slot=sum(g.page_sum for g in states),
        derivation=tuple(_derive(plan, layers)),
    )


def request_blocks(plan: Plan, tokens: int) -> int:
    """Blocks of the shared pool one request of `tokens` may hold, over all groups."""
    return sum(g.pages(tokens, plan.demand) for g in plan.whole)


def pool_token_bytes(plan: Plan, context_tokens: int) -> float:
    """Bytes of pool behind one token of the reported capacity, by the version's way of reporting."""
    if not plan.groups or not context_tokens:
        return 0
    if plan.site.behaviour.capacity_form == "blocks":
        return plan.pool_block_bytes * len(plan.whole) / (min(g.block for g in plan.whole) * plan.demand.dcp)
    return plan.pool_block_bytes * request_blocks(plan, context_tokens) / context_tokens


def _share(group: Group, dcp: int) -> int:
    return dcp if group.first.sharded else 1


def _growth(layers: tuple[LayerSpec, ...], dcp: int) -> float:
    total = sum((Fraction(x.spec.unpadded_page, x.spec.block * (dcp if x.spec.sharded else 1)) for x in layers if x.spec.kind in GROWING), Fraction(0))
    return int(total) if total.denominator == 1 else float(total)


def _cache_groups(group: Group) -> Iterator[CacheGroup]:
    roles: dict[str, list[LayerSpec]] = {}
    for layer in group.layers:
        roles.setdefault(layer.spec.role, []).append(layer)
    for role, own in roles.items():
        first = own[0].spec
        grows = first.kind in GROWING
        yield CacheGroup(
            kind=role,  # type: ignore[arg-type]
            layers=len(own),
            block_tokens=first.block,
            bytes_per_block=sum(x.spec.page for x in own),
            bytes_per_token=sum(x.spec.bytes_per_token for x in own) if grows else 0,
            window_tokens=first.window or first.chunk or None if not grows else None,
            state_bytes=sum(x.spec.content for x in own) if first.kind == "state" else 0,
        )


def _name(plan: Plan) -> Msg:
    word = plan.site.cache_dtype
    roles = {x.spec.role for x in plan.layers}
    if "compressed" in roles:
        rows = next(x.spec.content for x in plan.layers if x.spec.role == "compressed")
        return msg("{size}-byte {word} rows, compressed, with windows", size=rows, word=plain_word(word, plan.site.model_dtype))
    if "latent" in roles:
        content = next(x.spec.content for x in plan.layers if x.spec.role == "latent")
        rows = msg("{size}-byte {word} latent rows", size=content, word=word if word in DS_MLA_ROW else plain_word(word, plan.site.model_dtype))
    else:
        rows = msg("{word} rows", word=plain_word(word, plan.site.model_dtype)) if roles & {"kv", "window"} else msg("no rows")
    keys = next((x.spec.content for x in plan.layers if x.spec.role == "index_key"), 0)
    if keys and "state" in roles:
        return msg("{rows} beside {size}-byte index keys and {word} states", rows=rows, size=keys, word=plan.state_dtype)
    if keys:
        return msg("{rows} beside {size}-byte index keys", rows=rows, size=keys)
    return msg("{rows} beside {word} states", rows=rows, word=plan.state_dtype) if "state" in roles else rows


def _derive(plan: Plan, layers: tuple[LayerSpec, ...]) -> Iterator[Derivation]:
    yield from _derive_growth(plan, layers)
    yield from _derive_block(plan)
    if plan.groups:
        yield _derive_pool(plan)


def _derive_growth(plan: Plan, layers: tuple[LayerSpec, ...]) -> Iterator[Derivation]:
    terms: list[str] = []
    values: dict[str, int | float] = {}
    kinds: dict[tuple[str, int, int, int], int] = {}
    for x in layers:
        if x.spec.kind in GROWING:
            key = (x.spec.role, x.spec.row_bytes, x.spec.tokens_per_row, plan.demand.dcp if x.spec.sharded else 1)
            kinds[key] = kinds.get(key, 0) + 1
    for i, ((role, row, ratio, ranks), count) in enumerate(kinds.items()):
        name = f"{role}{i or ''}"
        values |= {f"{name}_layers": count, f"{name}_row_bytes": row}
        part = f"{name}_layers * {name}_row_bytes"
        if ratio > 1:
            values[f"{name}_ratio"] = ratio
            part += f" / {name}_ratio"
        if ranks > 1:
            values["dcp"] = ranks
            part += " / dcp"
        terms.append(part)
    if terms:
        yield Derivation(
            name="stored_bytes_per_token_per_gpu",
            formula=" + ".join(terms),
            values=values,
            result=_growth(layers, plan.demand.dcp),
            unit="B/token",
            reason=msg("rows of every layer that grows, as one GPU stores them"),
            source="vLLM v1/kv_cache_interface.py",
        )


def _derive_block(plan: Plan) -> Iterator[Derivation]:
    choice = plan.choice
    if choice.state_bytes and choice.step * -(-choice.state_bytes // (choice.step * choice.token_bytes)) == choice.block:
        yield Derivation(
            name="block_tokens",
            formula="step * ceil(state_bytes / (step * token_bytes))",
            values={"step": choice.step, "state_bytes": choice.state_bytes, "token_bytes": choice.token_bytes},
            result=choice.block,
            unit="tokens",
            reason=msg("the attention block grows in kernel steps until one layer's page holds the widest recurrent state"),
            source="vLLM platforms/interface.py _align_hybrid_block_size",
        )


def _derive_pool(plan: Plan) -> Derivation:
    values: dict[str, int | float] = {f"group{i}_bytes": g.page_sum for i, g in enumerate(plan.groups)}
    widest = max(values.values())
    exact = widest == plan.pool_block_bytes
    formula = f"max({', '.join(values)})" if len(values) > 1 else next(iter(values))
    if not exact:
        values["padding"] = plan.pool_block_bytes - int(widest)
        formula += " + padding"
    return Derivation(
        name="pool_bytes_per_block",
        formula=formula,
        values=values,
        result=plan.pool_block_bytes,
        unit="B",
        reason=msg("all groups draw blocks from one pool, so a block costs what the widest group needs"),
        source=_PLANNING,
    )
