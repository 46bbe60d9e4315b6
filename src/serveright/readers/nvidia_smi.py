"""Output of `nvidia-smi`, its table or its CSV: memory, load, power and processes of every GPU."""

import re

from msgspec import Struct

MIB = 1 << 20


class GpuState(Struct, frozen=True, kw_only=True):
    """One GPU. Bytes, shares and watts; None where the output does not say."""

    index: int
    name: str = ""
    used_bytes: int | None = None
    total_bytes: int | None = None
    load: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None


class SmiReading(Struct, frozen=True, kw_only=True):
    """The whole output. `processes`: (GPU, name, bytes)."""

    gpus: tuple[GpuState, ...]
    processes: tuple[tuple[int, str, int], ...] = ()
    driver: str | None = None


_ROW = re.compile(r"(\d+)W\s*/\s*(\d+)W\s*\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|\s*(\d+)%")
_NAME = re.compile(r"^\|\s+(\d+)\s+(.+?)\s{2,}(?:On|Off|Persistence)", re.MULTILINE)
_PROCESS = re.compile(r"^\|\s+(\d+)\s+\S+\s+\S+\s+\d+\s+\S+\s+(\S.*?)\s+(\d+)MiB\s*\|", re.MULTILINE)
_DRIVER = re.compile(r"Driver Version:\s*([\d.]+)")


def parse_smi(text: str) -> SmiReading:
    """The table of plain `nvidia-smi`, or `--query-gpu=... --format=csv` with a header."""
    head, *rows = text.strip().splitlines() or [""]
    if "," in head and "memory" in head:
        return SmiReading(gpus=tuple(_csv(head, rows)))
    names = {int(index): name for index, name in _NAME.findall(text)}
    gpus = tuple(
        GpuState(
            index=i,
            name=names.get(i, ""),
            power_w=float(power),
            power_limit_w=float(limit),
            used_bytes=int(used) * MIB,
            total_bytes=int(total) * MIB,
            load=int(load) / 100,
        )
        for i, (power, limit, used, total, load) in enumerate(_ROW.findall(text))
    )
    driver = _DRIVER.search(text)
    processes = tuple((int(gpu), name, int(used) * MIB) for gpu, name, used in _PROCESS.findall(text))
    return SmiReading(gpus=gpus, processes=processes, driver=driver[1] if driver else None)


def is_smi(text: str) -> bool:
    """Whether a text looks like nvidia-smi's output."""
    return "NVIDIA-SMI" in text[:2000] or bool(re.match(r"[^\n]*memory\.(?:used|total)", text))


def _csv(head: str, rows: list[str]) -> list[GpuState]:
    columns = [re.sub(r"\s*\[.*?\]", "", cell).strip() for cell in head.split(",")]
    found: list[GpuState] = []
    for i, row in enumerate(rows):
        cells = dict(zip(columns, (cell.strip() for cell in row.split(",")), strict=False))
        found.append(
            GpuState(
                index=int(_number(cells.get("index")) or i),
                name=cells.get("name", ""),
                used_bytes=_bytes(cells.get("memory.used")),
                total_bytes=_bytes(cells.get("memory.total")),
                load=None if (load := _number(cells.get("utilization.gpu"))) is None else load / 100,
                power_w=_number(cells.get("power.draw")),
                power_limit_w=_number(cells.get("power.limit")),
            )
        )
    return found


def _number(cell: str | None) -> float | None:
    match = re.match(r"[\d.]+", cell or "")
    return float(match[0]) if match else None


def _bytes(cell: str | None) -> int | None:
    number = _number(cell)
    return None if number is None else int(number * MIB)
