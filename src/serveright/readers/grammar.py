"""Words -> flags and back, by one engine version's table: one parser for argparse as both engines use it.

Knows prefixes, `=`, aliases, negations, abbreviations, dotted keys, `-O3`, repeated flags; nothing of what a flag means.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from serveright.types.command import GivenFlag, Word
from serveright.types.engine_table import EngineTable, Flag
from serveright.types.report import Location
from serveright.types.text import Msg

_NUMBER = re.compile(r"-\d+(\.\d+)?$|-\.\d+$")
_LEVEL = re.compile(r"-O=?([0-9a-z]+)$")


class Parsed(Struct, frozen=True):
    """Flags in the order given, words that belong to no flag, and what was odd."""

    flags: tuple[GivenFlag, ...]
    positionals: tuple[Word, ...]
    unread: tuple[Msg, ...] = ()


class Spelling(Struct, frozen=True):
    """What one written name means: the flag, whether it is its negation, and the dotted path below it."""

    flag: Flag
    negated: bool = False
    path: str = ""
    abbreviated: bool = False


class Grammar:
    """The spellings one engine version accepts."""

    def __init__(self, table: EngineTable) -> None:
        self.table = table
        self.dashes = table.engine == "vllm"
        self.names: dict[str, Spelling] = {}
        for flag in table.flags:
            for name in (flag.name, *flag.aliases):
                self.names[name] = Spelling(flag)
        for flag in table.flags:
            for name in self._negations(flag):
                self.names.setdefault(name, Spelling(flag, negated=True))

    def _negations(self, flag: Flag) -> Iterator[str]:
        """The table's own negation; vLLM's parser also registers `--no-` and the enable/disable opposite of every boolean."""
        if flag.negative:
            yield flag.negative
        yield from flag.negatives
        if self.dashes and flag.switch and flag.type == "bool" and flag.negative:
            yield f"--no-{flag.name.removeprefix('--')}"

    def find(self, written: str) -> Spelling | None:
        """The meaning of a written name (no `=value`); None where this version has no such flag."""
        name, path = self._split(written)
        exact = self.names.get(name)
        if exact is not None:
            return Spelling(exact.flag, exact.negated, path) if path else exact
        if not name.startswith("--") or len(name) < 4:
            return None
        candidates = [spelling for known, spelling in self.names.items() if known.startswith(name)]
        flags = {(spelling.flag.name, spelling.negated) for spelling in candidates}
        if len(flags) != 1:
            return None
        return Spelling(candidates[0].flag, candidates[0].negated, path, abbreviated=True)

    def ambiguous(self, written: str) -> tuple[str, ...]:
        """The flags an abbreviation could mean where it means several."""
        name, _ = self._split(written)
        if not name.startswith("--") or len(name) < 4 or name in self.names:
            return ()
        found = sorted({spelling.flag.name for known, spelling in self.names.items() if known.startswith(name)})
        return tuple(found) if len(found) > 1 else ()

    def _takes_many(self, written: str) -> bool:
        """Whether every flag an ambiguous abbreviation could mean takes several words."""
        several = self.ambiguous(written)
        return bool(several) and all(self.names[name].flag.repeatable for name in several)

    def _split(self, written: str) -> tuple[str, str]:
        name, _, path = written.partition(".") if self.dashes else (written, "", "")
        if self.dashes and name.startswith("--"):
            name = "--" + name[2:].replace("_", "-")
        return name, path

    def parse(self, words: Iterable[Word]) -> Parsed:
        """Flags and positionals of one command line, left to right as argparse takes them."""
        flags: list[GivenFlag] = []
        positionals: list[Word] = []
        rest = list(words)
        index = 0
        while index < len(rest):
            word = rest[index]
            level = _LEVEL.match(word.text) if self.dashes else None
            if level and "--optimization-level" in self.names:
                place = _shifted(word.location, level.start(1))
                flags.append(self._given(word, word.text[:2], Spelling(self.names["--optimization-level"].flag), level[1], place, word.literal))
                index += 1
            elif is_flag(word):
                index += self._one(rest, index, flags)
            else:
                positionals.append(word)
                index += 1
        return Parsed(tuple(flags), tuple(positionals))

    def _one(self, words: list[Word], index: int, flags: list[GivenFlag]) -> int:
        """Reads the flag at `index`; returns how many words it took."""
        word = words[index]
        written, equals, inline = word.text.partition("=")
        spelling = self.find(written)
        if equals:
            place = _shifted(word.location, len(written) + 1)
            flags.append(self._given(word, written, spelling, inline, place, word.literal))
            return 1
        if spelling is not None and spelling.flag.switch and not spelling.path:
            flags.append(self._given(word, written, spelling, None, None, word.literal))
            return 1
        values: list[Word] = []
        many = spelling.flag.repeatable if spelling is not None else self._takes_many(written)
        for following in islice(words, index + 1, None) if many else words[index + 1 : index + 2]:
            if is_flag(following) or (values and not many):
                break
            values.append(following)
        if spelling is None and values and not _plausible_value(written, values[0]):
            values = []
        if not values:
            flags.append(self._given(word, written, spelling, None, None, word.literal))
            return 1
        text = shlex.join(value.text for value in values) if many else values[0].text
        literal = word.literal and all(value.literal for value in values)
        flags.append(self._given(word, written, spelling, text, values[0].location, literal))
        return 1 + len(values)

    def _given(self, word: Word, written: str, spelling: Spelling | None, value: str | None, place: Location | None, literal: bool) -> GivenFlag:
        name = None if spelling is None else spelling.flag.name
        if spelling is not None and spelling.negated:
            value = "false"
        return GivenFlag(written=written, name=name, value=value, location=word.location, value_location=place, literal=literal)

    def emit(self, flags: Iterable[GivenFlag]) -> list[str]:
        """The words that `parse` reads as these flags again."""
        words: list[str] = []
        for flag in flags:
            spelling = self.find(flag.written)
            words.extend(_words_of(flag, spelling))
        return words


_KEPT: dict[int, Grammar] = {}


def grammar_of(table: EngineTable) -> Grammar:
    """The grammar of a table, kept while the table lives in the catalogue's cache."""
    kept = _KEPT.get(id(table))
    if kept is None or kept.table is not table:
        if len(_KEPT) > 64:
            _KEPT.clear()
        kept = _KEPT[id(table)] = Grammar(table)
    return kept


