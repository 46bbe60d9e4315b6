"""A config object that remembers which fields were read, what they meant, and which were not read.

The only place that touches raw config keys. A missing key is never a silent zero: it is required (InputError), optional (None) or has a
named class default (recorded as evidence of kind `class-default`).
"""

import re
from collections.abc import Iterator
from typing import Any, cast

from serveright.errors import InputError
from serveright.types.fact import Evidence, Kind, Unknown
from serveright.types.text import Msg, msg

_LIMIT = 2**48
_MATTERS = re.compile(
    r"head|kv_|window|chunk|layer|attn|attention|state|conv|rank|index|compress|cache|expert|mamba|ssm|latent|interval|pattern|ratio|lightning|linear"
)
"""Keys that could change the cache or the weights: unread ones are reported."""
_HARMLESS = re.compile(
    r"bias|dropout|_id$|_ids$|token|loss|init|eps|norm_(?!al)|jitter|cross_attention_hidden|add_cross|pruned_heads|layerdrop|use_cache|output_(attentions|hidden)|_fn$|_func$"
    r"|rope|rotary|router_aux|scal|coef|_implementation|gradient|return_dict|multiplier|max_window_layers|topk_method|scoring|temperature|_type$|cache_implementation|encoder_no_repeat"
    r"|layer_norm|_hidden_act|activation|pretraining_tp|summary|problem|classifier|^id2label|^label2id|softcap|mup|swiglu|aux"
)


_COUNTS = re.compile(r"layers?$|^depth$|mtp_modules$|num_inputs$")
_MOST = 4096
"""More layers than any model has: a file that says so is broken, and lists of that length would never end."""


