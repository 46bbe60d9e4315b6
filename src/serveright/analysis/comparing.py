"""Models side by side: every row computed from configs and engine layouts, in the playbook's order. Pure; knows no catalogue and no name."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from serveright.analysis.alignment import alignment
from serveright.analysis.cache import logical_cache
from serveright.analysis.choosing import growing_layers, indexer_of, recurrent_layers
from serveright.analysis.describe import NAMES, kind
from serveright.analysis.layouts import name as layout_name
from serveright.analysis.layouts import replicated_cache
from serveright.types.choosing import CompareRow
from serveright.types.design import Candidate
from serveright.types.model import Attention, Checkpoint, Family, Latent, ModelShape, Recurrent
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic
from serveright.types.weights import WeightNeed


class Column(Struct, frozen=True, kw_only=True):
    """One model on one fleet and engine. `best` None where nothing fits; `missing` says why. `runs_on`: capabilities with a path on some engine."""

    name: str
    shape: ModelShape
    family: Family
    checkpoint: Checkpoint
    checkpoint_id: str
    need: WeightNeed
    tokens: int
    """Mean length of a request."""
    best: Candidate | None
    missing: Msg | None
    kernels: tuple[Msg, ...]
    runs_on: tuple[int, ...]
    released_format: str
    """Number format in which the makers released the model: weights in another one gave up precision."""
    flags: tuple[str, ...] = ()


Answer = tuple[Msg, float | None]
Ask = Callable[[Column], Answer]
NONE = msg("does not fit")


def rows(columns: Sequence[Column], traffic: Traffic) -> Iterator[CompareRow]:
    """Every row in order: what the model is, what it costs, what it does here, what it gives up."""
    users = traffic.concurrency or 1
    yield _row(columns, "reduced", msg("what is reduced"), reduced, msg("where a family saves decides where it is cheap"))
    yield _row(columns, "cache_per_token", msg("cache a token"), _per_token, msg("growth of one request, whole model, before any engine copies or pads it"))
    yield _row(columns, "cache_per_request", msg("cache a request"), _per_request, msg("at the mean length of this traffic"))
    everyone = msg("what {users} requests of mean length keep, before copies", users=users)
    yield _row(columns, "cache_all_users", msg("cache of all"), lambda c: _all_users(c, users), everyone)
    yield _row(columns, "length", msg("twice the length"), _length, msg("how much a request of twice the length keeps and reads more"))
    yield _row(columns, "homogeneity", msg("kinds of layer"), homogeneity, msg("unlike layers need pages of unlike size: engines group and pad them"))
    yield _row(
        columns, "parallelism", msg("what TP does to the cache"), parallelism, msg("a cache that cannot be split is copied: then data-parallel attention pays")
    )
    yield _row(columns, "kernels", msg("kernels here"), _kernels, msg("the path each engine takes on this GPU"))
    yield _row(columns, "hardware", msg("runs on"), _hardware, msg("compute capabilities with a path on one of the engines asked for"))
    yield _row(columns, "prefix", msg("prefix caching"), _prefix, msg("the step in which a shared beginning is found again"))
    yield _row(columns, "difficulty", msg("what must be right"), difficulty, msg("each is a setting, a version or a kernel that can go wrong"))
    yield _row(columns, "given_up", msg("what is given up"), given_up, msg("no saving is free; test your own task for it"))
    yield _row(columns, "checkpoint", msg("checkpoint"), _checkpoint, msg("the narrowest format that this GPU multiplies itself"))
    yield _row(columns, "layout", msg("layout"), _layout, msg("the best of all layouts for this traffic"))
    yield _row(columns, "memory", msg("weights and KV pool a GPU"), _memory, msg("what is left after weights is what users share"))
    room = msg("requests of the longest length that find room at once")
    yield _row(columns, "users", msg("users"), _users, room)
    yield _row(columns, "ttft", msg("TTFT"), _ttft, msg("median time to the first token, waiting included"))
    yield _row(columns, "tpot", msg("TPOT"), _tpot, msg("time a token while {users} are served", users=users))
    yield _row(columns, "throughput", msg("output tokens/s"), _throughput, msg("of all GPUs together"))
    yield _row(columns, "cost", msg("USD per million tokens"), _cost, msg("all GPUs paid, output tokens counted"))
    common = {flag for flag in columns[0].flags if all(flag in column.flags for column in columns)}
    differing = msg("flags that the commands do not share")
    yield _row(columns, "flags", msg("flags that differ"), lambda c: _flags(c, common), differing)


def _row(columns: Sequence[Column], item: str, label: Msg, ask: Ask, why: Msg) -> CompareRow:
    answers = {column.name: ask(column) for column in columns}
    return CompareRow(
        item=item, label=label, why=why, values={name: text for name, (text, _) in answers.items()}, figures={name: n for name, (_, n) in answers.items()}
    )


def reduced(column: Column) -> Answer:
    """What the attention layers save against one K and V row a head."""
    mixers = [m for layer in column.shape.layers for m in layer.mixers]
    words: list[Msg] = []
    if latent := next((m for m in mixers if isinstance(m, Latent)), None):
        full = latent.query_heads * (latent.nope_dim + latent.rope_dim + latent.v_head_dim)
        row = latent.kv_lora_rank + latent.rope_dim
        words.append(
            msg("the row: {row} elements for all {heads} heads, {factor:.0f} times less than their own", row=row, heads=latent.query_heads, factor=full / row)
        )
    if attention := next((m for m in mixers if isinstance(m, Attention) and m.kv_heads < m.query_heads), None):
        words.append(msg("KV heads: {kv} for {q} query heads", kv=attention.kv_heads, q=attention.query_heads))
    if indexer := indexer_of(column.shape):
        words.append(msg("the rows read: {topk:n} picked by an indexer", topk=indexer.topk))
    if states := recurrent_layers(column.shape):
        words.append(msg("the layers that keep rows: {n} of {all} keep a state instead", n=states, all=len(column.shape.layers)))
    if window := next((m.window_tokens or m.chunk_tokens for m in mixers if isinstance(m, Attention) and (m.window_tokens or m.chunk_tokens)), None):
        words.append(msg("the reach: some layers keep {n:n} tokens", n=window))
    return _listed(words, msg("nothing: a K and V row for every head")), None


def _listed(words: Sequence[Msg], empty: Msg) -> Msg:
    if not words:
        return empty
    text = words[0]
    for word in words[1:]:
        text = msg("{a}; {b}", a=text, b=word)
    return text


def _per_token(column: Column) -> Answer:
    size = logical_cache(column.shape, column.tokens).bytes_per_token
    return msg("{n:n} bytes", n=size), size


def _per_request(column: Column) -> Answer:
    cache = logical_cache(column.shape, column.tokens)
    if cache.state_bytes:
        return msg("{n:gib}, of it {state:gib} a fixed state", n=cache.bytes, state=cache.state_bytes), float(cache.bytes)
    return msg("{n:gib}", n=cache.bytes), float(cache.bytes)


def _all_users(column: Column, users: int) -> Answer:
    size = logical_cache(column.shape, column.tokens).bytes * users
    return msg("{n:gib}", n=size), float(size)


def _length(column: Column) -> Answer:
    once, twice = (logical_cache(column.shape, column.tokens * n).bytes for n in (1, 2))
    indexer = indexer_of(column.shape)
    factor = twice / once if once else 1.0
    if indexer is not None:
        return msg("keeps {factor:.2f} times, reads {topk:n} rows at any length", factor=factor, topk=indexer.topk), factor
    return msg("keeps and reads {factor:.2f} times", factor=factor), factor


def homogeneity(column: Column) -> Answer:
    """How many kinds of mixer, and in how many groups the engine keeps their caches."""
    kinds = sorted({NAMES[kind(m)] for layer in column.shape.layers for m in layer.mixers})
    groups = len(column.best.sized.layout.groups) if column.best and column.best.sized else None
    text = msg("{kinds}", kinds=", ".join(kinds))
    if groups is not None:
        text = msg("{kinds} in {n} cache groups", kinds=", ".join(kinds), n=groups)
    return text, float(len(kinds))


def parallelism(column: Column) -> Answer:
    """Over how many shards the rows split before copies begin."""
    mixers = [m for layer in column.shape.layers for m in layer.mixers]
    heads = min((m.kv_heads for m in mixers if isinstance(m, Attention)), default=1)
    experts = max((f.experts for layer in column.shape.layers for f in layer.ffns), default=0)
    tail = msg(", experts spread over up to {n} GPUs", n=experts) if experts else msg("")
    if any(isinstance(m, Latent) for m in mixers):
        return msg("copied on every shard: one row for all heads{tail}", tail=tail), 1.0
    if heads == 1 and not replicated_cache(column.shape, 2):
        return msg("states split by heads{tail}", tail=tail), 1.0
    return msg("split over up to {heads} shards{tail}", heads=heads, tail=tail), float(heads)


def _kernels(column: Column) -> Answer:
    return _listed(column.kernels, msg("no engine runs it here")), None


def _hardware(column: Column) -> Answer:
    return msg("{list}", list=", ".join(f"sm_{sm}" for sm in column.runs_on) or "-"), float(len(column.runs_on))


def _prefix(column: Column) -> Answer:
    if column.best is None or column.best.sized is None:
        return NONE, None
    numbers = alignment(column.shape, column.best.sized)
    if recurrent_layers(column.shape):
        return msg("in steps of {n:n} tokens; a restored state is not bit-identical to a computed one", n=numbers.block_tokens), float(numbers.block_tokens)
    return msg("in steps of {n:n} tokens", n=numbers.block_tokens), float(numbers.block_tokens)


def difficulty(column: Column) -> Answer:
    """Things that a plain decoder does not have, each a way to go wrong."""
    shape = column.shape
    mixers = [m for layer in shape.layers for m in layer.mixers]
    words = [
        (any(isinstance(m, Recurrent) for m in mixers), msg("state slots")),
        (growing_layers(shape) not in (0, len(shape.layers)), msg("unlike cache groups")),
        (indexer_of(shape) is not None, msg("an indexer with kernels of its own")),
        (any(isinstance(m, Latent) for m in mixers), msg("a cache that TP copies")),
        (any(f.kind == "moe" for layer in shape.layers for f in layer.ffns), msg("expert placement")),
        (bool(shape.towers), msg("towers and their memory")),
        (bool(shape.mtp_layers), msg("prediction layers to use or leave")),
        (shape.remote_code, msg("code from the repository")),
        (column.checkpoint.method != "none", msg("a number format")),
    ]
    found = [word for holds, word in words if holds]
    return msg("{n}: {list}", n=len(found), list=_listed(found, msg("nothing special"))), float(len(found))


def given_up(column: Column) -> Answer:
    """What each saving may cost in answers."""
    mixers = [m for layer in column.shape.layers for m in layer.mixers]
    words: list[Msg] = []
    if recurrent_layers(column.shape):
        words += [msg("exact retrieval in the state layers"), msg("bit-identity of a restored prefix")]
    if indexer_of(column.shape):
        words.append(msg("tokens that the indexer misses"))
    if any(isinstance(m, Attention) and (m.window_tokens or m.chunk_tokens) for m in mixers):
        words.append(msg("what lies before the window, in those layers"))
    if column.checkpoint.format != column.released_format:
        words.append(msg("precision of weights ({format})", format=column.checkpoint.format))
    return _listed(words, msg("nothing that the config shows")), float(len(words))


def _checkpoint(column: Column) -> Answer:
    return msg("{name} ({format}, {bytes:gib})", name=column.checkpoint_id, format=column.checkpoint.format, bytes=column.need.total_bytes), float(
        column.need.total_bytes
    )


def _layout(column: Column) -> Answer:
    if column.best is None:
        return column.missing or NONE, None
    drafted = column.best.settings.speculative_tokens
    words = f"{column.best.engine} {column.best.version} {layout_name(column.best.parallel)}"
    return (msg("{words} + MTP {n}", words=words, n=drafted) if drafted else msg("{words}", words=words)), float(column.best.parallel.gpus)


def _memory(column: Column) -> Answer:
    if column.best is None or column.best.sized is None:
        return NONE, None
    split = column.best.sized.memory
    return msg("{weights:gib} + {pool:gib}", weights=split.weights_bytes, pool=split.kv_pool_bytes), float(split.kv_pool_bytes)


def _users(column: Column) -> Answer:
    if column.best is None or column.best.sized is None:
        return NONE, None
    users = column.best.sized.capacity.max_concurrency * column.best.parallel.replicas
    return msg("{n:,.1f}", n=users), users


def _ttft(column: Column) -> Answer:
    value = column.best.estimate.ttft_median_s if column.best and column.best.estimate else None
    return (NONE if value is None else msg("{n:s}", n=value)), value


def _tpot(column: Column) -> Answer:
    value = column.best.estimate.tpot_s if column.best and column.best.estimate else None
    return (NONE if value is None else msg("{n:s}", n=value)), value


def _throughput(column: Column) -> Answer:
    value = column.best.estimate.output_tokens_per_s if column.best and column.best.estimate else None
    return (NONE if value is None else msg("{n:,.0f}", n=value)), value


def _cost(column: Column) -> Answer:
    value = column.best.cost_per_million_tokens if column.best else None
    if column.best is None:
        return NONE, None
    return (msg("no sourced price") if value is None else msg("{n:.2f}", n=value)), value


def _flags(column: Column, common: set[str]) -> Answer:
    own = [flag for flag in column.flags if flag not in common]
    return msg("{list}", list=" ".join(own) or "-"), float(len(own))


def verdicts(columns: Sequence[Column], table: Sequence[CompareRow]) -> Iterator[Msg]:
    """What follows from the rows, and where they contradict what is often said."""
    by_item = {row.item: row for row in table}
    for item, text in (
        ("cache_per_request", msg("the smallest cache a request")),
        ("users", msg("the most users")),
        ("tpot", msg("the fastest token")),
        ("throughput", msg("the most tokens a second")),
        ("cost", msg("the cheapest token")),
    ):
        figures = {name: n for name, n in by_item[item].figures.items() if n is not None}
        if len(figures) > 1:
            best = (max if item in ("users", "throughput") else min)(sorted(figures), key=lambda name, f=figures: f[name])
            yield msg("{what}: {name} ({value})", what=text, name=best, value=by_item[item].values[best])
    yield from _contradictions(columns)


def _contradictions(columns: Sequence[Column]) -> Iterator[Msg]:
    for column in columns:
        cache = logical_cache(column.shape, column.tokens)
        keys = sum(part.bytes for part in cache.parts if part.kind == "index_key")
        if keys:
            yield msg(
                "{name}: the indexer saves reading, not room: its keys add {share:pct} to the cache of a request",
                name=column.name,
                share=keys / (cache.bytes - keys),
            )
        if cache.state_bytes and cache.state_bytes > cache.bytes - cache.state_bytes:
            yield msg(
                "{name}: at {n:n} tokens its fixed states are larger than its rows: a hybrid saves only on long requests", name=column.name, n=column.tokens
            )
    dense = [c for c in columns if c.family.ffn == "dense"]
    for moe in (c for c in columns if c.family.ffn != "dense"):
        for other in dense:
            if moe.need.active_elements < other.need.total_elements < moe.need.total_elements:
                yield msg(
                    "one user: {moe} reads {active:n} parameters a token, {dense} reads {total:n}: the larger model is the lighter one at batch 1",
                    moe=moe.name,
                    active=moe.need.active_elements,
                    dense=other.name,
                    total=other.need.active_elements,
                )
