"""Mutation testing itself: every fault changes what the code does, and none is left in."""

import ast
from pathlib import Path

import pytest

from tools.mutate.changes import changes, mutants

SOURCE = '''"""A module."""

LIMIT = 4


def larger(a: int, b: "int | None" = 3) -> int | None:
    """The larger one."""
    if a > b and not b:
        return None
    return max(a, b) if a else [x for x in range(b // LIMIT) if x != 2]
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    return path


def test_faults_of_a_module(module: Path) -> None:
    found = {(one.kind, one.after) for one in mutants(module, module.parent)}
    assert ("constant", "LIMIT = 5") in found
    assert ("comparison", "if a >= b and (not b):") in found
    assert ("and for or", "if a > b or not b:") in found
    assert ("sign dropped", "if a > b and b:") in found
    assert ("returns None", "return None") in found
    assert ("other function", "return min(a, b) if a else [x for x in range(b // LIMIT) if x != 2]") in found
    assert ("filter dropped", "return max(a, b) if a else [x for x in range(b // LIMIT) if True]") in found
    assert not any("XX" in after for _, after in found), "documentation and annotations stay as they are"


def test_a_constant_is_felt_where_it_is_read(module: Path) -> None:
    assert {one.names for one in mutants(module, module.parent) if one.line == 3} == {("LIMIT",)}


def test_every_fault_changes_the_code_and_goes_again() -> None:
    tree = ast.parse(SOURCE)
    before = ast.unparse(tree)
    for change in changes(tree):
        old = change.apply()
        compile(ast.fix_missing_locations(tree), "module", "exec")
        assert ast.unparse(tree) != before, change.kind
        change.undo(old)
        assert ast.unparse(tree) == before, change.kind
