"""Shell text -> simple commands with placed words, variables with known values put in. Nothing is ever executed.

Parsed by tree-sitter-bash. A word in which something without a known value stands (`$1`, `$(date)`) is kept as written and marked not literal.
"""

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct
from tree_sitter import Language, Node, Parser

from serveright.readers.arithmetic import calculate
from serveright.readers.placed import Placed, join
from serveright.types.command import Word
from serveright.types.text import Msg, msg

MAX_DEPTH = 60
MAX_EXPANDED = 1 << 20
"""Characters all expansions of one text may add: `A=$B$B` chains end here."""

_NAME = re.compile(r"\$?\{?\b([A-Za-z_]\w*)\b(?!:?-)\}?|\$\{([A-Za-z_]\w*):?-(\d+)\}")
"""A name in arithmetic: `A`, `$A`, `${A}`, `${A:-1}`."""
_SKIP = frozenset({"comment", "heredoc_start", "heredoc_end"})
_EXPANSIONS = frozenset({"simple_expansion", "expansion"})
_UNKNOWN = frozenset({"command_substitution", "process_substitution", "arithmetic_expansion", "ansi_c_string", "translated_string", "brace_expression"})


class Value(Struct, frozen=True):
    """One word while it is put together: its text with places, and whether all of it is known."""

    placed: Placed
    literal: bool = True

    def word(self) -> Word:
        """The finished word."""
        return Word(self.placed.text, self.placed.at(0), self.literal)


class Simple(Struct, frozen=True):
    """One simple command: its words (as `Value`, so that strings can be read again), the environment it starts with, and a here-document on its stdin."""

    words: tuple[Value, ...]
    env: dict[str, Word]
    heredoc: Placed | None = None


@cache
def _parser() -> Parser:
    import tree_sitter_bash

    return Parser(Language(tree_sitter_bash.language()))


