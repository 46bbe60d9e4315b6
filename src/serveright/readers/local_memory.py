"""What a start-up log taught about memory (`diagnose --calibrate-out`), read back for later plans."""

from pathlib import Path
from typing import Any, cast

from msgspec import DecodeError, Struct
from msgspec.json import decode

from serveright.errors import InputError
from serveright.types.text import msg

SCHEMA = "serveright.calibration/1"


class LocalMemory(Struct, frozen=True, kw_only=True):
    """Factor on the fitted overhead of one engine, from one machine's own log."""

    engine: str
    overhead: float


def is_local_memory(path: str) -> bool:
    """Whether a file is a calibration written by `diagnose`."""
    try:
        with Path(path).open("rb") as file:
            return SCHEMA.encode() in file.read(4096)
    except OSError:
        return False


def read_local_memory(path: str) -> LocalMemory:
    """The factor. Raises InputError where the file holds no overhead, or one out of all proportion."""
    try:
        told: Any = decode(Path(path).read_bytes())
        part = cast("dict[str, Any]", told["memory"]["overhead"])
        factor = float(part["observed"]) / float(part["derived"])
        engine = str(told["engine"])
    except (OSError, DecodeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(
            msg("{path}: holds no overhead to calibrate with ({why})", path=path, why=str(error)),
            msg("The log must state both the weights and the memory left for the KV cache."),
        ) from error
    if not 0.1 <= factor <= 10:
        raise InputError(msg("{path}: an overhead {factor:.2f} times the derived one is no calibration but another cause", path=path, factor=factor), None)
    return LocalMemory(engine=engine, overhead=factor)
