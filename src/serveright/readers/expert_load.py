"""Expert load statistics: tokens per logical expert, one row per MoE layer, from either engine's dump, a CSV, or vLLM's balance log lines.

A PyTorch dump is read without PyTorch: its pickle may only build tensors of plain numbers, anything else in it is refused.
"""

import io
import pickle
import re
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from serveright.catalog.own import LIMIT_BYTES, own_csv, read_own, refuse_utf16
from serveright.errors import InputError
from serveright.readers.json_object import parse_object
from serveright.types.text import Msg, msg

if TYPE_CHECKING:
    import numpy as np

FORM = msg(
    "Give a dump of SGLang's expert distribution recorder (.pt), a JSON with logical_count (layers x experts), a CSV with one line a layer, "
    "or a vLLM log with --eplb-config.log_balancedness on."
)
COUNT_KEYS = ("logical_count", "expert_load", "expert_loads", "loads")
_BALANCE = re.compile(r"EPLB step: \d+ .*?avg_tokens=([\d.]+), max_tokens=(\d+)")
_TYPES = {
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
}


class ExpertLoad(Struct, frozen=True, kw_only=True):
    """`rows`: tokens per logical expert by layer, () where the source only says how uneven GPUs were; then `hottest_gpu` is hottest over mean."""

    rows: tuple[tuple[float, ...], ...] = ()
    hottest_gpu: float | None = None


def read_expert_load(path: str) -> ExpertLoad:
    """The loads in the file at `path`. Raises InputError naming file and place."""
    data = read_own(path, FORM)
    if data.startswith(b"PK"):
        return _load(path, _torch(path, data))
    refuse_utf16(data, path)
    text = data.decode("utf-8-sig", "replace")
    if text.lstrip().startswith("{"):
        return _load(path, parse_object(data, path))
    if found := _BALANCE.findall(text):
        return ExpertLoad(hottest_gpu=max(1.0, sum(int(top) for _, top in found) / max(sum(float(mean) for mean, _ in found), 1e-9)))
    return ExpertLoad(rows=_checked(path, _csv(path, text)))


def _wrong(path: str, why: Msg) -> InputError:
    return InputError(msg("{path}: no expert load: {why}", path=path, why=why), FORM)


def _load(path: str, dump: dict[str, Any]) -> ExpertLoad:
    if isinstance(dump.get("records"), list):
        return ExpertLoad(rows=_checked(path, _records(path, dump)))
    key = next((name for name in COUNT_KEYS if name in dump), None)
    if key is None:
        raise _wrong(path, msg("none of the keys {keys}", keys=", ".join(COUNT_KEYS)))
    return ExpertLoad(rows=_checked(path, _summed(path, dump[key])))


def _summed(path: str, value: object) -> "np.ndarray[Any, Any]":
    """[layers, experts], or [steps, layers, experts] added up over steps."""
    import numpy as np

    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise _wrong(path, msg("rows of unequal length, or no numbers")) from error
    if array.ndim == 3:
        array = array.sum(axis=0)
    if array.ndim != 2:
        raise _wrong(path, msg("{n} dimensions where layers x experts were expected", n=array.ndim))
    return array


def _records(path: str, dump: dict[str, Any]) -> "np.ndarray[Any, Any]":
    """SGLang's per-pass mode: physical counts of each pass, mapped to logical experts by the last placement."""
    import numpy as np

    places = dump.get("last_physical_to_logical_map")
    records = [cast("dict[str, Any]", record) for record in cast("list[Any]", dump["records"]) if isinstance(record, dict)]
    passes = [record["global_physical_count"] for record in records if "global_physical_count" in record]
    if places is None or not passes:
        raise _wrong(path, msg("records without global_physical_count and last_physical_to_logical_map"))
    counts, slots = _summed(path, passes), np.asarray(places)
    if slots.shape != counts.shape or slots.min() < 0:
        raise _wrong(path, msg("placement and counts differ in shape"))
    out = np.zeros((len(counts), int(slots.max()) + 1))
    for layer in range(len(counts)):
        np.add.at(out[layer], slots[layer], counts[layer])
    return out


