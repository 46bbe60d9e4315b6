"""Stand-ins for what a machine without a GPU cannot import: compiled extensions and GPU-only packages. Runs inside the oracle's environment."""
# pyright: basic

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any


class Anything(type):
    """A class that answers every attribute, call and operator with another one, so that decorators, annotations and kernels can be defined, never run."""

    def __getattr__(cls, name: str) -> Any:
        if name in ("__extract_mlir_values__", "__new_from_mlir_values__", "__c_pointers__", "__get_mlir_types__"):
            return lambda *_, **__: None  # CuTe's own protocol: kernels patch these methods when they are imported
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = Anything(name, (), {})
        setattr(cls, name, value)
        return value

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if "__module__" in cls.__dict__ and cls.__mro__[1] is not object:
            return type.__call__(cls, *given, **named)  # a real subclass defined by the engine
        if len(given) == 1 and not named and isinstance(given[0], (types.FunctionType, type)):
            return given[0]  # used as a decorator
        return Anything("result", (), {})

    def _same(cls, *_: Any) -> Any:
        return cls

    __getitem__ = __or__ = __ror__ = __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = __enter__ = _same

    def __iter__(cls) -> Any:
        return iter(())

    def __exit__(cls, *_: Any) -> bool:
        return False

    def __lt__(cls, other: Any) -> bool:
        return False

    __le__ = __lt__

    def __gt__(cls, other: Any) -> bool:
        return True

    __ge__ = __gt__

    def __index__(cls) -> int:
        return 1

    __int__ = __index__

    def __len__(cls) -> int:
        return 0

    def __bool__(cls) -> bool:
        return True


class AbsentModule(types.ModuleType):
    """A package whose every name exists."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return "99.0.0"
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = sys.modules.get(f"{self.__name__}.{name}") or Anything(name, (), {"__module__": self.__name__})
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for the listed modules and everything below them."""

    def __init__(self, names: list[str]) -> None:
        self.names = frozenset(names)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        parts = name.split(".")
        if any(".".join(parts[:n]) in self.names for n in range(1, len(parts) + 1)):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        return AbsentModule(spec.name)

    def exec_module(self, module: Any) -> None:
        return None


def install(names: list[str]) -> None:
    """Puts the stand-ins before every other finder."""
    sys.meta_path.insert(0, Finder(names))
