"""Python source -> argument lists and command strings that are literal, never imported and never run.

Reads `["vllm", "serve", ...]`, `[...] + [...]`, names bound to literals before, f-strings of known names, and strings handed to a shell.
"""

import ast
import re
from collections.abc import Iterator

from serveright.readers.placed import Placed, join
from serveright.readers.shell import Simple, Value
from serveright.types.text import Msg, msg

MAX_ITEMS = 10_000


class Source:
    """One Python file; `constants` grows in order of the text."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.lines = text.splitlines()
        self.unread: list[Msg] = []
        self.constants: dict[str, list[Value]] = {}
        try:
            self.tree: ast.Module | None = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.tree = None
            self.unread.append(msg("not readable as Python: {why}", why=str(error)[:120]))

    def commands(self) -> Iterator[Simple | Placed]:
        """Argument lists as simple commands, command strings as shell texts."""
        if self.tree is None:
            return
        spoken = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
        inner: set[int] = set()
        for node in _in_order(self.tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                values = self._values(node.value)
                if values is not None:
                    self.constants[node.targets[0].id] = values
            if id(node) in inner or id(node) in spoken:
                continue
            if isinstance(node, ast.List | ast.Tuple | ast.BinOp):
                values = self._values(node)
                if values is not None and len(values) > 1:
                    inner.update(id(child) for child in ast.walk(node))
                    yield Simple(tuple(values), {})
            elif isinstance(node, ast.Constant | ast.JoinedStr):
                values = self._values(node)
                if values and " " in values[0].placed.text and ("serve" in values[0].placed.text or " -m " in values[0].placed.text):
                    inner.update(id(child) for child in ast.walk(node))
                    yield values[0].placed

    def _values(self, node: ast.AST) -> list[Value] | None:
        """A list of words, or one word; None where the node is neither."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float) and not isinstance(node.value, bool):
            return [Value(self._placed(node, str(node.value)))]
        if isinstance(node, ast.Name):
            return self.constants.get(node.id)
        if isinstance(node, ast.JoinedStr):
            return [self._formatted(node)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1:
            return self._values(node.args[0])
        if isinstance(node, ast.Call) and len(node.args) == 2 and ast.unparse(node.func) in ("os.environ.get", "os.getenv", "environ.get", "getenv"):
            return self._values(node.args[1])  # as the shell's ${NAME:-default}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self._values(node.left), self._values(node.right)
            lists = isinstance(node.left, ast.List | ast.Tuple) or isinstance(node.right, ast.List | ast.Tuple)
            return [*left, *right] if left is not None and right is not None and lists else None
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) < MAX_ITEMS:
            found: list[Value] = []
            for item in node.elts:
                inner = self._values(item.value if isinstance(item, ast.Starred) else item)
                found.extend(inner if inner is not None else [self._opaque(item)])
            return found
        return None

    def _formatted(self, node: ast.JoinedStr) -> Value:
        parts: list[Placed] = []
        literal = True
        for item in node.values:
            known = self._values(item.value if isinstance(item, ast.FormattedValue) else item)
            if known is None or len(known) != 1:
                literal = False
                at = self._opaque(item).placed
                name = re.sub(r"\W+", "_", at.text).strip("_")
                parts.append(Placed("${" + name + "}", self.file, at.anchors))  # a shell reads it as a value not known
            else:
                literal = literal and known[0].literal
                parts.append(known[0].placed)
        return Value(join(parts, self.file), literal)

    def _opaque(self, node: ast.expr) -> Value:
        return Value(Placed(f"{{{ast.unparse(node)[:80]}}}", self.file, [(0, node.lineno, node.col_offset + 1)]), literal=False)

    def _placed(self, node: ast.Constant, text: str) -> Placed:
        line, column = node.lineno, node.col_offset + 1
        raw = self.lines[line - 1] if line <= len(self.lines) else ""
        start = len(raw.encode()[: node.col_offset].decode(errors="ignore"))
        quote = next(
            (
                length
                for length in (4, 3, 2, 1)
                if raw[start : start + length].rstrip("'\"") in ("", "r", "f", "b", "R") and raw[start : start + length][-1:] in "'\""
            ),
            0,
        )
        if isinstance(node.value, str) and quote and "\n" not in text:
            quote = raw.find(text[:8], start) - start if text and raw.find(text[:8], start) >= 0 else quote
        return Placed.whole(text, self.file, line, column + (quote if isinstance(node.value, str) else 0))


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Depth first, so that an assignment is met before what follows it."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(ast.iter_child_nodes(current))))