class Script:
    """One shell text being read; `variables` and `exported` grow as assignments are met in order."""

    def __init__(self, placed: Placed, env: dict[str, Word] | None = None) -> None:
        self.placed = placed
        self.data = placed.text.encode("utf-8", "surrogatepass")
        self.chars = None if len(self.data) == len(placed.text) else _char_offsets(placed.text)
        self.variables: dict[str, list[Value]] = {}
        self.exported: dict[str, Word] = {}
        self.unread: list[Msg] = []
        self.budget = MAX_EXPANDED
        for name, word in (env or {}).items():
            self.exported[name] = word
            self.variables[name] = [_value_of(word)]

    def offset(self, byte: int) -> int:
        """Character offset of a byte offset."""
        return byte if self.chars is None else self.chars[byte]

    def cut(self, node: Node) -> Placed:
        """The text of a node with its places."""
        return self.placed.cut(self.offset(node.start_byte), self.offset(node.end_byte))

    def commands(self) -> Iterator[Simple]:
        """Every simple command in order of the text, those in branches, loops and functions too."""
        root = _parser().parse(self.data).root_node
        yield from self._walk(root, 0)

    def _walk(self, node: Node, depth: int) -> Iterator[Simple]:
        if depth > MAX_DEPTH:
            self.unread.append(msg("line {line}: nested too deeply to read", line=self.cut(node).at(0).line))
            return
        kind = node.type
        if kind in _SKIP:
            return
        if kind == "command":
            yield self._command(node, None)
        elif kind == "redirected_statement":
            yield from self._redirected(node, depth)
        elif kind == "variable_assignment":
            self._assign(node, exported=False)
        elif kind == "declaration_command":
            self._declare(node)
        else:
            if kind == "ERROR":
                self.unread.append(msg("line {line}: not readable as shell", line=self.cut(node).at(0).line))
            for child in node.children:
                if child.is_named:
                    yield from self._walk(child, depth + 1)

    def _redirected(self, node: Node, depth: int) -> Iterator[Simple]:
        bodies = [child for child in node.children if child.type == "heredoc_redirect"]
        body = next((part for child in bodies for part in child.children if part.type == "heredoc_body"), None)
        heredoc = None if body is None else self.cut(body)
        for child in node.children:
            if child.type == "command":
                simple = self._command(child, heredoc)
                yield simple
            elif child.type == "heredoc_redirect":
                # Words after `<<EOF` on the same line belong to the command; pipelines start commands fed by it.
                for part in child.children:
                    if part.type == "pipeline":
                        for inner in self._walk(part, depth + 1):
                            yield Simple(inner.words, inner.env, heredoc)
            elif child.is_named and not child.type.endswith("_redirect"):
                yield from self._walk(child, depth + 1)

    def _command(self, node: Node, heredoc: Placed | None) -> Simple:
        words: list[Value] = []
        env = dict(self.exported)
        for child in node.children:
            if child.type == "variable_assignment":
                name, values = self._assignment(child)
                env[name] = values[0].word() if values else Word("", self.cut(child).at(0))
            elif child.type == "command_name":
                for part in child.children:
                    words.extend(self._words(part))
            elif child.is_named and not child.type.endswith("_redirect") and child.type not in _SKIP:
                words.extend(self._words(child))
        return Simple(tuple(words), env, heredoc)

    def _declare(self, node: Node) -> None:
        keyword = node.children[0].type if node.children else ""
        export = keyword == "export" or any(child.type == "word" and "x" in self.cut(child).text for child in node.children)
        for child in node.children:
            if child.type == "variable_assignment":
                self._assign(child, exported=export)
            elif child.type == "variable_name" and export:
                name = self.cut(child).text
                if self.variables.get(name):
                    self.exported[name] = self.variables[name][0].word()

    def _assign(self, node: Node, *, exported: bool) -> None:
        name, values = self._assignment(node)
        self.variables[name] = values
        if exported or name in self.exported:
            self.exported[name] = values[0].word() if values else Word("", self.cut(node).at(0))

    def _assignment(self, node: Node) -> tuple[str, list[Value]]:
        name_node = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        name = "" if name_node is None else self.cut(name_node).text
        appended = any(child.type == "+=" for child in node.children)
        before = self.variables.get(name.split("[")[0], []) if appended else []
        if value is None:
            return name, list(before)
        if value.type == "array":
            new = [item for child in value.children if child.is_named for item in self._words(child)]
            return name, [*before, *new]
        item = self._one(value)
        if appended and before:
            placed = join([before[0].placed, item.placed], self.placed.file)
            return name, [Value(placed, before[0].literal and item.literal)]
        return name, [item]

    def _words(self, node: Node) -> list[Value]:
        """What one argument node becomes: usually one word, several where an unquoted variable or an array stands alone."""
        array = self._array(node)
        if array is not None:
            return array
        if node.type in _EXPANSIONS:
            value = self._expand(node)
            if value is None:
                return [Value(self.cut(node), literal=False)]
            return _split(value)
        return [self._one(node)]

    def _array(self, node: Node) -> list[Value] | None:
        inner = node
        if node.type == "string":
            named = [child for child in node.children if child.is_named]
            if len(named) != 1:
                return None
            inner = named[0]
        if inner.type != "expansion":
            return None
        subscript = next((child for child in inner.children if child.type == "subscript"), None)
        if subscript is None or not self.cut(subscript).text.endswith(("[@]", "[*]")):
            return None
        return self.variables.get(self.cut(subscript).text[:-3])

    def _one(self, node: Node) -> Value:
        """One word: quotes removed, known variables put in."""
        kind = node.type
        if kind == "raw_string":
            start = self.offset(node.start_byte)
            return Value(self.placed.cut(start + 1, max(start + 1, self.offset(node.end_byte) - 1)))
        if kind in ("string", "concatenation"):
            return self._joined(node)
        if kind in _EXPANSIONS:
            return self._expand(node) or Value(self.cut(node), literal=False)
        if kind == "arithmetic_expansion":
            return self._computed(node)
        if kind in _UNKNOWN:
            return Value(self.cut(node), literal=False)
        return Value(_unescape(self.cut(node), quoted=False))

    def _joined(self, node: Node) -> Value:
        quoted = node.type == "string"
        parts: list[Placed] = []
        literal = True
        position = node.start_byte + (1 if quoted else 0)
        end = node.end_byte - (1 if quoted else 0)
        for child in node.children:
            if not child.is_named or child.start_byte < position:
                continue
            if child.start_byte > position:  # blanks between expansions are not nodes
                parts.append(_unescape(self.placed.cut(self.offset(position), self.offset(child.start_byte)), quoted=quoted))
            if child.type == "string_content":
                parts.append(_unescape(self.cut(child), quoted=True))
            else:
                value = self._one(child)
                literal = literal and value.literal
                parts.append(value.placed)
            position = child.end_byte
        if position < end:
            parts.append(_unescape(self.placed.cut(self.offset(position), self.offset(end)), quoted=quoted))
        if not parts:
            parts.append(self.placed.cut(self.offset(node.start_byte), self.offset(node.start_byte)))
        return Value(join(parts, self.placed.file), literal)

    def _computed(self, node: Node) -> Value:
        """`$((A * B))` where every name in it is known as a whole number; kept as written, and unknown, where not."""
        placed = self.cut(node)
        inside = placed.text.removeprefix("$((").removesuffix("))")
        known = _NAME.sub(lambda match: self._whole(match[1] or match[2], match[3]), inside)
        result = calculate(known)
        return Value(placed, literal=False) if result is None else Value(Placed(str(result), placed.file, placed.anchors[:1]))

    def _whole(self, name: str, default: str | None) -> str:
        values = self.variables.get(name)
        if values and values[0].literal:
            return values[0].placed.text
        return default or "?"

    def _expand(self, node: Node) -> Value | None:
        """`$X`, `${X}`, `${X:-default}`, `${X:=d}`, `${X:?}`; None where no value is known."""
        name = next((self.cut(child).text for child in node.children if child.type in ("variable_name", "special_variable_name")), "")
        known = self.variables.get(name)
        if known:
            self.budget -= len(known[0].placed.text)
            if self.budget < 0:
                return None
            operators = [child.type for child in node.children if not child.is_named and child.type not in ("${", "}", "$")]
            if not operators or operators[0] in (":-", "-", ":=", "=", ":?", "?"):
                return known[0]
            return None
        sign = next((child for child in node.children if child.type in (":-", "-", ":=", "=")), None)
        if sign is None:
            return None
        default = [child for child in node.children if child.is_named and child.start_byte >= sign.end_byte]
        if not default:
            start = self.offset(sign.end_byte)
            return Value(self.placed.cut(start, start))
        values = [self._one(child) for child in default]
        return Value(join([value.placed for value in values], self.placed.file), all(value.literal for value in values))