def _csv(path: str, text: str) -> list[list[float]]:
    """One line a layer, or `layer,expert,tokens` with that header."""
    lines = [row for row in own_csv(text, path, FORM) if any(row)]
    if not lines:
        raise _wrong(path, msg("the file is empty"))
    head = [cell.lower() for cell in lines[0]]
    named = head[:2] == ["layer", "expert"] and len(head) == 3
    body = lines[1:] if not _number(lines[0][-1]) else lines
    wrong = next((cell for row in body for cell in row if not _number(cell)), None)
    if wrong is not None:
        raise _wrong(path, msg("{cell} is no number", cell=wrong[:40]))
    numbers = [[float(cell) for cell in row] for row in body]
    return _long(path, numbers) if named else numbers


def _number(cell: str) -> bool:
    return bool(re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", cell, re.IGNORECASE))


def _long(path: str, rows: list[list[float]]) -> list[list[float]]:
    layers = sorted({row[0] for row in rows})
    experts = max((int(row[1]) for row in rows), default=-1) + 1
    if not 0 < experts * len(layers) <= 1_000_000 or any(len(row) != 3 or row[1] < 0 for row in rows):
        raise _wrong(path, msg("lines must be layer,expert,tokens"))
    place = {layer: index for index, layer in enumerate(layers)}
    out = [[0.0] * experts for _ in layers]
    for layer, expert, tokens in rows:
        out[place[layer]][int(expert)] += tokens
    return out


def _checked(path: str, rows: "Sequence[Sequence[float]] | np.ndarray[Any, Any]") -> tuple[tuple[float, ...], ...]:
    """Layers that routed nothing (dense ones) are left out."""
    kept = tuple(tuple(float(value) for value in row) for row in rows if sum(row) > 0)
    if not kept or len({len(row) for row in kept}) != 1 or len(kept[0]) < 2:
        raise _wrong(path, msg("one row of at least two experts per MoE layer was expected"))
    if any(value < 0 for row in kept for value in row):
        raise _wrong(path, msg("a load below zero"))
    return kept


_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    StopIteration,
    LookupError,
    ValueError,
    TypeError,
    EOFError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
)
"""What zipfile and pickle raise for bytes that are no such file: cut off, encrypted, packed by another method, nested without end."""


class _Storage(Struct, frozen=True):
    kind: str


class _Tensors(pickle.Unpickler):
    """Builds numpy arrays where PyTorch would build tensors; every other class is refused."""

    def __init__(self, data: bytes, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(io.BytesIO(data))
        self.archive, self.root = archive, root

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module_name == "torch" and global_name in _TYPES:
            return _Storage(global_name)
        if (module_name, global_name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise pickle.UnpicklingError(f"{module_name}.{global_name}")

    def persistent_load(self, pid: Any) -> Any:
        import numpy as np

        _, storage, key, _, _ = pid
        return np.frombuffer(self.archive.read(f"{self.root}/data/{key}"), dtype=_TYPES[storage.kind])


def _tensor(storage: Any, offset: int, size: Sequence[int], stride: Sequence[int], *_: object) -> Any:
    import numpy as np

    if not size:
        return storage[offset]
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if min(size) < 0 or min(stride) < 0 or not 0 <= last < len(storage) or prod(size) > LIMIT_BYTES:
        raise pickle.UnpicklingError("tensor outside its storage")
    return np.lib.stride_tricks.as_strided(storage[offset:], tuple(size), tuple(step * storage.itemsize for step in stride))


def _torch(path: str, data: bytes) -> dict[str, Any]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        name = next(entry for entry in archive.namelist() if entry.endswith("/data.pkl"))
        if sum(entry.file_size for entry in archive.infolist()) > LIMIT_BYTES:
            raise _wrong(path, msg("larger than any such dump"))
        found: Any = _Tensors(archive.read(name), archive, name.rsplit("/", 1)[0]).load()
    except pickle.UnpicklingError as error:
        raise _wrong(path, msg("not a PyTorch file of plain tensors ({why})", why=str(error)[:200])) from error
    except _DAMAGED as error:
        raise _wrong(path, msg("the PyTorch file is damaged or of another kind")) from error
    if not isinstance(found, dict):
        raise _wrong(path, msg("the file holds no dictionary"))
    return cast("dict[str, Any]", found)
