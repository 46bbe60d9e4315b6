"""The quantisation object of a config, read key by key; every absurd value is one InputError with its JSON path."""

import re
from typing import Any, cast

from msgspec import Struct, field

from serveright.errors import InputError
from serveright.types.fact import Evidence, Unknown
from serveright.types.model import FormatRule
from serveright.types.text import Msg, msg

MOST_PATTERN = 2000
"""Longer expressions are not tried, in characters; those of published checkpoints stay under 200."""
_NESTED_REPEAT = re.compile(r"[*+}][^()|]*\)[*+{]")


class Quant(Struct, frozen=True, kw_only=True):
    """`raw` is the quantisation object itself, `path` where it stands, in `file`, `model` the whole config. `nested`: it stands in the text config, so towers are outside its reach."""

    raw: dict[str, Any]
    path: str
    file: str
    model: dict[str, Any]
    method: str
    nested: bool = False
    unknown: list[Unknown] = field(default_factory=list[Unknown])
    evidence: list[Evidence] = field(default_factory=list[Evidence])

    @property
    def text(self) -> dict[str, Any]:
        """Fields of the language model: the nested text config where there is one."""
        inner: object = self.model.get("text_config")
        return cast("dict[str, Any]", inner) if isinstance(inner, dict) else self.model

    def at(self, key: str) -> str:
        """JSON path of `key`."""
        return f"{self.path}.{key}"

    def note(self, key: str, meaning: Msg) -> None:
        """Keeps one field as evidence."""
        self.evidence.append(Evidence(self.at(key), self.raw.get(key), meaning))

    def doubt(self, key: str, why: Msg) -> None:
        """Reports one field as not understood."""
        self.unknown.append(Unknown(self.at(key), why))

    def whole(self, *keys: str, default: int | None = None) -> int | None:
        """First of `keys` that is set, as a whole number. Raises InputError where it is none."""
        for key in keys:
            value: object = self.raw.get(key)
            if value is not None:
                return self._whole(key, value)
        return default

    def _whole(self, key: str, value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"-?\d{1,9}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value <= 2**31:
            raise InputError(msg("{file}: {path} is {value}, not a sensible whole number", file=self.file, path=self.at(key), value=repr(value)[:80]))
        return value

    def bits(self, *keys: str, default: int) -> int:
        """Bits per weight, between 1 and 16."""
        value = self.whole(*keys, default=default)
        if value is None or not 1 <= value <= 16:
            raise InputError(msg("{file}: {path} is {value}, not a number of bits", file=self.file, path=self.at(keys[0]), value=value))
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false; anything else is reported and read as the default."""
        value: object = self.raw.get(key)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.doubt(key, msg("is {value}, neither true nor false", value=repr(value)[:80]))
        return default

    def word(self, *keys: str) -> str:
        """First of `keys` that holds a text, '' otherwise."""
        return next((value for key in keys if isinstance(value := self.raw.get(key), str)), "")

    def table(self, key: str) -> dict[str, Any]:
        """An object, {} where absent. Raises InputError for anything else."""
        value: object = self.raw.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise InputError(msg("{file}: {path} is {value}, not an object", file=self.file, path=self.at(key), value=repr(value)[:80]))
        return cast("dict[str, Any]", value)

    def names(self, *keys: str) -> tuple[str, ...]:
        """Module names under the first of `keys` that is not empty; entries that are no text are reported."""
        for key in keys:
            value: object = self.raw.get(key)
            if isinstance(value, str) and value:
                return self.usable(key, (value,))
            if isinstance(value, list) and value:
                entries = cast("list[object]", value)
                if any(not isinstance(entry, str) for entry in entries):
                    self.doubt(key, msg("holds entries that are no module names"))
                return self.usable(key, tuple(entry for entry in entries if isinstance(entry, str)))
        return ()

    def usable(self, key: str, patterns: tuple[str, ...]) -> tuple[str, ...]:
        """The patterns without those whose regular expression does not compile or might never end, which are reported."""
        return tuple(pattern for pattern in patterns if self._usable(key, pattern))

    def _usable(self, key: str, pattern: str) -> bool:
        if not pattern.startswith("re:"):
            return True
        try:
            re.compile(pattern[3:])
        except (re.error, OverflowError, RecursionError):
            self.doubt(key, msg("{pattern} is no regular expression", pattern=pattern[:80]))
            return False
        if len(pattern) > MOST_PATTERN or _NESTED_REPEAT.search(pattern):
            self.doubt(key, msg("{pattern} is too costly a regular expression to be tried", pattern=pattern[:80]))
            return False
        return True

    def left_alone(self, *keys: str, within: bool = True) -> list[FormatRule]:
        """The rule for modules listed as not quantised, [] where none are."""
        patterns = self.names(*keys)
        return [FormatRule(patterns=patterns, format=None, within=within)] if patterns else []
