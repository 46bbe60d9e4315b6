"""Type annotations as facts: which plain types a field takes, which literal values, which nested settings."""

import ast
from dataclasses import dataclass, field
from typing import Any

from tools.harvest.interpret import Interpreter, Scope
from tools.harvest.project import UNREAD, ClassRef, External, Module, is_mapping, is_sequence

PLAIN = {"str": "str", "int": "int", "float": "float", "bool": "bool", "dict": "dict", "Dict": "dict", "Mapping": "dict", "Path": "str"}
LISTS = ("list", "List", "tuple", "Tuple", "set", "Set", "Sequence")


@dataclass
class Hint:
    """What an annotation allows. `kinds`: str int float bool dict list none other; `literals` from Literal, `members` from an enum."""

    kinds: set[str] = field(default_factory=set[str])
    literals: list[Any] = field(default_factory=list[Any])
    members: list[str] = field(default_factory=list[str])
    settings: ClassRef | None = None
    metadata: list[Any] = field(default_factory=list[Any])


@dataclass
class Field:
    """A field of a settings class; `default` is UNREAD where it is computed, MISSING where the field must be given."""

    name: str
    hint: Hint
    default: Any
    doc: str


class Missing:
    """Marks a field without a default."""


MISSING = Missing()


def describe(node: ast.expr, module: Module, read: Interpreter) -> Hint:
    """Reads an annotation, following aliases across files."""
    hint = Hint()
    _walk(node, module, read, hint, 0)
    return hint


def _walk(node: ast.expr, module: Module, read: Interpreter, hint: Hint, depth: int) -> None:
    if depth > 12:
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            _walk(ast.parse(node.value, mode="eval").body, module, read, hint, depth + 1)
        elif node.value is None:
            hint.kinds.add("none")
    elif isinstance(node, ast.BinOp):
        _walk(node.left, module, read, hint, depth + 1)
        _walk(node.right, module, read, hint, depth + 1)
    elif isinstance(node, ast.Subscript):
        _subscript(node, module, read, hint, depth)
    elif isinstance(node, (ast.Name, ast.Attribute)):
        _named(node, module, read, hint, depth)


def _subscript(node: ast.Subscript, module: Module, read: Interpreter, hint: Hint, depth: int) -> None:
    outer = ast.unparse(node.value).rpartition(".")[2]
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if outer == "Literal":
        for part in parts:
            value = part.value if isinstance(part, ast.Constant) else None
            if value is None:
                _walk(part, module, read, hint, depth + 1)
            else:
                hint.literals.append(value)
    elif outer in LISTS:
        hint.kinds.add("list")
        inner = describe(parts[0], module, read)
        hint.literals += inner.literals
    elif outer in ("Union", "Optional"):
        hint.kinds.update({"none"} if outer == "Optional" else set())
        for part in parts:
            _walk(part, module, read, hint, depth + 1)
    elif outer in ("Annotated", "A"):
        _walk(parts[0], module, read, hint, depth + 1)
        hint.metadata += [read.value(p, Scope(module)) for p in parts[1:]]
    else:
        hint.kinds.add(PLAIN.get(outer, "other"))


def _named(node: ast.Name | ast.Attribute, module: Module, read: Interpreter, hint: Hint, depth: int) -> None:
    name = ast.unparse(node).rpartition(".")[2]
    if name in PLAIN or name in LISTS:
        hint.kinds.add(PLAIN.get(name, "list"))
        return
    target = read.alias(node, module)
    if target is not None:
        _walk(target[0], target[1], read, hint, depth + 1)
        return
    value = read.value(node, Scope(module))
    if isinstance(value, ClassRef):
        if read.is_enum(value):
            members = read.members(value)
            dotted = any(isinstance(m.value, str) and "." in m.value for m in members)
            hint.members = [m.value if isinstance(m.value, str) and not dotted else m.name for m in members]
        elif any("config" in ast.unparse(d) or "dataclass" in ast.unparse(d) for d in value.node.decorator_list):
            hint.settings = value
        else:
            hint.kinds.add("other")
    else:
        hint.kinds.add("none" if name == "None" else "other")


def fields(cls: ClassRef, read: Interpreter) -> list[Field]:
    """The fields of a dataclass or Struct, its bases' first, with default and documentation text."""
    found: dict[str, Field] = {}
    for owner in reversed(read.bases(cls)):
        body = owner.node.body
        for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and "ClassVar" not in ast.unparse(node.annotation):
                doc = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
                hint = describe(node.annotation, owner.module, read)
                found[node.target.id] = Field(node.target.id, hint, default(node.value, owner, read), " ".join(str(doc).split()))
    return list(found.values())


def default(node: ast.expr | None, owner: ClassRef, read: Interpreter) -> Any:
    """A field's default through `field(...)` and `Field(...)`, factories of plain containers included."""
    if node is None:
        return MISSING
    if not isinstance(node, ast.Call) or ast.unparse(node.func).rpartition(".")[2] not in ("field", "Field", "get_field"):
        return read.value(node, Scope(owner.module))
    keywords = {k.arg: k.value for k in node.keywords}
    if "default" in keywords:
        return read.value(keywords["default"], Scope(owner.module))
    factory = keywords.get("default_factory")
    if factory is None:
        return read.value(node.args[0], Scope(owner.module)) if node.args and ast.unparse(node.func).endswith("Field") else MISSING
    made: Any = read.value(factory.body, Scope(owner.module)) if isinstance(factory, ast.Lambda) else read.value(factory, Scope(owner.module))
    if made in (list, dict, set, tuple):
        return None  # an empty container: no literal worth recording
    return made if is_mapping(made) or is_sequence(made) or isinstance(made, (str, int, float)) else UNREAD


def keys(cls: ClassRef, read: Interpreter, prefix: str = "", depth: int = 0) -> list[str]:
    """Every key a JSON-valued setting takes, nested ones dotted."""
    out: list[str] = []
    for item in fields(cls, read):
        if item.name.startswith("_"):
            continue
        out.append(prefix + item.name)
        if item.hint.settings is not None and depth < 2:
            out += keys(item.hint.settings, read, f"{prefix}{item.name}.", depth + 1)
    return out


def external(value: Any, ending: str) -> bool:
    """Whether a value is a name from outside the wheel with this last part."""
    return isinstance(value, External) and value.name.rpartition(".")[2] == ending