def _words_of(flag: GivenFlag, spelling: Spelling | None) -> list[str]:
    if flag.written == "-O" and flag.value is not None:
        return [f"-O{flag.value}"]
    if flag.value is None or (spelling is not None and spelling.negated):
        return [flag.written]
    if spelling is not None and spelling.flag.repeatable:
        values = shlex.split(flag.value)
        return [flag.written, *values] if values and not any(value.startswith("-") for value in values) else [f"{flag.written}={flag.value}"]
    if flag.value == "" or flag.value.startswith("-") or (spelling is not None and spelling.flag.switch) or spelling is None:
        return [f"{flag.written}={flag.value}"]
    return [flag.written, flag.value]


def is_flag(word: Word) -> bool:
    """As argparse sees it: a dash in front, no negative number, no blank inside."""
    text = word.text
    return len(text) > 1 and text[0] == "-" and _NUMBER.match(text) is None and " " not in text.partition("=")[0] and text != "--"


def _plausible_value(written: str, value: Word) -> bool:
    """Whether the word after an unknown flag is its value: yes unless the flag reads like a switch and the word like a model."""
    return not (re.match(r"--(enable|disable|no|use|skip|trust)[-_]", written) and "/" in value.text)


def _shifted(location: Location, by: int) -> Location:
    return Location(location.file, location.line, location.column + by if location.column else 0)
