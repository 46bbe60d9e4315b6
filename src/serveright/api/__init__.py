"""The only door: every front calls these functions and nothing below them.

`inspect`, `size`, `check` and `plan` are steps 1 to 5; each lives in the module of its name and is imported when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serveright.api.check import check
    from serveright.api.inspect import inspect
    from serveright.api.loading import load_model
    from serveright.api.plan import plan
    from serveright.api.size import size

__all__ = ["check", "inspect", "load_model", "plan", "size"]
_HOMES = {"load_model": "loading"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"serveright.api.{_HOMES.get(name, name)}"), name)
