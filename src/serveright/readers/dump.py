"""Repositories and cluster dumps -> pieces small enough to read one by one: files, documents of a large file, items of `kubectl get -o yaml|json`.

A dump is streamed: memory holds one item, never the file (JSON lists excepted, whose bytes are held once).
"""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec import Struct

from serveright.catalog.own import is_plain_file, read_own
from serveright.errors import InputError, os_reason
from serveright.readers.launch import MAX_BYTES
from serveright.types.text import msg

ENDINGS = frozenset({".sh", ".bash", ".yaml", ".yml", ".json", ".service", ".sbatch", ".slurm", ".py", ".toml", ".env", ".txt", ".md", ""})
SKIPPED = frozenset({".git", ".venv", "node_modules", "__pycache__", ".tox"})
MAX_LIST_BYTES = 1 << 30
"""Of a JSON list, which is held whole."""
LARGE = 1 << 20
"""Files beyond this are cut into their documents or items; smaller ones are read whole, so that places stay those of the file."""
_KIND = re.compile(r"^kind:\s*[\"']?(\w+)", re.MULTILINE)
_METADATA = re.compile(r"^metadata:[ ]*\n((?:[ ]+.*\n|\n)*)", re.MULTILINE)
_FIELD = re.compile(r"^  (name|namespace):\s*[\"']?([^\s\"']+)", re.MULTILINE)


class Piece(Struct, frozen=True):
    """`key` names it within the fleet, the same in every dump; `line` is where it begins in its file (from 1)."""

    key: str
    file: str
    raw: bytes
    line: int = 1


class _Meta(Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Item(Struct, frozen=True):
    kind: str = ""
    metadata: _Meta = _Meta()


class _Items(Struct):
    items: list[msgspec.Raw] = []


def pieces(paths: Iterable[str]) -> Iterator[Piece]:
    """The pieces of files and folders in a stable order. Raises InputError for a path that cannot be read."""
    for given in paths:
        path = Path(given)
        files = sorted(_walk(path)) if path.is_dir() else [path]
        for file in files:
            name = file.relative_to(path).as_posix() if path.is_dir() else file.name
            try:
                yield from _of_file(file, name)
            except OSError as error:
                raise InputError(msg("{path} cannot be read: {why}", path=str(file), why=os_reason(error)), msg("Give files or folders that exist.")) from error


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix.lower() in ENDINGS and not SKIPPED.intersection(path.parts) and is_plain_file(path):
            yield path


def _of_file(file: Path, name: str) -> Iterator[Piece]:
    ending = file.suffix.lower()
    with file.open("rb") as head:
        start = head.read(4096)
    if ending == ".json" and b'"items"' in start:
        yield from _json_items(file, name)
    elif ending in (".yaml", ".yml") and re.search(rb"^items:[ ]*$", start, re.MULTILINE):
        yield from _yaml_items(file, name)
    elif ending in (".yaml", ".yml") and file.stat().st_size > LARGE:
        yield from _documents(file, name)
    else:
        with file.open("rb") as whole:
            yield Piece(name, name, whole.read(MAX_BYTES + 1))


def _json_items(file: Path, name: str) -> Iterator[Piece]:
    try:
        items = msgspec.json.decode(read_own(file, limit=MAX_LIST_BYTES), type=_Items).items
    except msgspec.DecodeError as error:
        raise InputError(msg("{path}: not readable as JSON: {why}", path=str(file), why=str(error)[:200])) from error
    for number, item in enumerate(items):
        raw = bytes(item)
        try:
            named = msgspec.json.decode(raw, type=_Item)
        except msgspec.DecodeError:
            named = _Item()
        yield Piece(_identity(named.kind, named.metadata.namespace, named.metadata.name) or f"{name}[{number}]", f"{name}[{number}].json", raw)


def _yaml_items(file: Path, name: str) -> Iterator[Piece]:
    """Items begin with `- ` at the list's own depth; each is put back to depth 0 so that it reads as a document."""
    depth = -1
    number = size = 0
    block: list[str] = []
    first = 1
    with file.open(encoding="utf-8", errors="replace") as lines:
        inside = False
        for count, line in _numbered(lines):
            stripped = line.lstrip(" ")
            if not inside:
                inside = line.rstrip() == "items:"
                continue
            if depth < 0 and stripped.startswith("- "):
                depth = len(line) - len(stripped)
            if depth >= 0 and line.startswith(" " * depth + "- "):
                if block:
                    yield _item(block, name, number, first)
                    number += 1
                block, first, size = [line[depth + 2 :]], count, 0
            elif depth >= 0 and (line[: depth + 2].isspace() or not stripped.strip()):
                # what is too long stays too long with this line, and is left out
                if size <= MAX_BYTES:
                    block.append(line[depth + 2 :] if len(line) > depth + 2 else "\n")
                size += len(line)
            elif depth >= 0:
                break
    if block:
        yield _item(block, name, number, first)


def _item(block: list[str], name: str, number: int, line: int) -> Piece:
    text = "".join(block)
    kind = _KIND.search(text)
    metadata = _METADATA.search(text)
    fields = dict(_FIELD.findall(metadata[1])) if metadata else {}
    return Piece(
        _identity(kind[1] if kind else "", fields.get("namespace", ""), fields.get("name", "")) or f"{name}[{number}]",
        f"{name}[{number}].yaml",
        text.encode(),
        line,
    )


def _documents(file: Path, name: str) -> Iterator[Piece]:
    block: list[str] = []
    first = number = size = 0
    with file.open(encoding="utf-8", errors="replace") as lines:
        for count, line in _numbered(lines):
            if line.startswith("---") and line[3:].strip() == "":
                if block:
                    yield Piece(f"{name}[{number}]", f"{name}[{number}].yaml", "".join(block).encode(), first + 1)
                    number += 1
                block, first, size = [], count, 0
            elif size <= MAX_BYTES:
                block.append(line)
                size += len(line)
    if block:
        yield Piece(f"{name}[{number}]", f"{name}[{number}].yaml", "".join(block).encode(), first + 1)


def _numbered(lines: TextIO) -> Iterator[tuple[int, str]]:
    """Lines from 1; one without an end is cut, not held."""
    return enumerate(iter(partial(lines.readline, MAX_BYTES + 1), ""), 1)


def _identity(kind: str, namespace: str, name: str) -> str:
    """`namespace/Kind/name`: the same object in two dumps."""
    return f"{namespace or '-'}/{kind}/{name}" if kind and name else ""
