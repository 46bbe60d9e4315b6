"""Readings -> signs: what a log's periodic figures, metrics pages, GPUs, a benchmark and the command itself say about a server. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from serveright.analysis.given import Given
from serveright.types.diagnosis import LogReading, Scrape, Sign
from serveright.types.engine import Sized
from serveright.types.model import Attention, Latent, ModelShape, Recurrent
from serveright.types.text import Msg, msg

FULL = 0.95
"""Share of the cache from which on it is full."""
POOL_LIMITS = 0.95
"""Share of the window below which a length that is refused was not set by the window."""
FREE = 0.6
"""Share of the cache below which room is no limit."""
MANY_QUERIES = 2000
"""Tokens asked of the prefix cache before a rate of zero means anything."""
SPREAD = 2.0
"""Busiest rank over the mean from which on ranks are unevenly loaded."""
LOW_ACCEPTANCE = 0.4
IDLE_LINES = 3
"""Periodic lines before an average of them means anything."""
REFUSED_FLAGS = ("unknown_flag", "ambiguous_flag", "invalid_choice", "missing_value", "tool_parser_unknown")
INTERNAL = re.compile(
    r"\b(AssertionError|UnboundLocalError|IndexError|KeyError|ZeroDivisionError)\b|AttributeError: '\w+' object has no|TypeError: \w+(\.\w+)*\(\) (got|missing|takes)"
)
"""Errors of Python that no check of the engine raises with words for the operator."""
BUSY = 32
"""Running requests from which on speculation has to earn its keep."""


def log_signs(log: LogReading) -> Iterator[Sign]:
    """What the periodic lines add up to, and whether the server ever served."""
    series = log.series
    at = log.source
    if log.started:
        yield Sign(key="derived:started", source=at)
    if log.engine is not None and not any(key in log.facts for key in REFUSED_FLAGS):
        yield Sign(key="derived:flags_accepted", source=at, text=msg("the engine came past reading its flags"))
    if log.errors:
        last = log.errors[-1]
        yield Sign(key="derived:ended_with_error", source=at, line=last.line, text=last.text)
        if INTERNAL.search(str(last.text)):
            yield Sign(key="derived:internal_error", source=at, line=last.line, text=last.text)
    usage, waiting = series.get("kv_usage"), series.get("waiting")
    if (preempted := series.get("preemptions")) is not None and preempted.high > 0:
        yield Sign(key="log:preempting", source=at, text=msg("preemptions up to {n:n} in one interval", n=preempted.high))
    if usage is not None and usage.high >= FULL:
        yield Sign(key="log:kv_full", source=at, text=msg("KV cache usage up to {share:pct}", share=usage.high))
    if usage is not None and waiting is not None and waiting.high >= 1 and waiting.mean > 0.5 and usage.high < FREE:
        yield Sign(
            key="log:waiting_kv_low",
            source=at,
            text=msg("{n:n} requests waited while at most {share:pct} of the cache was used", n=waiting.high, share=usage.high),
        )
    state = series.get("state_usage")
    if state is not None and state.high > 0.75 and waiting is not None and waiting.high >= 1 and (usage is None or usage.mean < FREE):
        yield Sign(key="metrics:state_pool_full", source=at, text=msg("state pool used to {share:pct} while requests wait", share=state.high))
    hits = series.get("hit_rate")
    if hits is not None and hits.high == 0 and hits.count >= IDLE_LINES and series.get("running", hits).mean >= 1:
        yield Sign(key="metrics:prefix_zero", source=at, text=msg("the prefix cache never hits in {n:n} periodic lines", n=hits.count))
    loads = {name.partition(" ")[2]: one.mean for name, one in series.items() if name.startswith("load ") and one.count >= IDLE_LINES}
    if uneven(loads):
        yield Sign(key="metrics:ranks_uneven", source=at, text=_loads(loads))
    accepted = series.get("acceptance_rate")
    if accepted is not None and accepted.mean < LOW_ACCEPTANCE:
        yield Sign(key="metrics:acceptance_low", source=at, text=msg("{share:pct} of the drafted tokens are accepted", share=accepted.mean))


def scrape_signs(scrapes: Sequence[Scrape]) -> Iterator[Sign]:
    """Levels from the last page, rates over all of them; one engine's pages, oldest first."""
    if not scrapes:
        return
    last = scrapes[-1]
    grown = growth(scrapes)
    rates = [now["prefix_hits"] / now["prefix_queries"] for now in map(growth, pairwise(scrapes)) if now.get("prefix_queries", 0) >= MANY_QUERIES]
    if sum(rate > 0.7 for rate in rates) >= 2 and sum(rate < 0.2 for rate in rates) >= 2:
        yield _sign("prefix_alternates", last, msg("the prefix hit rate alternates between {low:pct} and {high:pct}", low=min(rates), high=max(rates)))
    yield from _pressure(scrapes, last, grown)
    yield from _prefix(last, grown)
    yield from _ranks(last, scrapes)
    drafted, accepted = grown.get("draft_tokens", 0), grown.get("accepted_tokens", 0)
    rate = accepted / drafted if drafted else last.total.get("acceptance_rate")
    if rate is not None and (drafted > 100 or "acceptance_rate" in last.total) and rate < LOW_ACCEPTANCE:
        yield _sign("acceptance_low", last, msg("{share:pct} of the drafted tokens are accepted", share=rate))
    if drafted and last.total.get("running", 0) > BUSY:
        yield _sign("speculation_at_load", last, msg("{n:n} requests run while tokens are drafted", n=last.total["running"]))
    if grown.get("corrupted", 0) > 0:
        yield _sign("corrupted", last, msg("{n:n} requests had undefined logits", n=grown["corrupted"]))


