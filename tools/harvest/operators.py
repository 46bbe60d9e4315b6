"""Operators and the few builtins interpreted source may use; one unread operand makes the result unread."""

import ast
import operator
from collections.abc import Callable
from typing import Any

from tools.harvest.project import UNREAD, External, is_sequence

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.BitOr: operator.or_,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
BUILTINS: dict[str, Any] = {
    f.__name__: f for f in (int, str, float, bool, dict, list, tuple, set, frozenset, sorted, len, min, max, sum, abs, round, any, all)
}  # fmt: skip
METHODS: dict[str, frozenset[str]] = {
    "str": frozenset(("lower", "upper", "replace", "strip", "lstrip", "rstrip", "split", "join", "startswith", "endswith", "removeprefix", "removesuffix")),
    "list": frozenset(("append", "extend", "insert", "remove", "copy", "index", "count")),
    "dict": frozenset(("get", "keys", "values", "items", "pop", "update", "setdefault", "copy")),
    "tuple": frozenset(("index", "count")),
    "set": frozenset(("add", "update", "union", "copy", "discard")),
    "frozenset": frozenset(("union", "copy")),
}


def unread(*values: Any) -> bool:
    """Whether any operand could not be read."""
    return any(v is UNREAD or isinstance(v, External) for v in values)


def binary(sign: ast.operator, left: Any, right: Any) -> Any:
    """A list plus something unread keeps what is known of it; any other half-read sum is unread."""
    if isinstance(sign, ast.Add) and (is_sequence(left) or isinstance(left, str)) and unread(right):
        return left
    if unread(left, right) or type(sign) not in BINARY:
        return UNREAD
    return BINARY[type(sign)](left, right)


def unary(sign: ast.unaryop, value: Any) -> Any:
    """`not x` and `-x`."""
    if unread(value):
        return UNREAD
    return (not value) if isinstance(sign, ast.Not) else -value if isinstance(sign, ast.USub) else UNREAD


def compare(sign: ast.cmpop, left: Any, right: Any) -> Any:
    """One comparison of a chain."""
    if unread(left, right):
        return UNREAD
    return COMPARE[type(sign)](left, right)
