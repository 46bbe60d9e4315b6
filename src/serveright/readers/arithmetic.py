"""Whole-number arithmetic as a shell writes it, worked out without running anything.

Knows no names: they are put in before.
"""

import ast
import operator
import re
from collections.abc import Callable

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}


def calculate(text: str) -> int | None:
    """Whole-number arithmetic with + - * / % and brackets as a shell does it; None for anything else, names included."""
    if len(text) > 200 or not re.fullmatch(r"[\d\s+\-*/%()]+", text) or "**" in text or "//" in text:
        return None
    try:
        return _evaluated(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ZeroDivisionError, RecursionError):
        return None


def _evaluated(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _evaluated(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluated(node.left), _evaluated(node.right)
        return None if left is None or right is None else _OPERATORS[type(node.op)](left, right)
    return None
