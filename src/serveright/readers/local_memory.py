"""What a start-up log taught about memory (`diagnose --calibrate-out`), read back for later plans."""

from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import decode

from serveright.catalog.own import read_own
from serveright.errors import InputError
from serveright.types.engine_table import EngineName
from serveright.types.text import msg

SCHEMA = "serveright.calibration/1"


class LocalMemory(Struct, frozen=True, kw_only=True):
    """Factor on the fitted overhead of one engine, from one machine's own log."""

    engine: str
    overhead: float


class _Pair(Struct, frozen=True):
    observed: float
    derived: float


class _Parts(Struct, frozen=True):
    overhead: _Pair


class _Told(Struct, frozen=True):
    engine: EngineName
    memory: _Parts


def is_local_memory(path: str) -> bool:
    """Whether a file is a calibration written by `diagnose`."""
    try:
        with Path(path).open("rb") as file:
            return SCHEMA.encode() in file.read(4096)
    except OSError:
        return False


def read_local_memory(path: str) -> LocalMemory:
    """The factor. Raises InputError where the file holds no overhead, or one out of all proportion."""
    fix = msg("The log must state both the weights and the memory left for the KV cache.")
    try:
        told = decode(read_own(path), type=_Told)
    except DecodeError as error:
        raise InputError(msg("{path}: holds no overhead to calibrate with ({why})", path=path, why=str(error)), fix) from error
    part = told.memory.overhead
    factor = part.observed / part.derived if part.derived else 0.0
    if not 0.1 <= factor <= 10:
        raise InputError(msg("{path}: an overhead {factor:.2f} times the derived one is no calibration but another cause", path=path, factor=factor), None)
    return LocalMemory(engine=told.engine, overhead=factor)
