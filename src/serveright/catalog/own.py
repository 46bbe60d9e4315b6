"""Files a user gives: read within bounds, as text or TOML; every failure is one InputError that names the file."""

import codecs
import csv
import tomllib
from pathlib import Path
from typing import Any

from serveright.errors import InputError, os_reason
from serveright.types.text import Msg, msg
from serveright.units import MIB

LIMIT_BYTES = 64 * MIB
"""No file that is read whole is longer."""
TOML_BYTES = 1 * MIB
"""TOML is written by hand; its parser needs time for more."""


def existing(text: str | Path) -> Path | None:
    """The path, where there is one; a text no path can be (too long, of an unknown home) names none."""
    try:
        path = Path(text).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):
        return None


def is_plain_file(path: Path) -> bool:
    """Whether a path found in a folder is a file; False where not even that may be asked."""
    try:
        return path.is_file()
    except OSError:
        return False


def read_own(path: str | Path, fix: Msg | None = None, limit: int = LIMIT_BYTES) -> bytes:
    """The bytes of a file. Raises InputError where it cannot be read or is longer than `limit`."""
    try:
        with Path(path).open("rb") as file:
            # a device has no end, and its size says 0
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        why = os_reason(error) if isinstance(error, OSError) else str(error)
        raise InputError(msg("{path} cannot be read: {why}", path=str(path), why=why), fix) from error
    if len(data) > limit:
        raise InputError(msg("{path} is too long: files up to {limit:gib} are read", path=str(path), limit=limit), fix)
    return data


def own_text(data: bytes, name: str, fix: Msg | None = None) -> str:
    """UTF-8 with or without its mark. Raises InputError for anything else."""
    refuse_utf16(data, name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(msg("{file}: not text (byte {position} is no UTF-8)", file=name, position=error.start), fix) from error


def refuse_utf16(data: bytes, name: str) -> None:
    """What an old PowerShell writes for `>`: readable by nobody else. Raises InputError."""
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise InputError(msg("{path} is written in UTF-16, which no shell and no engine reads", path=name), msg("Save it as UTF-8."))


def read_own_text(path: str | Path, fix: Msg | None = None, limit: int = LIMIT_BYTES) -> str:
    """The text of a file. Raises InputError."""
    return own_text(read_own(path, fix, limit), str(path), fix)


def own_csv(text: str, name: str, fix: Msg | None = None) -> list[list[str]]:
    """The cells of a CSV, without the space around them. Raises InputError."""
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]
    except csv.Error as error:
        raise InputError(msg("{path}: no CSV ({why})", path=name, why=str(error)), fix) from error


def read_own_toml(path: str | Path, fix: Msg | None = None) -> dict[str, Any]:
    """The table in a TOML file. Raises InputError."""
    return own_toml(read_own_text(path, fix, TOML_BYTES), str(path), fix)


def own_toml(text: str, name: str, fix: Msg | None = None) -> dict[str, Any]:
    """The table in a text. Raises InputError."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InputError(msg("{path}: nested too deep", path=name), fix) from error
    except ValueError as error:
        # TOMLDecodeError is one; so is what int() says to thousands of digits
        why = str(error) if isinstance(error, tomllib.TOMLDecodeError) else msg("a number too long to read")
        raise InputError(msg("{path}: no TOML: {why}", path=name, why=why), fix) from error