class Fields:
    """Typed reads of one JSON object. `path` is its JSON path; nested objects share the log and the file's name of their parent."""

    def __init__(self, raw: dict[str, Any], path: str = "", parent: "Fields | None" = None, file: str = "config.json") -> None:
        self.raw = raw
        self.path = path
        self.file = parent.file if parent else file
        self.evidence: list[Evidence] = parent.evidence if parent else []
        self.unknowns: list[Unknown] = parent.unknowns if parent else []
        self._used: set[str] = set()
        self._children: dict[str, Fields] = {}

    def at(self, key: str) -> str:
        """JSON path of `key`."""
        return f"{self.path}.{key}" if self.path else key

    def where(self, *keys: str) -> str:
        """JSON path of the first of these keys that is present here or below; the first key where none is."""
        for view in self._views():
            found = next((key for key in keys if view.raw.get(key) is not None), None)
            if found is not None:
                return view.at(found)
        return keys[0]

    def _views(self) -> "Iterator[Fields]":
        yield self
        for child in self._children.values():
            yield from child._views()

    def has(self, key: str) -> bool:
        """The key is present and not null. Counts as read."""
        self._used.add(key)
        return self.raw.get(key) is not None

    def ignore(self, *keys: str) -> None:
        """These keys were looked at and do not matter here."""
        self._used.update(keys)

    def note(self, key: str, meaning: Msg, value: object = None) -> None:
        """Put `key` into the evidence with what it means."""
        self._used.add(key)
        self.evidence.append(Evidence(self.at(key), self.raw.get(key) if value is None else value, meaning))

    def unknown(self, key: str, why: Msg) -> None:
        """Report something not understood."""
        self._used.add(key)
        self.unknowns.append(Unknown(self.at(key), why))

    def _find(self, keys: tuple[str, ...]) -> tuple[str, Any]:
        self._used.update(keys)
        for key in keys:
            if self.raw.get(key) is not None:
                return key, self.raw[key]
        return keys[0], None

    def opt_int(self, *keys: str, minimum: int = 0) -> int | None:
        """A whole number under the first present key, None when all are absent. Raises InputError on any other type or an absurd size."""
        key, value = self._find(keys)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value < _LIMIT:
            raise InputError(
                msg(
                    "{file}: {key} is {value}, which is no whole number from {minimum} up",
                    file=self.file,
                    key=self.at(key),
                    value=repr(value)[:80],
                    minimum=minimum,
                ),
                msg("Compare the file with the one on the model's page."),
            )
        if value > _MOST and _COUNTS.search(key):
            raise InputError(
                msg("{file}: {key} is {value}, more layers than any model has", file=self.file, key=self.at(key), value=value),
                msg("Compare the file with the one on the model's page."),
            )
        return value

    def integer(self, *keys: str, minimum: int = 1) -> int:
        """A required whole number."""
        value = self.opt_int(*keys, minimum=minimum)
        if value is None:
            raise InputError(
                msg("{file}: {key} is missing", file=self.file, key=self.at(keys[0])),
                msg("Without it the shape cannot be derived; take config.json from the model's own repository."),
            )
        return value

    def int_or(self, default: int, source: str, *keys: str, minimum: int = 0) -> int:
        """A whole number, or a class default whose `source` names library, version and class (recorded as evidence)."""
        value = self.opt_int(*keys, minimum=minimum)
        if value is not None:
            return value
        self.assume(keys[0], default, source)
        return default

    def assume(self, key: str, default: object, source: str) -> None:
        """Record a class default that fills an absent key; `source` names library, version and class."""
        self.stand_in(key, default, msg("absent; the class default of {source} applies", source=source), "class-default")

    def stand_in(self, key: str, value: object, meaning: Msg, kind: Kind) -> None:
        """Record what fills an absent key, and why."""
        self._used.add(key)
        self.evidence.append(Evidence(self.at(key), value, meaning, kind))

    def number(self, *keys: str) -> float:
        """A required positive number."""
        key, value = self._find(keys)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LIMIT:
            raise InputError(msg("{file}: {key} is {value}, not a positive number", file=self.file, key=self.at(key), value=repr(value)[:80]))
        return float(value)

    def default(self, key: str, value: object, source: str) -> None:
        """Let a class default stand in for an absent key, recorded as such."""
        if self.raw.get(key) is None:
            self.raw = {**self.raw, key: value}
            self.assume(key, value, source)

    def substitute(self, key: str, value: object) -> None:
        """Read on with another value under this key; the caller has noted why."""
        self.raw = {**self.raw, key: value}

    def without(self, key: str) -> None:
        """The class ignores this key: read on as if it were absent."""
        self.raw = {name: value for name, value in self.raw.items() if name != key}

    def flag(self, *keys: str, default: bool = False) -> bool:
        """A boolean; absent means `default`."""
        key, value = self._find(keys)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(msg("{file}: {key} is {value}, not true or false", file=self.file, key=self.at(key), value=repr(value)[:80]))
        return value

    def text(self, *keys: str) -> str | None:
        """A string, None when absent."""
        key, value = self._find(keys)
        if value is None:
            return None
        if not isinstance(value, str):
            raise InputError(msg("{file}: {key} is {value}, not a text", file=self.file, key=self.at(key), value=repr(value)[:80]))
        return value

    def items(self, *keys: str, length: int | None = None) -> list[Any] | None:
        """A list, None when absent; `length` requires that many entries."""
        key, value = self._find(keys)
        if value is None:
            return None
        if not isinstance(value, list):
            raise InputError(msg("{file}: {key} is {value}, not a list", file=self.file, key=self.at(key), value=repr(value)[:80]))
        value = cast("list[Any]", value)
        if length is not None and len(value) != length:
            raise InputError(
                msg("{file}: {key} has {count} entries, the model {length} layers", file=self.file, key=self.at(key), count=len(value), length=length),
                msg("The file may be trimmed or edited; take it from the model's own repository."),
            )
        return value

    def ints(self, *keys: str) -> tuple[int, ...] | None:
        """A list of whole numbers."""
        values = self.items(*keys)
        if values is None:
            return None
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _LIMIT:
                raise InputError(msg("{file}: {key} holds {value}, not whole numbers", file=self.file, key=self.at(keys[0]), value=repr(value)[:80]))
        return tuple(values)

    def child(self, *keys: str) -> "Fields | None":
        """A nested object, None when absent; the same one for every caller, so that what one reads counts for all."""
        key, value = self._find(keys)
        if key in self._children:
            return self._children[key]
        if value is None:
            return None
        if not isinstance(value, dict):
            raise InputError(msg("{file}: {key} is {value}, not an object", file=self.file, key=self.at(key), value=repr(value)[:80]))
        self._children[key] = Fields(cast("dict[str, Any]", value), self.at(key), self)
        return self._children[key]

    def adopt(self, other: "Fields") -> None:
        """Take over what was read through another view of the same object."""
        self._used |= other._used
        self.evidence += other.evidence
        self.unknowns += other.unknowns

    def unread(self) -> Iterator[Unknown]:
        """Fields nobody read whose names suggest that they could change the cache or the weights."""
        for key, value in self.raw.items():
            if key in self._used or value is None or value is False or value == [] or value == {}:
                continue
            if _MATTERS.search(key) and not _HARMLESS.search(key):
                yield Unknown(self.at(key), msg("not read: {value}; it may change the cache or the weights", value=repr(value)[:60]))
        for child in self._children.values():
            yield from child.unread()
