"""A model from what the user typed: a folder, a config.json, `-`, a catalogue name or a Hub id, in this order. Interprets nothing."""

import json
import re
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct, ValidationError, convert

from serveright.catalog.models import base_of, find, list_models
from serveright.catalog.own import existing
from serveright.errors import InputError, NetworkError, UnknownName, os_reason
from serveright.readers.json_object import LIMIT_BYTES, parse_object, too_large
from serveright.types.source import ModelFiles
from serveright.types.text import Msg, msg

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
JSON_BESIDE = {
    "hf_quant_config.json": "hf_quant_config",
    "generation_config.json": "generation_config",
    "preprocessor_config.json": "preprocessor_config",
    "tokenizer_config.json": "tokenizer_config",
    INDEX: "safetensors_index",
}
TEXT_BESIDE = {"chat_template.jinja": "chat_template", "README.md": "card"}
WANTED = (CONFIG, *JSON_BESIDE, *TEXT_BESIDE)
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".onnx", ".npz")

Progress = Callable[[Msg], None]
Finder = Callable[[str], ModelFiles | None]


def read_model_files(
    text: str, revision: str | None = None, find_in_catalogue: Finder = find, *, stdin: BinaryIO | None = None, progress: Progress | None = None
) -> ModelFiles:
    """The files of the model called `text`. `progress` hears what is fetched from the Hub.

    Raises InputError (unreadable file), UnknownName, NetworkError.
    """
    if text == "-":
        return _from_stdin(stdin or sys.stdin.buffer)
    if not text.strip():
        raise InputError(msg("the name of the model is empty"), msg("Give a folder with a config.json, a config.json, or a Hub id such as org/name."))
    path = existing(text)
    if path is not None:
        return _from_path(path, text)
    if _looks_like_a_path(text):
        raise InputError(
            msg("{file}: no such file or folder", file=text), msg("Give a folder with a config.json, a config.json, or a Hub id such as org/name.")
        )
    if revision is None and (known := find_in_catalogue(text)) is not None:
        return known
    if _HUB_ID.fullmatch(text):
        return _from_hub(text, revision, progress)
    raise UnknownName(msg("model"), text, [name for model in list_models() for name in (model.id, *model.aliases)], "serveright facts model")


def _from_hub(text: str, revision: str | None, progress: Progress | None) -> ModelFiles:
    from serveright.readers.hub import fetch

    try:
        return assemble(text, *fetch(text, revision, WANTED, progress))
    except NetworkError as error:
        base = base_of(text)
        if base is None:
            raise
        fix = msg("The catalogue knows {base}, of which this is a checkpoint; for its own figures give its folder or config.json.", base=base)
        raise NetworkError(error.message, fix) from error


def assemble(model_id: str, origin: str, files: Mapping[str, bytes]) -> ModelFiles:
    """`ModelFiles` from named contents. Raises InputError for the first unreadable one."""
    found: dict[str, Any] = {field: parse_object(files[name], f"{origin}/{name}") for name, field in JSON_BESIDE.items() if name in files}
    found |= {field: files[name].decode("utf-8", "replace") for name, field in TEXT_BESIDE.items() if name in files}
    config = parse_object(files[CONFIG], f"{origin}/{CONFIG}" if origin != "stdin" else origin)
    return ModelFiles(id=model_id, origin=origin, config=config, **found)


def _looks_like_a_path(text: str) -> bool:
    return text.startswith(("/", ".", "~")) or text.endswith((".json", *_WEIGHTS)) or text.count("/") > 1 or "\\" in text


def _from_stdin(stream: BinaryIO) -> ModelFiles:
    return assemble("stdin", "stdin", {CONFIG: stream.read(LIMIT_BYTES + 1)})


def _from_path(path: Path, text: str) -> ModelFiles:
    if path.is_dir():
        return _from_folder(path, text)
    if path.suffix in _WEIGHTS:
        raise InputError(
            msg("{file}: holds weights, not a config", file=text), msg("Give the folder or the config.json of the model (for GGUF: of the original model).")
        )
    if path.name == CONFIG:
        return assemble(text, text, _beside(path.parent))
    config = parse_object(_bytes(path), text)
    return ModelFiles(id=text, origin=text, config=config)


def _from_folder(folder: Path, text: str) -> ModelFiles:
    if not (folder / CONFIG).is_file():
        raise InputError(msg("{folder}: has no config.json", folder=text), _way_out(folder))
    return assemble(text, text.rstrip("/") or "/", _beside(folder))


def _way_out(folder: Path) -> Msg:
    inside = sorted(str(found.parent.relative_to(folder)) for found in [*folder.glob(f"*/{CONFIG}"), *folder.glob(f"snapshots/*/{CONFIG}")])
    if inside:
        return msg("There is one in {names}.", names=", ".join(inside[:3]))
    if any(folder.glob("*.gguf")):
        return msg("GGUF files carry no config.json: take it from the original model.")
    if (folder / "adapter_config.json").exists():
        return msg("This is an adapter: give the base model its adapter_config.json names.")
    if (folder / "params.json").exists():
        return msg("params.json is Mistral's own format: take the config.json of the same model on the Hub.")
    return msg("Give the folder that holds the model's config.json.")


def _beside(folder: Path) -> dict[str, bytes]:
    files = {name: _bytes(folder / name) for name in WANTED if (folder / name).is_file()}
    if INDEX not in files and (folder / SINGLE).is_file():
        files[INDEX] = _index_of_one(folder / SINGLE)
    return files


def _bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LIMIT_BYTES:
            raise too_large(str(path), size)
        with path.open("rb") as stream:
            # a device or pipe says 0 and has no end
            data = stream.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise InputError(msg("{file}: cannot be read ({why})", file=str(path), why=os_reason(error))) from error
    if len(data) > LIMIT_BYTES:
        raise too_large(str(path), len(data))
    return data


def _index_of_one(path: Path) -> bytes:
    """What an index would say about a single safetensors file; only its header is read."""
    with path.open("rb") as stream:
        head = stream.read(8)
        size = struct.unpack("<Q", head)[0] if len(head) == 8 else LIMIT_BYTES + 1
        if size > LIMIT_BYTES:
            raise InputError(msg("{file}: no safetensors header", file=str(path)), msg("The file is cut off or of another kind."))
        header = parse_object(stream.read(size), str(path))
    return json.dumps(index_from_header(header, str(path))).encode()


class _Tensor(Struct, frozen=True):
    data_offsets: tuple[int, int]


def index_from_header(header: dict[str, Any], origin: str) -> dict[str, Any]:
    """`{"metadata": {"total_size"}, "weight_map"}` from a safetensors header (tensor -> dtype, shape, data_offsets). Raises InputError."""
    try:
        tensors = convert({name: tensor for name, tensor in header.items() if name != "__metadata__"}, dict[str, _Tensor])
    except ValidationError as error:
        raise InputError(msg("{file}: no safetensors header ({why})", file=origin, why=str(error))) from error
    size = max((tensor.data_offsets[1] for tensor in tensors.values()), default=0)
    return {"metadata": {"total_size": size}, "weight_map": dict.fromkeys(tensors, SINGLE)}
