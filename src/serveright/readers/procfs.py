"""A running process: `/proc/PID/cmdline` and `environ`, words separated by NUL. Reads, never signals."""

from pathlib import Path

from serveright.errors import InputError, os_reason
from serveright.readers.placed import Placed
from serveright.readers.shell import Simple, Value
from serveright.types.command import Word
from serveright.types.report import Location
from serveright.types.text import msg


def read_words(raw: bytes, file: str) -> Simple:
    """A NUL-separated command line as one simple command; the column counts words."""
    parts = raw.decode(errors="replace").rstrip("\0").split("\0")
    return Simple(tuple(Value(Placed(part, file, [(0, 1, index + 1)])) for index, part in enumerate(parts)), {})


def read_process(pid: int, root: Path = Path("/proc")) -> Simple:
    """The command line and engine-related environment of one process.

    Raises InputError where there is no such process or it may not be read.
    """
    folder = root / str(pid)
    try:
        words = read_words((folder / "cmdline").read_bytes(), str(folder / "cmdline"))
    except OSError as error:
        raise InputError(
            msg("Process {pid} cannot be read: {why}", pid=pid, why=os_reason(error)), msg("Give the process id of a running server you may read.")
        ) from error
    try:
        raw = (folder / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return words
    here = Location(str(folder / "environ"))
    pairs = (entry.partition("=") for entry in raw.split("\0") if "=" in entry)
    wanted = ("VLLM_", "SGLANG_", "SGL_", "CUDA_", "NCCL_", "LMCACHE_", "HF_", "PYTHONHASHSEED", "TORCH")
    return Simple(words.words, {name: Word(value, here) for name, _, value in pairs if name.startswith(wanted)})
