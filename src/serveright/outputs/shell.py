"""A launch as shell words: one flag a line, quoted so that it can be pasted as it stands."""

import shlex
from collections.abc import Iterable, Mapping

from serveright.types.design import FlagChoice
from serveright.types.engine_table import EngineName

_START: dict[EngineName, tuple[str, ...]] = {"vllm": ("vllm", "serve"), "sglang": ("python3", "-m", "sglang.launch_server")}


def words(engine: EngineName, model: str, flags: Iterable[FlagChoice]) -> list[str]:
    """The argument vector. vLLM takes the model as first argument, SGLang as --model-path."""
    start = [*_START[engine], model] if engine == "vllm" else [*_START[engine], "--model-path", model]
    return start + [word for flag in flags for word in ((flag.flag,) if flag.value is None else (flag.flag, flag.value))]


def command(engine: EngineName, model: str, flags: Iterable[FlagChoice], env: Mapping[str, str] | None = None, *, lines: bool = True) -> str:
    """The command, over several lines unless `lines` is False."""
    start = [f"{name}={shlex.quote(value)}" for name, value in (env or {}).items()]
    head = " ".join([*start, *map(shlex.quote, words(engine, model, ()))])
    rest = [shlex.quote(f.flag) if f.value is None else f"{f.flag} {shlex.quote(f.value)}" for f in flags]
    return (" \\\n  " if lines else " ").join([head, *rest])
