"""What a model card states: context, parameters, recommended parsers and flags. Hints with line and quote, of lower rank than any config; prose is searched, never believed."""

import re
from typing import Literal

from msgspec import Struct

HintKind = Literal["context_tokens", "parameters", "active_parameters", "tool_parser", "reasoning_parser", "flag", "licence", "base_model"]


class CardHint(Struct, frozen=True, kw_only=True):
    """One statement of a card. `value` is a number for counts, else the card's own word; `engine` where the statement is part of a launch command; `line` counts from 1."""

    kind: HintKind
    value: int | str
    line: int
    quote: str
    engine: Literal["vllm", "sglang"] | None = None


_NUMBER = r"~?\*{0,2}(\d[\d,]*(?:\.\d+)?)\s*([KMBT])?(?![\w.])"
_GAP = r"[^\d\n]{0,40}?"
_PATTERNS: tuple[tuple[HintKind, re.Pattern[str]], ...] = (
    ("context_tokens", re.compile(rf"context (?:length|window|size)s?\b{_GAP}{_NUMBER}", re.IGNORECASE)),
    ("context_tokens", re.compile(rf"{_NUMBER}[- ]?(?:token )?context(?: length| window)?\b", re.IGNORECASE)),
    ("active_parameters", re.compile(rf"activat?ed? (?:param\w*)\b{_GAP}{_NUMBER}", re.IGNORECASE)),
    ("active_parameters", re.compile(rf"{_NUMBER}\s*(?:billion )?(?:param\w* )?(?:activated|active)\b", re.IGNORECASE)),
    ("parameters", re.compile(rf"(?:total|number of) param\w*\b{_GAP}{_NUMBER}", re.IGNORECASE)),
    ("parameters", re.compile(rf"{_NUMBER}\s*(?:total param\w*|in total|(?:billion )?param\w* in total)\b", re.IGNORECASE)),
)
_ENGINES: tuple[tuple[Literal["vllm", "sglang"], re.Pattern[str]], ...] = (
    ("vllm", re.compile(r"\bvllm serve\b|vllm\.entrypoints|vllm/vllm-openai")),
    ("sglang", re.compile(r"sglang\.launch_server|\bsglang serve\b|lmsysorg/sglang")),
)
_FLAG = re.compile(r"(?<!\S)(--[a-z][\w.-]*)(?:[ =]+('[^']*'|\"[^\"]*\"|(?!-)[^\s\\`]+))?")
_PARSERS: dict[str, HintKind] = {"--tool-call-parser": "tool_parser", "--reasoning-parser": "reasoning_parser"}
_OWN = frozenset({"--model", "--model-path", "--host", "--port", "--served-model-name", "--api-key"})
"""Flags of a command that say nothing about the model."""


def card_hints(text: str) -> tuple[CardHint, ...]:
    """Every statement found, each kind and value once, in the order of the card."""
    lines = text.splitlines()
    found = [*_front_matter(lines), *_prose(lines), *_commands(lines)]
    return tuple({(hint.kind, hint.value, hint.engine): hint for hint in reversed(found)}.values())[::-1]


def _front_matter(lines: list[str]) -> list[CardHint]:
    if not lines or lines[0].strip() != "---":
        return []
    kinds: dict[str, HintKind] = {"license": "licence", "license_name": "licence", "base_model": "base_model"}
    found: list[CardHint] = []
    owner: HintKind | None = None
    for number, line in enumerate(lines[1:80], start=2):
        if line.strip() == "---":
            break
        if (item := re.fullmatch(r"\s*-\s+(\S+)\s*", line)) and owner:
            found.append(CardHint(kind=owner, value=item[1].strip("'\""), line=number, quote=line.strip()))
            continue
        key, _, value = line.partition(":")
        owner = kinds.get(key.strip()) if not line.startswith((" ", "\t")) else owner
        if owner and value.strip():
            found.append(CardHint(kind=owner, value=value.strip().strip("'\""), line=number, quote=line.strip()))
    return found


def _prose(lines: list[str]) -> list[CardHint]:
    found: list[CardHint] = []
    for number, line in _outside_code(lines):
        plain = re.sub(r"[*_`|]+", " ", line)[:2000]
        for kind, pattern in _PATTERNS:
            for match in pattern.finditer(plain):
                value = _count(match[1], match[2], tokens=kind == "context_tokens")
                if value is not None:
                    found.append(CardHint(kind=kind, value=value, line=number, quote=match[0].strip()[:120]))
    return found


def _outside_code(lines: list[str]) -> list[tuple[int, str]]:
    inside, found = False, list[tuple[int, str]]()
    for number, line in enumerate(lines, start=1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            found.append((number, line))
    return found


def _count(digits: str, suffix: str | None, *, tokens: bool) -> int | None:
    """`262,144`, `256K` (of 1024 for tokens) or `27B`; None for what cannot be such a count (a version, a year, a number of layers)."""
    value = float(digits.replace(",", ""))
    scale = {"K": 1024, "M": 1024**2} if tokens else {"M": 10**6, "B": 10**9, "T": 10**12}
    if suffix and suffix.upper() in scale:
        value *= scale[suffix.upper()]
    elif suffix or value < (1024 if tokens else 10**6):
        return None
    return int(value) if value < (2**32 if tokens else 10**14) else None


def _commands(lines: list[str]) -> list[CardHint]:
    found: list[CardHint] = []
    engine: Literal["vllm", "sglang"] | None = None
    for number, line in enumerate(lines, start=1):
        for name, pattern in _ENGINES:
            engine = name if pattern.search(line) else engine
        if engine is None:
            continue
        for flag, value in _FLAG.findall(line):
            kind = _PARSERS.get(flag, "flag")
            word = value.strip("'\"") if value else ""
            if flag not in _OWN and (word or kind == "flag"):
                found.append(
                    CardHint(kind=kind, value=word if kind != "flag" else f"{flag} {word}".strip(), line=number, quote=line.strip()[:200], engine=engine)
                )
        if not line.rstrip().endswith("\\"):
            engine = None
    return found
