"""State of a page: the query of its address, and pasted texts, which live in the address while they are small and in memory while they are not."""

import base64
import hashlib
import json
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import cast
from urllib.parse import quote, urlencode

from serveright.errors import InputError
from serveright.types.text import msg

ADDRESS_LIMIT = 7000
"""Longest packed text an address carries; browsers and servers agree on about 8,000 characters."""
UNPACKED_LIMIT = 2 << 20
KEPT_BYTES = 48 << 20

Texts = Mapping[str, str]


def pack(texts: Texts) -> str:
    """Named texts as one short word for an address."""
    raw = json.dumps(dict(sorted(texts.items())), ensure_ascii=False, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode().rstrip("=")


def unpack(word: str) -> dict[str, str]:
    """The texts of `pack`. Raises InputError for anything else, bombs included."""
    try:
        expander = zlib.decompressobj()
        raw = expander.decompress(base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)), UNPACKED_LIMIT)
        found: object = json.loads(raw) if expander.eof else None
    except (ValueError, zlib.error, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(msg("The text inside this address is damaged or too long"), msg("Paste it again."))
    return {str(name): str(text) for name, text in cast("dict[object, object]", found).items()}


def digest(texts: Texts) -> str:
    """The name of pasted texts: equal texts have equal names."""
    whole = hashlib.sha256()
    for name, text in sorted(texts.items()):
        whole.update(f"{name}\0{text}\0".encode())
    return whole.hexdigest()[:16]


class Store:
    """The last pasted texts by digest, oldest forgotten first once they exceed `KEPT_BYTES`."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def put(self, texts: Texts) -> str:
        """Keep, and return the digest."""
        key = digest(texts)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = dict(texts)
                self._bytes += _size(texts)
            self._kept.move_to_end(key)
            while self._bytes > KEPT_BYTES and len(self._kept) > 1:
                self._bytes -= _size(self._kept.popitem(last=False)[1])
        return key

    def get(self, key: str, packed: str | None) -> dict[str, str]:
        """The texts of a digest, from memory or from the address itself. Raises InputError when neither has them."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        if packed:
            texts = unpack(packed)
            self.put(texts)
            return texts
        raise InputError(
            msg("This server no longer keeps the text behind this address"), msg("Long texts are kept in memory only, until the server ends: paste it again.")
        )


def _size(texts: Texts) -> int:
    return sum(len(text) for text in texts.values())


def address(path: str, query: Iterable[tuple[str, str]] = (), **more: str) -> str:
    """Path and query as one address, empty values left out."""
    text = urlencode([(k, v) for k, v in (*query, *more.items()) if v != ""], quote_via=quote, safe="/:,@")
    path = quote(path, safe="/:@~.")
    return f"{path}?{text}" if text else path
