"""A torch that believes in one GPU: capability, name and memory are those asked for, streams and events do nothing. Runs inside the oracle's environment."""
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import contextlib
from types import SimpleNamespace
from typing import Any

import torch
import torch._ops


class Idle:
    """A stream or event on which nothing ever happens."""

    cuda_stream = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        return None

    def __enter__(self) -> "Idle":
        return self

    def __exit__(self, *_: Any) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: self


class Operator:
    """A compiled operator that is only looked up. `*support*` questions are answered with yes."""

    _schema = None

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        return True if "support" in self.name else None

    def overloads(self) -> list[str]:
        return ["default"]

    def __getattr__(self, name: str) -> "Operator":
        if name.startswith("__"):
            raise AttributeError(name)
        return Operator(f"{self.name}.{name}")


def pretend(gpu: dict[str, Any], namespaces: tuple[str, ...]) -> None:
    """`gpu`: name, capability (major, minor), bytes, sm_count. Operators of the compiled `namespaces` exist without doing anything."""
    capability, total = tuple(gpu["capability"]), int(gpu["bytes"])
    properties = SimpleNamespace(
        major=capability[0],
        minor=capability[1],
        name=gpu["name"],
        total_memory=total,
        multi_processor_count=gpu["sm_count"],
        warp_size=32,
        is_integrated=False,
        shared_memory_per_block_optin=232448,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
        L2_cache_size=50 << 20,
        gcnArchName="",
    )
    answers = {
        "is_available": True,
        "device_count": 8,
        "current_device": 0,
        "get_device_capability": capability,
        "get_device_properties": properties,
        "get_device_name": gpu["name"],
        "set_device": None,
        "synchronize": None,
        "mem_get_info": (total - (1 << 30), total),
        "_is_compiled": True,
        "current_stream": Idle(),
        "stream": contextlib.nullcontext(),
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, lambda *_, _value=value, **__: _value)
    for name in ("empty_cache", "synchronize", "reset_peak_memory_stats", "set_device_index"):
        setattr(torch.accelerator, name, lambda *_, **__: None)
    torch.accelerator.current_device_index = lambda: 0
    torch.cuda.Stream = torch.cuda.Event = Idle
    torch.version.cuda = torch.version.cuda or "13.0"
    _operators(namespaces)
    _triton(capability)


def _operators(namespaces: tuple[str, ...]) -> None:
    looked_up = torch._ops._OpNamespace.__getattr__
    registered = torch.library.register_fake

    def lookup(self: Any, name: str) -> Any:
        try:
            return looked_up(self, name)
        except AttributeError:
            if name.startswith("__") or not self.__dict__.get("name", "").startswith(namespaces):
                raise
            self.__dict__[name] = made = Operator(name)
            return made

    def register(op: Any, func: Any = None, **options: Any) -> Any:
        def keep(function: Any) -> Any:
            with contextlib.suppress(RuntimeError, AttributeError, ValueError):
                registered(op, function, **options)
            return function

        return keep if func is None else keep(func)

    torch._ops._OpNamespace.__getattr__ = lookup
    torch.library.register_fake = register


def _triton(capability: tuple[int, ...]) -> None:
    try:
        from triton.runtime import driver
    except ImportError:
        return

    class Driver:
        utils = SimpleNamespace(get_device_properties=lambda *_: LIMITS)

        def get_current_target(self) -> Any:
            return SimpleNamespace(backend="cuda", arch=capability[0] * 10 + capability[1], warp_size=32)

        def get_active_torch_device(self) -> Any:
            return torch.device("cpu")

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return lambda *_, **__: 0

    driver.set_active(Driver())


LIMITS = {"multiprocessor_count": 132, "max_shared_mem": 232448, "warpSize": 32, "max_num_regs": 65536}
