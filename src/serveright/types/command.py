"""A launch command as somebody wrote it: every flag with its place. Made by `readers`, read by rules, printed by `outputs`."""

from msgspec import Struct

from serveright.types.engine_table import EngineName
from serveright.types.report import Location
from serveright.types.text import Msg


class Word(Struct, frozen=True):
    """One argument after the shell's quoting, with its place; `literal` False where a variable without a known value stands in it."""

    text: str
    location: Location
    literal: bool = True


class GivenFlag(Struct, frozen=True, kw_only=True):
    """`written` as typed (`-tp`, `--no-enable-prefix-caching`, `--speculative-config.method`); `name` the canonical long form, None when the version's table has none."""

    written: str
    name: str | None
    value: str | None
    location: Location
    value_location: Location | None = None
    literal: bool = True


class LaunchCommand(Struct, frozen=True, kw_only=True):
    """One engine start. `gpu` and `gpu_count` are what the file says (node selectors, resource requests), None where silent."""

    engine: EngineName
    engine_version: str | None
    version_source: str | None
    model: str | None
    model_location: Location | None
    flags: tuple[GivenFlag, ...]
    words: tuple[Word, ...]
    env: dict[str, Word]
    location: Location
    image: str | None = None
    gpu: str | None = None
    gpu_count: int | None = None
    nodes: int = 1
    copies: int = 1
    """Identical copies the file asks for (`replicas`)."""
    role: str = "aggregated"
    """aggregated | prefill | decode."""
    entry: str = ""
    """The program or module that takes the flags (`vllm serve`, `sglang.launch_server`, `dynamo.vllm`, ...); wrappers know flags the engine does not."""
    unread: tuple[Msg, ...] = ()
    """What could not be read, in words."""
