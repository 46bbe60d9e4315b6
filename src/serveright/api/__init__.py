"""The only door: every front calls these functions and nothing below them.

`plan` runs the six steps and returns the design; `inspect`, `size` and `check` are steps of their own. Each verb is imported when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serveright.api.auditing import audit
    from serveright.api.checking import check, check_all
    from serveright.api.choosing import choose
    from serveright.api.comparing import compare
    from serveright.api.diagnosing import diagnose
    from serveright.api.explaining import explain
    from serveright.api.inspection import inspect
    from serveright.api.learning import learn
    from serveright.api.loading import load_model
    from serveright.api.measuring import measure
    from serveright.api.migrating import migrate
    from serveright.api.planning import plan
    from serveright.api.sizing import size

_HOMES = {
    "audit": "auditing",
    "migrate": "migrating",
    "diagnose": "diagnosing",
    "measure": "measuring",
    "choose": "choosing",
    "compare": "comparing",
    "explain": "explaining",
    "learn": "learning",
    "inspect": "inspection",
    "size": "sizing",
    "check": "checking",
    "check_all": "checking",
    "plan": "planning",
    "load_model": "loading",
}
__all__ = ["audit", "check", "check_all", "choose", "compare", "diagnose", "explain", "inspect", "learn", "load_model", "measure", "migrate", "plan", "size"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"serveright.api.{_HOMES[name]}"), name)
