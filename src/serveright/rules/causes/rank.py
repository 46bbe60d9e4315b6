"""Signs -> causes by likelihood, what is ruled out, what is no fault, and the cheapest next checks.

Scores add up the weights of the signs that speak for a cause, less those against it; shares follow by a soft maximum beside "none of these".
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from serveright.rules.causes.base import CauseRule, all_causes
from serveright.rules.causes.unknown import own_error
from serveright.types.diagnosis import Cause, Evidence, RuledOut, Sign
from serveright.types.report import Finding
from serveright.types.text import Msg, msg

UNFOUND = 3.0
"""What it counts against a cause that the audit would have found, with command and model at hand, and did not."""
NONE_OF_THESE = 1.2
"""Score of an explanation nobody wrote down."""
MOOD = 0.45
"""Weights up to this, by themselves, speak for nothing."""
SHOWN = 8
LEAST = 0.02
"""Causes with a smaller share are not shown."""
LEANING = 0.8
"""What it counts that a cause has the effect people complain about."""
AUDIT = {"error": 2.8, "warning": 2.0, "note": 1.0}
UNASKED = 0.6
"""Factor on the audit's word where nobody complains about what the cause would show."""
UNSEEN = 0.35
"""The same where the server was watched and showed nothing of it."""
UNSAID = 2.0
"""What it counts against a cause of a crash that only the command suggests, where the log ends in words about something else."""
SAYING = ("log", "symptom", "metrics", "probe", "gpu")
WATCHED = ("metrics", "probe", "gpu", "log")
CERTAINTY = {"certain": 1.0, "likely": 0.9, "possible": 0.6}
MEMORY = re.compile(r"(?i)memory|alloc|\boom\b|kv cache|cache blocks")
LEANS: dict[str, tuple[str, ...]] = {
    "crash": (
        "does_not_start",
        "crash_in_service",
        "oom",
        "hang",
        "restarts",
        "tp_rejected",
        "oom_at_start",
        "oom_in_service",
        "window_does_not_fit",
        "image_oom",
        "port_in_use",
        "model_fetch",
    ),
    "slow": (
        "slow",
        "slow_decode",
        "slow_prefill",
        "slow_after_burst",
        "slow_start",
        "prefix_not_hit",
        "ep_slower",
        "multi_node_slow",
        "queueing",
        "one_long_prompt",
    ),
    "wrong_output": (
        "tools_ignored",
        "thinking_leaks",
        "schema_thinking",
        "garbage",
        "quality_drop",
        "not_repeatable",
        "every_chat_fails",
        "worse_with_length",
        "content_empty",
    ),
    "capacity": ("kv_fills", "half_the_users", "kv_shrank_after_upgrade", "capacity_differs", "queueing"),
}

SHOWS: dict[str, tuple[str, ...]] = {
    "slow": ("prefix_zero", "prefix_alternates", "preempting", "acceptance_low", "speculation_at_load", "ranks_uneven", "experts_uneven", "waiting_kv_low"),
    "wrong_output": ("corrupted",),
    "capacity": ("kv_full", "waiting_capacity", "state_pool_full"),
}
"""What metrics complain about by themselves."""


class Scored(Struct, frozen=True, kw_only=True):
    """One cause with what speaks for and against it."""

    cause: CauseRule
    score: float
    speaks: tuple[Sign, ...]
    against: tuple[Sign, ...]
    findings: tuple[Finding, ...]


def score(signs: Sequence[Sign], findings: Sequence[Finding], engine: str | None) -> list[Scored]:
    """Every cause that anything but a mood speaks for, likeliest first."""
    by_key = {sign.key: sign for sign in signs}
    leaning = {effect for effect, keys in LEANS.items() if any(f"symptom:{key}" in by_key for key in keys)}
    leaning |= {effect for effect, keys in SHOWS.items() if any(f"metrics:{key}" in by_key for key in keys)}
    if "derived:ended_with_error" in by_key and "derived:started" not in by_key:
        leaning = {"crash"}
    scored = [_score(cause, by_key, findings, leaning) for cause in all_causes() if _possible(cause, by_key, engine)]
    return sorted((one for one in scored if one.findings or sum(one.cause.speaks[sign.key] for sign in one.speaks) > MOOD), key=lambda one: -one.score)


def _possible(cause: CauseRule, signs: Mapping[str, Sign], engine: str | None) -> bool:
    return (engine is None or cause.engine in (None, engine)) and (not cause.needs or any(key in signs for key in cause.needs))