def growth(scrapes: Sequence[Scrape]) -> dict[str, float]:
    """By how much each counter grew over the pages; since the start where there is one page. A restart begins anew."""
    if len(scrapes) == 1:
        return dict(scrapes[0].total)
    grown: dict[str, float] = {}
    for before, after in pairwise(scrapes):
        for name, value in after.total.items():
            step = value - before.total.get(name, 0.0)
            grown[name] = grown.get(name, 0.0) + (step if step >= 0 else value)
    return grown


def _sign(key: str, scrape: Scrape, text: object) -> Sign:
    return Sign(key=f"metrics:{key}", source=scrape.source, text=text)  # pyright: ignore[reportArgumentType]


def _pressure(scrapes: Sequence[Scrape], last: Scrape, grown: Mapping[str, float]) -> Iterator[Sign]:
    usage = max(scrape.total.get("kv_usage", 0.0) for scrape in scrapes)
    waiting = max(scrape.total.get("waiting", 0.0) for scrape in scrapes)
    capacity = max(scrape.total.get("waiting_capacity", 0.0) for scrape in scrapes)
    state = max(scrape.total.get("state_usage", 0.0) for scrape in scrapes)
    if "preemptions" in grown:
        if grown["preemptions"] > 0:
            text = msg("{n:n} preemptions", n=grown["preemptions"])
            running = max(scrape.total.get("running", 0.0) for scrape in scrapes)
            yield Sign(key="metrics:preempting", source=last.source, text=text, numbers={"running": running})
        else:
            yield _sign("no_preemption", last, msg("no preemption"))
    if usage >= FULL:
        yield _sign("kv_full", last, msg("KV cache usage up to {share:pct}", share=usage))
    if capacity >= 1:
        yield _sign("waiting_capacity", last, msg("{n:n} requests wait for room in the cache", n=capacity))
    if state > 0.75 and waiting >= 1 and last.total.get("full_usage", usage) < FREE:
        yield _sign("state_pool_full", last, msg("state pool used to {share:pct} while requests wait", share=state))
    elif waiting >= 1 and capacity < 1 and "kv_usage" in last.total and usage < FREE:
        yield _sign("waiting_kv_low", last, msg("{n:n} requests waited while at most {share:pct} of the cache was used", n=waiting, share=usage))


