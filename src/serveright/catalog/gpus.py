"""Accelerators by the names people write for them, and `8xh200` as a fleet. Unknown names get suggestions, never a guess."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from serveright.catalog.files import FACTS, index, read_toml
from serveright.catalog.own import read_own_toml
from serveright.errors import InputError, UnknownName, UsageError
from serveright.types.hardware import Fleet, Gpu
from serveright.types.text import msg

_VENDOR_WORDS = re.compile(r"\b(nvidia|geforce|tesla|amd|instinct|radeon|intel|huawei|google|gpu|graphics)\b")
_COUNT_FIRST = re.compile(r"(\d{1,9})(?:\s*[x*×]\s*|\s+)(.+)", re.IGNORECASE)
_COUNT_LAST = re.compile(r"(.+?)\s*(?:[:*×]|(?<=[\d\s])x)\s*(\d{1,9})", re.IGNORECASE)


def normal_name(text: str) -> str:
    """`NVIDIA H100-SXM` and `h100 sxm` become `h100sxm`: vendor words and punctuation tell no two cards apart."""
    return re.sub(r"[^a-z0-9]", "", _VENDOR_WORDS.sub(" ", text.lower()))


def gpu_keys() -> tuple[str, ...]:
    """Keys of all known accelerators, sorted."""
    return tuple(sorted(index("gpus")["gpus"]))


def load_gpu(name: str) -> Gpu:
    """The accelerator called `name`: a key, an alias, what nvidia-smi prints, or the path of a TOML file of the same form.

    Raises UnknownName with the nearest names, InputError where a given file is no GPU.
    """
    if name.endswith(".toml"):
        return _own_gpu(Path(name))
    known: dict[str, str] = index("gpus")["aliases"]
    key = known.get(normal_name(name))
    if key is None:
        spoken = {alias.lower() for gpu in index("gpus")["gpus"].values() for alias in gpu["aliases"]}
        raise UnknownName(msg("GPU"), name, {*gpu_keys(), *spoken}, "serveright facts gpu")
    return _known(key)


@cache
def _known(key: str) -> Gpu:
    return _convert(read_toml(FACTS / "gpus" / f"{key}.toml"))


def parse_gpu_spec(spec: str, gpus: int | None = None, nodes: int | None = None) -> Fleet:
    """`8xh200`, `h200:8` or `h200` with `gpus=8`; the count is over all nodes.

    Without `nodes` as many as the usual server of that GPU needs. Raises UnknownName and UsageError.
    """
    name, written = _split(spec.strip())
    if written is not None and gpus is not None and written != gpus:
        raise UsageError(msg("--gpu {spec} says {written} GPUs and --gpus says {gpus}", spec=spec, written=written, gpus=gpus), msg("Give the count once."))
    count = written if written is not None else 1 if gpus is None else gpus
    if count < 1:
        raise UsageError(msg("--gpu {spec}: the number of GPUs must be at least 1", spec=spec))
    gpu = load_gpu(name)
    nodes = _usual_nodes(gpu, count) if nodes is None else nodes
    if nodes < 1 or count % nodes:
        raise UsageError(
            msg("{count} GPUs cannot be spread evenly over {nodes} nodes", count=count, nodes=nodes), msg("--gpus counts the GPUs of all nodes together.")
        )
    return Fleet(gpu=gpu, count=count, nodes=nodes)


def counts_gpus(spec: str) -> bool:
    """Whether a `--gpu` says how many."""
    return _split(spec.strip())[1] is not None


def _split(spec: str) -> tuple[str, int | None]:
    # a known name wins: no alias may be mistaken for a count
    if (normal_name(spec) in index("gpus")["aliases"] and not re.search(r"[:*×]", spec)) or spec.endswith(".toml"):
        return spec, None
    if first := _COUNT_FIRST.fullmatch(spec):
        return first[2], int(first[1])
    if last := _COUNT_LAST.fullmatch(spec):
        return last[1], int(last[2])
    if re.search(r"[:*×]", spec):
        raise UsageError(msg("--gpu {spec}: the number of GPUs cannot be read", spec=spec), msg("Write 8xh200 or h200:8."))
    return spec, None


def _usual_nodes(gpu: Gpu, count: int) -> int:
    nodes = -(-count // gpu.gpus_per_node)
    return nodes if count % nodes == 0 else 1


def _convert(data: dict[str, Any]) -> Gpu:
    # TOML has no null: an accelerator without a compute capability leaves the key out
    return msgspec.convert({"capability": None, **data}, Gpu)


def _own_gpu(path: Path) -> Gpu:
    fix = msg("`serveright facts gpu h200-sxm` shows the form.")
    try:
        return _convert(read_own_toml(path, fix))
    except msgspec.ValidationError as error:
        raise InputError(msg("{path}: not a GPU description ({why})", path=str(path), why=str(error)), fix) from error
