"""Model shapes small enough to lie beside the tests: each mixer once, layers as references to it, one expert weight of each number format."""

from typing import Any

import msgspec
from msgspec.structs import replace

from serveright.engines.sglang.seen import format_of
from serveright.types.model import Checkpoint, Ffn, Layer, Mixer, ModelShape

_DROPPED = ("layers", "mtp", "unknown", "evidence")


def pack(shape: ModelShape, checkpoint: Checkpoint) -> dict[str, Any]:
    """The shape and what its checkpoint declares, as plain data; of the evidence only what says that the dtype was silent."""
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

    told = {format_of(checkpoint, w.path): w for w in reversed(shape.weights) if w.part == "experts" and not w.mtp}
    plain = {k: v for k, v in msgspec.to_builtins(replace(shape, weights=tuple(told.values()), unknown=())).items() if k not in _DROPPED}
    plain["towers"] = [{k: v for k, v in tower.items() if k != "weights"} for tower in plain.get("towers", [])]
    silent = [msgspec.to_builtins(e) for e in shape.evidence if e.kind == "class-default" and e.path.endswith("dtype")]
    declared = msgspec.to_builtins(replace(checkpoint, evidence=(), unknown=()))
    return {**plain, "evidence": silent, "layers": rows(shape.layers), "mtp": rows(shape.mtp), "parts": parts, "checkpoint": declared}


def unpack(data: dict[str, Any]) -> tuple[ModelShape, Checkpoint]:
    """Both again."""
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

    bare = {k: v for k, v in data.items() if k not in ("layers", "mtp", "parts", "checkpoint")}
    shape = msgspec.convert({**bare, "layers": []}, ModelShape)
    filled = replace(shape, layers=layers(data["layers"], 0), mtp=layers(data["mtp"], len(data["layers"])))
    return filled, msgspec.convert(data["checkpoint"], Checkpoint)
