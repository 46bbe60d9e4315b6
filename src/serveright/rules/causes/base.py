"""The shape of a cause, and how causes are found: every module `<code>_<name>.py` of this package with a CAUSE. There is no list.

Signs are `<kind>:<name>`: `log:` a known line (`facts/logs`), `symptom:` words of a person, `metrics:`, `probe:`, `gpu:`, `command:` and `derived:` as
`analysis.evidence` names them, `audit:CODE` a finding of that rule. A finding of the rule with the cause's own code always speaks for it.
"""

import importlib
import pkgutil
import re
from functools import cache

from msgspec import Struct

from serveright.types.engine_table import EngineName
from serveright.types.report import Effect
from serveright.types.text import Msg

_MODULE = re.compile(r"[a-z]+\d+_\w+")


class CauseRule(Struct, frozen=True, kw_only=True):
    """One cause. Weights are log-likelihood ratios in round figures: 5 an error message of its own, 2 a hint, 0.5 a mood."""

    code: str
    title: Msg
    why: Msg
    fix: tuple[Msg, ...]
    effect: Effect
    speaks: dict[str, float]
    against: dict[str, float] = {}
    next_check: Msg | None = None
    needs: tuple[str, ...] = ()
    """Without any of these signs nothing else speaks for it."""
    audited: bool = False
    """With command and model at hand the rule of the same code sees it, or it is not there."""
    engine: EngineName | None = None
    """The only engine it happens on."""


@cache
def all_causes() -> tuple[CauseRule, ...]:
    """Every cause, by code."""
    from serveright.rules import causes

    names = [module.name for module in pkgutil.iter_modules(causes.__path__) if _MODULE.fullmatch(module.name)]
    found = (importlib.import_module(f"{causes.__name__}.{name}").CAUSE for name in names)
    return tuple(sorted(found, key=lambda cause: cause.code))