def _score(cause: CauseRule, signs: Mapping[str, Sign], findings: Sequence[Finding], leaning: set[str]) -> Scored:
    speaks = tuple(signs[key] for key in cause.speaks if key in signs)
    against = tuple(signs[key] for key in cause.against if key in signs)
    own = tuple(finding for finding in findings if finding.code == cause.code or f"audit:{finding.code}" in cause.speaks)
    total = sum(cause.speaks[sign.key] for sign in speaks) - sum(cause.against[sign.key] for sign in against)
    asked = any(key.startswith("symptom:") for key in cause.speaks)
    unasked = asked and not any(sign.key.startswith("symptom:") for sign in speaks)
    watched = not speaks and any(key.partition(":")[0] in WATCHED or key == "derived:ended_with_error" for key in signs)
    total += max((AUDIT[finding.severity] * CERTAINTY[finding.confidence] for finding in own), default=0.0) * (
        UNSEEN if watched and unasked else UNASKED if unasked else 1
    )
    total -= sum(cause.against[f"audit:{code}"] for code in {finding.code for finding in findings} if f"audit:{code}" in cause.against)
    if cause.audited and not own and any(key in signs for key in ("command:recurrent", "command:not_recurrent")):
        total -= UNFOUND
    if cause.effect == "crash" and _ends_otherwise(signs) and not any(_said(sign) for sign in speaks):
        total -= UNSAID
    effects = {cause.effect} | {finding.effect for finding in own}
    if leaning:
        total += LEANING if effects & leaning else -LEANING
    return Scored(cause=cause, score=total, speaks=speaks, against=against, findings=own)


def _said(sign: Sign) -> bool:
    return sign.key.partition(":")[0] in SAYING or sign.key == "derived:internal_error"


def _ends_otherwise(signs: Mapping[str, Sign]) -> bool:
    """Whether a log ends in an error of its own that is not about memory: what a derivation of sizes could explain."""
    last = signs.get("derived:ended_with_error")
    return last is not None and own_error(str(last.text)) and not MEMORY.search(str(last.text))


def ranked(scored: Sequence[Scored]) -> tuple[Cause, ...]:
    """Causes with their share, those too small to mention left out."""
    weights = [math.exp(min(one.score, 30)) for one in scored]
    whole = sum(weights) + math.exp(NONE_OF_THESE)
    shares = [weight / whole for weight in weights]
    return tuple(_cause(one, share) for one, share in zip(scored[:SHOWN], shares, strict=False) if share >= LEAST)


def _cause(one: Scored, share: float) -> Cause:
    cause = one.cause
    signs = sorted(one.speaks, key=lambda sign: -cause.speaks.get(sign.key, 0))
    lines = [evidence(sign) for sign in _lines(signs)]
    lines += [Evidence(source=finding.location.file, line=finding.location.line, text=finding.message) for finding in one.findings]
    fixes = [finding.fix for finding in one.findings if finding.fix is not None]
    return Cause(
        code=cause.code,
        title=cause.title,
        likelihood=round(share, 3),
        evidence=tuple(lines),
        against=tuple(evidence(sign) for sign in one.against),
        why=cause.why,
        fix=_once((*fixes, *cause.fix)),
        edits=tuple(edit for finding in one.findings for edit in finding.edits),
    )


def _lines(signs: Iterable[Sign]) -> list[Sign]:
    """The signs, each line of an input once: one line may tell several things."""
    seen: dict[tuple[str, int, object], Sign] = {}
    for sign in signs:
        seen.setdefault((sign.source, sign.line, sign.text if isinstance(sign.text, str) else sign.key), sign)
    return list(seen.values())


def evidence(sign: Sign) -> Evidence:
    """A sign as a line of the report."""
    text = sign.text or Msg(sign.key)
    if sign.count > 1 and isinstance(text, str):
        text = msg("{text} ({count:n} times)", text=text, count=sign.count)
    return Evidence(source=sign.source, line=sign.line, text=text)


def ruled_out(scored: Sequence[Scored], causes: Sequence[Cause]) -> tuple[RuledOut, ...]:
    """What the complaint suggests, but the evidence contradicts."""
    named = {cause.code for cause in causes}
    return tuple(
        RuledOut(code=one.cause.code, title=one.cause.title, because=tuple(evidence(sign) for sign in one.against))
        for one in scored
        if one.against and one.cause.code not in named and sum(one.cause.speaks[sign.key] for sign in one.speaks) >= 1
    )[:SHOWN]


def next_checks(causes: Sequence[Cause], signs: Sequence[Sign]) -> tuple[Msg, ...]:
    """The cheap checks that would tell the first causes apart."""
    rules = {cause.code: cause for cause in all_causes()}
    checks = [rules[cause.code].next_check for cause in causes[:4] if cause.code in rules]
    kinds = {sign.key.partition(":")[0] for sign in signs}
    general = (
        (None if "log" in kinds else msg("Give the server's log from its first line on (--log FILE): start-up lines decide most cases.")),
        (None if "command" in kinds else msg("Give the launch command (--command FILE).")),
        (None if "metrics" in kinds or any(cause.likelihood > 0.6 for cause in causes) else msg("Give two /metrics pages taken a minute apart under load.")),
    )
    return _once(check for check in (*checks, *general) if check is not None)[:5]


def _once(texts: Iterable[Msg]) -> tuple[Msg, ...]:
    """Each text the first time only."""
    kept: list[Msg] = []
    for text in texts:
        if text not in kept:
            kept.append(text)
    return tuple(kept)