def _prefix(last: Scrape, grown: Mapping[str, float]) -> Iterator[Sign]:
    enabled = last.info.get("enable_prefix_caching")
    if enabled == "False":
        yield _sign("prefix_off", last, 'enable_prefix_caching="False"')
    elif enabled == "True":
        yield _sign("prefix_on", last, 'enable_prefix_caching="True"')
    asked = grown.get("prefix_queries", grown.get("prompt_tokens", 0) if last.engine == "sglang" else 0)
    if asked >= MANY_QUERIES and enabled != "False" and not grown.get("prefix_hits", 0) and ("prefix_hits" in last.total or "hit_rate" in last.total):
        yield _sign("prefix_zero", last, msg("no hit in {n:n} tokens asked of the prefix cache", n=asked))


def _ranks(last: Scrape, scrapes: Sequence[Scrape]) -> Iterator[Sign]:
    if len(last.ranks) > 1:
        load = {
            rank: sum(scrape.ranks.get(rank, {}).get(name, 0.0) for scrape in scrapes for name in ("running", "waiting")) / len(scrapes) for rank in last.ranks
        }
        if uneven(load):
            yield _sign("ranks_uneven", last, _loads(load))
    balance = last.total.get("expert_balance")
    if balance is not None and balance < 0.75:
        yield _sign("experts_uneven", last, msg("mean over busiest expert rank: {share:pct}", share=balance))


def uneven(load: Mapping[str, float]) -> bool:
    """Whether requests lie on some ranks far more than on others."""
    mean = sum(load.values()) / len(load) if len(load) > 1 else 0
    return mean >= 1 and (max(load.values()) >= SPREAD * mean or min(load.values()) == 0)


def _loads(load: Mapping[str, float]) -> Msg:
    return msg("requests by rank: {loads}", loads=", ".join(f"{rank}: {n:.3g}" for rank, n in sorted(load.items())))


SMALL_POOL = 0.25
"""Share of the budget below which the cache is what is left over."""
HEAVY = 0.85


def sized_signs(sized: Sized, source: str) -> Iterator[Sign]:
    """What the derivation says about the memory of this start."""
    memory = sized.memory
    if memory.weights_bytes > HEAVY * memory.budget_bytes:
        text = msg("weights take {weights:gib} of the {budget:gib} the engine may use", weights=memory.weights_bytes, budget=memory.budget_bytes)
        yield Sign(key="derived:weights_too_large", source=source, text=text)
    if 0 < memory.kv_pool_bytes < SMALL_POOL * memory.budget_bytes:
        text = msg("weights and overhead leave {pool:gib} of {budget:gib} for the cache", pool=memory.kv_pool_bytes, budget=memory.budget_bytes)
        yield Sign(key="derived:pool_small", source=source, text=text)


_SWITCHES: tuple[tuple[str, tuple[str, ...], str | None], ...] = (
    ("tool_parser", ("--tool-call-parser",), "no_tool_parser"),
    ("reasoning_parser", ("--reasoning-parser",), "no_reasoning_parser"),
    ("chat_template", ("--chat-template",), "no_chat_template"),
    ("forced_backend", ("--attention-backend", "--moe-backend", "--moe-runner-backend", "--mm-attention-backend"), None),
    ("pool_by_hand", ("--num-gpu-blocks-override", "--max-total-tokens", "--kv-cache-memory-bytes", "--kv-cache-memory"), "no_pool_by_hand"),
    ("connector", ("--kv-transfer-config", "--enable-lmcache", "--kv-offloading-size", "--enable-hierarchical-cache"), "no_connector"),
    ("quantization", ("--quantization",), "no_quantization"),
    ("block_by_hand", ("--block-size", "--mamba-block-size", "--page-size"), "no_block_by_hand"),
    ("eager", ("--enforce-eager", "--disable-cuda-graph"), "graphs_on"),
)


