"""SI base units as plain numbers; text only at the edges.

Bytes are ints, times are float seconds, rates are floats per second. `80GB` is 80 * 10**9 and `80GiB` is 80 * 2**30.
Knows nothing of models, engines or languages.
"""

import re

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
KB, MB, GB, TB = 10**3, 10**6, 10**9, 10**12

_FACTORS = {
    "": 1,
    "b": 1,
    "k": KB,
    "kb": KB,
    "m": MB,
    "mb": MB,
    "g": GB,
    "gb": GB,
    "t": TB,
    "tb": TB,
    "kib": KIB,
    "ki": KIB,
    "mib": MIB,
    "mi": MIB,
    "gib": GIB,
    "gi": GIB,
    "tib": TIB,
    "ti": TIB,
}
_QUANTITY = re.compile(r"\s*([0-9]+(?:[._][0-9]+)*)\s*([A-Za-z]*)\s*")


def parse_bytes(text: str) -> int:
    """Bytes of `80GB` (decimal), `75GiB` (binary) or a plain number.

    Raises ValueError where the text is no size; the caller names the flag.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2].lower() not in _FACTORS:
        raise ValueError(text)
    value = float(match[1].replace("_", "")) * _FACTORS[match[2].lower()]
    if value == float("inf"):
        raise ValueError(text)
    return round(value)


def parse_whole(text: str | None) -> int | None:
    """A whole number from 0 as a file holds it; None for anything else, and for more digits than any count has."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,18}", text) else None


def parse_count(text: str) -> int:
    """A count such as `32768`, `32k` (32 * 1024, the field's habit for tokens), `1M` (1024 * 1024) or `1_000`.

    Raises ValueError where the text is no count.
    """
    match = _QUANTITY.fullmatch(text)
    factor = {"": 1, "k": KIB, "m": MIB}.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(text)
    value = float(match[1].replace("_", "")) * factor
    if not value.is_integer():
        raise ValueError(text)
    return int(value)


def gib(value: float) -> str:
    """`1.50 GiB`, or MiB, KiB and B where that reads better."""
    for unit, factor in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if abs(value) >= factor * (0.1 if unit == "GiB" else 1):
            amount = value / factor
            return f"{amount:,.3f} {unit}" if amount < 10 else f"{amount:,.1f} {unit}"
    return f"{value:,.0f} B"


def seconds(value: float) -> str:
    """`1.25 s`, `12.5 ms`, `80 us`, `3.2 min`."""
    if value >= 120:
        return f"{value / 60:.1f} min"
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} s"
