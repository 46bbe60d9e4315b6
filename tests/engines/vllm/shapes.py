"""Model shapes small enough to lie beside the tests: each mixer once, layers as references to it, no weights."""

from typing import Any

import msgspec

from serveright.types.model import Ffn, Layer, Mixer, ModelShape

_DROPPED = ("layers", "mtp", "weights", "towers", "evidence", "unknown")


def pack(shape: ModelShape) -> dict[str, Any]:
    """The shape as plain data."""
    parts: list[Any] = []

    def refer(values: tuple[Any, ...]) -> list[int]:
        found: list[int] = []
        for value in values:
            plain = msgspec.to_builtins(value)
            if plain not in parts:
                parts.append(plain)
            found.append(parts.index(plain))
        return found

    def rows(layers: tuple[Layer, ...]) -> list[list[Any]]:
        return [[refer(x.mixers), refer(x.ffns), x.cache_from] for x in layers]

    plain = {k: v for k, v in msgspec.to_builtins(shape).items() if k not in _DROPPED}
    return {**plain, "layers": rows(shape.layers), "mtp": rows(shape.mtp), "parts": parts}


def unpack(data: dict[str, Any]) -> ModelShape:
    """The shape again."""
    parts = data["parts"]

    def layers(rows: list[list[Any]], start: int) -> tuple[Layer, ...]:
        return tuple(
            Layer(
                index=start + i,
                mixers=tuple(msgspec.convert(parts[m], Mixer) for m in mixers),
                ffns=tuple(msgspec.convert(parts[f], Ffn) for f in ffns),
                cache_from=source,
            )
            for i, (mixers, ffns, source) in enumerate(rows)
        )

    bare = {k: v for k, v in data.items() if k not in ("layers", "mtp", "parts")}
    count = len(data["layers"])
    shape = msgspec.convert({**bare, "layers": []}, ModelShape)
    return msgspec.structs.replace(shape, layers=layers(data["layers"], 0), mtp=layers(data["mtp"], count))
