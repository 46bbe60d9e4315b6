"""The rules there are: every module `<code>_<name>.py` of this package. Adding a rule is adding a file; there is no list.

A rule module has CODE, NAME, SEVERITY, EFFECT, CONFIDENCE, SINCE, EXAMPLES, `check(context)`, and its docstring is its page.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType

from msgspec import Struct

from serveright.errors import UnknownName
from serveright.rules.context import Context, Hit
from serveright.types.report import Confidence, Effect, Severity
from serveright.types.text import msg

HEADINGS = ("What it catches", "Why it matters", "Example", "Fix", "Versions", "Sources")
_MODULE = re.compile(r"[a-z]+\d+_\w+")


class Example(Struct, frozen=True):
    """A command with the GPUs it is judged on; `bad` ones must raise the rule, good ones must not."""

    command: str
    gpu: str = ""
    bad: bool = True
    version: str | None = None


def bad(command: str, gpu: str = "", version: str | None = None) -> Example:
    """A command the rule must find."""
    return Example(command, gpu, bad=True, version=version)


def good(command: str, gpu: str = "", version: str | None = None) -> Example:
    """A command the rule must leave alone."""
    return Example(command, gpu, bad=False, version=version)


class Rule(Struct, frozen=True, kw_only=True):
    """One rule as data; `page` is Markdown with the fixed headings."""

    code: str
    name: str
    severity: Severity
    effect: Effect
    confidence: Confidence
    since: str
    title: str
    page: str
    examples: tuple[Example, ...]
    check: Callable[[Context], Iterable[Hit]]


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every audit rule, by code."""
    from serveright import rules

    found = [
        _rule(importlib.import_module(f"{rules.__name__}.{module.name}")) for module in pkgutil.iter_modules(rules.__path__) if _MODULE.fullmatch(module.name)
    ]
    return tuple(sorted(found, key=lambda rule: rule.code))


def find_rule(code: str) -> Rule:
    """One rule by its code or its name. Raises UnknownName with suggestions."""
    wanted = code.strip().upper().replace("-", "")
    for rule in all_rules():
        if rule.code == wanted or rule.name == code.strip().lower():
            return rule
    raise UnknownName(msg("rule"), code, [name for rule in all_rules() for name in (rule.code.lower(), rule.name)], "serveright rule")


def _rule(module: ModuleType) -> Rule:
    page = inspect.cleandoc(module.__doc__ or "")
    return Rule(
        code=module.CODE,
        name=module.NAME,
        severity=module.SEVERITY,
        effect=module.EFFECT,
        confidence=module.CONFIDENCE,
        since=module.SINCE,
        title=page.partition("\n")[0],
        page=page,
        examples=tuple(module.EXAMPLES),
        check=module.check,
    )