def _char_offsets(text: str) -> list[int]:
    offsets: list[int] = []
    for index, char in enumerate(text):
        offsets.extend([index] * len(char.encode("utf-8", "surrogatepass")))
    offsets.append(len(text))
    return offsets


def _value_of(word: Word) -> Value:
    return Value(Placed(word.text, word.location.file, [(0, word.location.line, word.location.column)]), word.literal)


def _split(value: Value) -> list[Value]:
    """Word splitting of an unquoted variable's value; a value without quotes in it is cut at blanks."""
    text, words, position = value.placed.text, list[Value](), 0
    for piece in text.split():
        start = text.index(piece, position)
        position = start + len(piece)
        words.append(Value(value.placed.cut(start, position), value.literal))
    return words


def _unescape(placed: Placed, *, quoted: bool) -> Placed:
    """Backslashes as the shell reads them; inside double quotes only before `$`, a backquote, `"`, a backslash and a line end."""
    text = placed.text
    if "\\" not in text:
        return placed
    parts: list[Placed] = []
    start = position = 0
    while True:
        position = text.find("\\", position)
        if position < 0 or position + 1 >= len(text):
            break
        following = text[position + 1]
        if quoted and following not in '$`"\\\n':
            position += 2
            continue
        parts.append(placed.cut(start, position))
        start = position + (2 if following == "\n" else 1)
        position += 2
    parts.append(placed.cut(start, len(text)))
    return join(parts, placed.file)
