"""Every small fault that can be put into a module: what it is, where it stands, and how to apply it to the syntax tree.

Left alone: docstrings, annotations, imports, `__all__`, and the English templates of `msg(...)`, which are words for users and have tests of their own.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Div,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}


class Change(NamedTuple):
    """One fault: `place.field` (or its part `item`) becomes `new`. `function` is the outermost function around it, None at module level."""

    kind: str
    place: ast.AST
    field: str
    item: int | None
    new: object
    statement: ast.stmt
    function: ast.FunctionDef | ast.AsyncFunctionDef | None

    def apply(self) -> object:
        """Put the fault in; returns what stood there, for `undo`."""
        if self.item is None:
            old = getattr(self.place, self.field)
            setattr(self.place, self.field, self.new)
            return old
        items = getattr(self.place, self.field)
        old, items[self.item] = items[self.item], self.new
        return old

    def undo(self, old: object) -> None:
        """Put back what `apply` returned."""
        self._replace(new=old).apply()


class Mutant(NamedTuple):
    """A fault by file and number, as it is reported: the statement before and after, and the lines that must run for it to be felt.

    `names` are module constants the fault changes: then the lines that read them count.
    """

    path: str
    number: int
    kind: str
    line: int
    end: int
    names: tuple[str, ...]
    before: str
    after: str


def parsed(path: Path) -> ast.Module:
    """The module's tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def changes(tree: ast.Module) -> list[Change]:
    """All faults of a module, in a fixed order."""
    return [change for statement in tree.body if not _is_text(statement) for change in _of_statement(statement, None)]


def mutants(path: Path, root: Path) -> list[Mutant]:
    """All faults of a file, described."""
    found: list[Mutant] = []
    for number, change in enumerate(changes(parsed(path))):
        statement = change.statement
        first, last, names = statement.lineno, _header_end(statement), ()
        if change.function is None and isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first, last = statement.body[0].lineno, statement.end_lineno or statement.lineno
        elif change.function is None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []
            names = tuple(target.id for target in targets if isinstance(target, ast.Name))
        before = _header(statement)
        old = change.apply()
        after = _header(statement)
        change.undo(old)
        found.append(Mutant(str(path.relative_to(root)), number, change.kind, first, last, names, before, after))
    return found


def _header_end(statement: ast.stmt) -> int:
    body: list[ast.stmt] = getattr(statement, "body", [])
    return max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or statement.lineno


def _header(statement: ast.stmt) -> str:
    text = ast.unparse(statement)
    return text.partition("\n")[0] if hasattr(statement, "body") else text


def _of_statement(node: ast.stmt, function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> Iterator[Change]:
    if isinstance(node, (ast.Import, ast.ImportFrom)) or ast.unparse(getattr(node, "test", node)) == "TYPE_CHECKING" or _is_exports(node):
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from _under(node.args, node, function, ("defaults", "kw_defaults"))
        inside = function or node
        for number, child in enumerate(node.body):
            if not (number == 0 and _is_text(child)):
                yield from _of_statement(child, inside)
        return
    if isinstance(node, ast.ClassDef):
        for child in node.body:
            if not _is_text(child):
                yield from _of_statement(child, function)
        return
    if isinstance(node, (ast.If, ast.While)):
        yield Change("condition negated", node, "test", None, ast.UnaryOp(ast.Not(), node.test), node, function)
    if isinstance(node, ast.Return) and node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield Change("returns None", node, "value", None, ast.Constant(None), node, function)
    for name, value in ast.iter_fields(node):
        if name != "annotation":
            yield from _of_value(node, name, value, node, function)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_exports(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _of_value(parent: ast.AST, field: str, value: object, statement: ast.stmt, function: ast.FunctionDef | ast.AsyncFunctionDef | None) -> Iterator[Change]:
    if isinstance(value, list):
        for index, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if isinstance(item, ast.stmt):
                yield from _statement_changes(parent, field, index, item, statement, function)
            elif isinstance(item, ast.AST):
                yield from _of_node(parent, field, index, item, statement, function)
    elif isinstance(value, ast.AST):
        yield from _of_node(parent, field, None, value, statement, function)


def _statement_changes(
    parent: ast.AST, field: str, index: int, item: ast.stmt, statement: ast.stmt, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[Change]:
    if isinstance(item, (ast.Break, ast.Continue)):
        yield Change("loop left", parent, field, index, ast.Continue() if isinstance(item, ast.Break) else ast.Break(), statement, function)
    yield from _of_statement(item, function)


def _of_node(
    parent: ast.AST, field: str, index: int | None, node: ast.AST, statement: ast.stmt, function: ast.FunctionDef | ast.AsyncFunctionDef | None
) -> Iterator[Change]:
    """Faults that replace `node` where it stands, then those below it."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
        return
    for kind, new in _replacements(node):
        yield Change(kind, parent, field, index, ast.copy_location(new, node) if isinstance(node, ast.expr) else new, statement, function)
    skipped = {"annotation", "ctx"}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("msg", "cast", "TypeVar"):
        yield from (change for item, value in enumerate(node.args[1:], 1) for change in _of_node(node, "args", item, value, statement, function))
        skipped |= {"args"}
    yield from _under(node, statement, function, tuple(name for name in node._fields if name not in skipped))
    if isinstance(node, ast.comprehension):
        for number in range(len(node.ifs)):
            yield Change("filter dropped", node, "ifs", number, ast.Constant(True), statement, function)


def _under(node: ast.AST, statement: ast.stmt, function: ast.FunctionDef | ast.AsyncFunctionDef | None, fields: tuple[str, ...]) -> Iterator[Change]:
    for name in fields:
        yield from _of_value(node, name, getattr(node, name), statement, function)


def _replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.cmpop() if type(node) in COMPARISONS:
            yield "comparison", COMPARISONS[type(node)]()
        case ast.operator() if type(node) in ARITHMETIC:
            yield "arithmetic", ARITHMETIC[type(node)]()
        case ast.And():
            yield "and for or", ast.Or()
        case ast.Or():
            yield "and for or", ast.And()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "sign dropped", node.operand
        case ast.IfExp():
            yield "branches swapped", ast.IfExp(node.test, node.orelse, node.body)
        case ast.Name(id=name, ctx=ast.Load()) if name in CALLS:
            yield "other function", ast.Name(CALLS[name], ast.Load())
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in CALLS:
            yield "other function", ast.Attribute(node.value, CALLS[name], ast.Load())
        case ast.Constant(value=value):
            yield from _other_constant(value)
        case _:
            pass


def _other_constant(value: object) -> Iterator[tuple[str, ast.AST]]:
    match value:
        case bool():
            yield "constant", ast.Constant(not value)
        case int():
            yield "constant", ast.Constant(value + 1)
        case float():
            yield "constant", ast.Constant(2 * value if value else 1.0)
        case str():
            yield "word", ast.Constant(f"XX{value}")
        case _:
            pass
