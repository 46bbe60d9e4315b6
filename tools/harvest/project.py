"""The modules of a wheel as syntax trees: which names a file defines, and where an import leads."""

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeGuard


class Unread:
    """The one value that stands for "this could not be read"."""

    def __repr__(self) -> str:
        return "UNREAD"


UNREAD = Unread()


CONTAINERS = frozenset(("list", "tuple", "set", "frozenset", "dict", "dict_keys", "dict_items", "dict_values"))


def is_mapping(value: Any) -> TypeGuard[dict[Any, Any]]:
    """A dict whose keys and values may be anything."""
    return isinstance(value, dict)


def is_sequence(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """A list or tuple of anything."""
    return isinstance(value, (list, tuple))


def items(value: Any) -> list[Any]:
    """The elements of a container (the keys of a dict), none where the value is no container."""
    return [*value] if type(value).__name__ in CONTAINERS else []


def texts(value: Any) -> list[str]:
    """Those elements that are text."""
    return [v for v in items(value) if isinstance(v, str)]


class Files(Protocol):
    """What a project needs of a wheel."""

    names: frozenset[str]

    def read(self, path: str) -> str: ...


@dataclass
class Module:
    """One file. `names` maps each module-level name to the expression, class or function bound to it last; `imports` to (dotted module, name)."""

    path: str
    tree: ast.Module
    names: dict[str, ast.AST] = field(default_factory=dict[str, ast.AST])
    imports: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])

    def __post_init__(self) -> None:
        self._collect(self.tree.body)

    def _collect(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.names[node.name] = node
            elif isinstance(node, ast.Assign):
                names = [t.id for t in node.targets if isinstance(t, ast.Name)]
                # `Class = decorate(Class)` leaves the class readable.
                self.names.update({n: node.value for n in names if not isinstance(self.names.get(n), ast.ClassDef)})
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self.names[node.target.id] = node.value
            elif isinstance(node, ast.ImportFrom):
                self.imports.update({a.asname or a.name: (self.absolute(node), a.name) for a in node.names})
            elif isinstance(node, ast.Import):
                self.imports.update({a.asname or a.name: (a.name, "") for a in node.names if a.asname or "." not in a.name})
            elif isinstance(node, ast.If):
                # `if TYPE_CHECKING:` names the real types, the else branch stands in for them.
                self._collect(node.orelse)
                self._collect(node.body)
            elif isinstance(node, ast.Try):
                self._collect(node.body)

    def absolute(self, node: ast.ImportFrom) -> str:
        """The dotted module an import statement of this file names."""
        if not node.level:
            return node.module or ""
        parts = self.path.removesuffix(".py").split("/")[: -node.level]
        return ".".join([*parts, *([node.module] if node.module else [])])


@dataclass(frozen=True)
class ClassRef:
    """A class of the wheel."""

    module: Module
    node: ast.ClassDef

    def __hash__(self) -> int:
        return hash((self.module.path, self.node.name))

    @property
    def name(self) -> str:
        return self.node.name

    @cached_property
    def body(self) -> dict[str, Any]:
        """Class variables (their expressions) and methods by name."""
        found: dict[str, Any] = {}
        for node in self.node.body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = node
            elif isinstance(node, ast.Assign):
                found.update({t.id: node.value for t in node.targets if isinstance(t, ast.Name)})
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                found[node.target.id] = node.value
        return found


@dataclass(frozen=True)
class FunctionRef:
    """A function of the wheel; `owner` the class it was reached through, `home` the class that defines it."""

    module: Module
    node: ast.FunctionDef
    owner: ClassRef | None = None
    home: ClassRef | None = None


class Capability(NamedTuple):
    """A CUDA compute capability."""

    major: int
    minor: int


@dataclass(frozen=True)
class ModuleRef:
    """A module of the wheel as a value."""

    module: Module


@dataclass(frozen=True)
class External:
    """A name from outside the wheel, dotted."""

    name: str


@dataclass(frozen=True)
class Member:
    """A member of an enum."""

    name: str
    value: Any


class Project:
    """All modules of a wheel, parsed when first asked for."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.parsed: dict[str, Module] = {}

    def module(self, path: str) -> Module | None:
        """A file by its path in the wheel, None where there is none."""
        if path not in self.files.names:
            return None
        if path not in self.parsed:
            self.parsed[path] = Module(path, ast.parse(self.files.read(path)))
        return self.parsed[path]

    def find(self, dotted: str) -> Module | None:
        """A module by its dotted name."""
        stem = dotted.replace(".", "/")
        return self.module(f"{stem}.py") or self.module(f"{stem}/__init__.py")
