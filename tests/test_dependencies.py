"""The page of dependencies, the lowest versions that are tried, and pyproject.toml say the same; what the code imports is declared."""

import ast
import re
import sys
import tomllib

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL = [entry for extra in PROJECT["optional-dependencies"].values() for entry in extra]
MODULES = {
    "click": "click", "msgspec": "msgspec", "yaml": "PyYAML", "tree_sitter": "tree-sitter", "tree_sitter_bash": "tree-sitter-bash", "prometheus_client": "prometheus-client",
    "rich": "rich", "huggingface_hub": "huggingface-hub", "numpy": "numpy", "starlette": "starlette", "uvicorn": "uvicorn", "jinja2": "jinja2", "python_multipart": "python-multipart",
    "vl_convert": "vl-convert-python", "mcp": "mcp", "openai": "openai", "pyarrow": "pyarrow", "scipy": "scipy", "aiconfigurator": "aiconfigurator",
}  # fmt: skip
BROUGHT = {"mcp_types": "mcp", "pydantic": "mcp", "httpx": "huggingface-hub", "requests": "huggingface-hub", "markupsafe": "jinja2"}
"""Modules a declared package brings along and hands out in its own interface."""


def bounds(entries: list[str]) -> dict[str, str]:
    return {name: version for entry in entries for name, version in [re.fullmatch(r"([\w.-]+)>=([\d.]+)", entry).groups()]}  # type: ignore[union-attr]


def test_the_page_has_every_package_with_its_bound() -> None:
    page = (ROOT / "docs/reference/dependencies.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\w.-]+) \| ([\d.]+) \|", page, re.MULTILINE))
    assert rows == bounds([*PROJECT["dependencies"], *OPTIONAL])


def test_the_lowest_versions_tried_are_those_declared() -> None:
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    tried = dict(line.split("==") for line in lines if "==" in line)
    declared = bounds(PROJECT["dependencies"])
    assert tried.keys() == declared.keys()
    # 8.1 is tried as 8.1.0
    assert all((tried[name] + ".").startswith(version + ".") for name, version in declared.items())


def test_what_is_imported_is_declared() -> None:
    imported: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom) and not node.level
                else []
            )
            imported |= {name.partition(".")[0] for name in names}
    foreign = imported - set(sys.stdlib_module_names) - {"serveright", ""}
    assert foreign <= MODULES.keys() | BROUGHT.keys(), foreign - MODULES.keys() - BROUGHT.keys()
    declared = bounds([*PROJECT["dependencies"], *OPTIONAL])
    assert set(MODULES.values()) == set(declared)