def command_signs(given: Given, shape: ModelShape | None) -> Iterator[Sign]:
    """What the command says and does not say, as far as causes ask."""
    for present, flags, absent in _SWITCHES:
        found = given.flag(*flags)
        if found is not None and (present != "eager" or given.on(*flags)):
            yield Sign(key=f"command:{present}", source=found.location.file, line=found.location.line, text=f"{found.written} {found.value or ''}".strip())
        elif absent is not None:
            yield _said(given, absent)
    environment = given.command.env
    if not given.has(*_SWITCHES[3][1]) and not any(name.endswith(("ATTENTION_BACKEND", "MLA_DISABLE")) for name in environment):
        yield _said(given, "no_forced_backend")
    if "VLLM_TRACE_FUNCTION" not in environment:
        yield _said(given, "no_tracing")
    if given.speculation is None:
        yield _said(given, "no_speculation")
    if given.value("--kv-cache-dtype") in (None, "auto"):
        yield _said(given, "kv_dtype_auto")
    if given.value("--dtype") in (None, "auto", "bfloat16"):
        yield _said(given, "dtype_auto")
    if given.parallel.ep > 1:
        yield _said(given, "expert_parallel")
    if given.parallel.gpus == 1:
        yield _said(given, "one_gpu")
    if shape is not None:
        yield from shape_signs(shape, given.command.location.file)


def window_signs(signs: Sequence[Sign], given: Given) -> Iterator[Sign]:
    """A prompt was refused below the window that was asked for: the pool, not the window, is the limit."""
    window = given.integer("--context-length") or given.integer("--max-model-len")
    for sign in signs:
        limit = sign.numbers.get("limit")
        if sign.key == "log:input_too_long" and window and isinstance(limit, float) and limit < POOL_LIMITS * window:
            text = msg("prompts are refused from {limit:n} tokens, with a window of {window:n}", limit=limit, window=window)
            yield Sign(key="derived:pool_below_window", source=sign.source, line=sign.line, text=text)


def shape_signs(shape: ModelShape, source: str) -> Iterator[Sign]:
    """Kinds of layers the model has, and has not, as far as causes ask."""
    mixers = [mixer for layer in shape.layers for mixer in layer.mixers]
    recurrent = any(isinstance(mixer, Recurrent) for mixer in mixers)
    dsa = any(isinstance(mixer, Latent) and mixer.indexer is not None for mixer in mixers)
    windows = any(isinstance(mixer, Attention) and (mixer.window_tokens or mixer.chunk_tokens) for mixer in mixers)
    for key in ("recurrent" if recurrent else "not_recurrent", "" if dsa else "not_dsa", "" if windows or recurrent else "no_windows"):
        if key:
            yield Sign(key=f"command:{key}", source=source, text=_WORDS[key])


_WORDS = {
    "no_tool_parser": msg("the command sets no tool parser"),
    "no_reasoning_parser": msg("the command sets no reasoning parser"),
    "no_chat_template": msg("the command sets no chat template"),
    "no_pool_by_hand": msg("the command leaves the pool's size to the engine"),
    "no_connector": msg("the command names no KV connector or host tier"),
    "no_quantization": msg("the command names no quantisation"),
    "no_block_by_hand": msg("the command sets no block size"),
    "graphs_on": msg("the command leaves CUDA graphs on"),
    "no_forced_backend": msg("the command forces no backend"),
    "no_tracing": msg("function tracing is off"),
    "no_speculation": msg("the command turns no speculation on"),
    "kv_dtype_auto": msg("the KV cache keeps its automatic precision"),
    "dtype_auto": msg("the model runs in its own dtype"),
    "expert_parallel": msg("experts are kept whole"),
    "one_gpu": msg("there is one rank only"),
    "recurrent": msg("the model has recurrent layers"),
    "not_recurrent": msg("the model has no recurrent layers"),
    "no_windows": msg("every layer keeps the whole context anyway"),
    "not_dsa": msg("the model has no sparse latent attention"),
}


def _said(given: Given, key: str) -> Sign:
    return Sign(key=f"command:{key}", source=given.command.location.file, line=given.command.location.line, text=_WORDS[key])
