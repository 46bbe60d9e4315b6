"""Reads what Python source says without running it: constants, names through imports, enums, short functions. What it cannot read is `UNREAD`, never a guess."""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tools.harvest.operators import BUILTINS, METHODS, binary, compare, unary
from tools.harvest.project import UNREAD, Capability, ClassRef, External, FunctionRef, Member, Module, ModuleRef, Project, is_mapping, is_sequence, items

Native = Callable[..., Any]
DEPTH = 12
RAISED = object()


@dataclass
class Scope:
    """Names in sight: a module's, and those a function has bound."""

    module: Module
    local: dict[str, Any] = field(default_factory=dict[str, Any])
    returned: list[Any] = field(default_factory=list[Any])
    function: FunctionRef | None = None


class Recorder:
    """An object of ours that interpreted code may call: every public method is open to it."""


class Interpreter:
    """`natives` replace functions and classes by name, wherever they are defined; `values` replace module-level names."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.natives: dict[str, Native] = {}
        self.values: dict[str, Any] = {}
        self.depth = 0
        self.constants: dict[tuple[str, str], Any] = {}

    def constant(self, path: str, name: str) -> Any:
        """A module-level value by file and name."""
        module = self.project.module(path)
        return UNREAD if module is None else self.name(name, Scope(module))

    def name(self, name: str, scope: Scope) -> Any:
        """What a name means here: local, module, import, builtin."""
        if name in scope.local:
            return scope.local[name]
        if name in self.natives:
            return External(name)
        if name in self.values:
            return self.values[name]
        key = (scope.module.path, name)
        if key not in self.constants:
            self.constants[key] = UNREAD  # a name that needs itself stays unread
            self.constants[key] = self._global(name, scope.module)
        return self.constants[key]

    def _global(self, name: str, module: Module) -> Any:
        node = module.names.get(name)
        if isinstance(node, ast.ClassDef):
            return ClassRef(module, node)
        if isinstance(node, ast.FunctionDef):
            return FunctionRef(module, node)
        if isinstance(node, ast.expr):
            return self.value(node, Scope(module))
        if name in module.imports:
            return self._imported(*module.imports[name])
        return BUILTINS.get(name, UNREAD)

    def _imported(self, dotted: str, name: str) -> Any:
        target = self.project.find(f"{dotted}.{name}" if name else dotted)
        if target is not None:
            return ModuleRef(target)
        module = self.project.find(dotted)
        if module is None:
            return External(f"{dotted}.{name}".rstrip("."))
        return self.name(name, Scope(module))

    def alias(self, node: ast.expr, module: Module) -> tuple[ast.expr, Module] | None:
        """The annotation a type alias stands for, with the file it is written in; None for classes and plain names."""
        if isinstance(node, ast.Attribute):
            base = self.value(node.value, Scope(module))
            return self._alias(node.attr, base.module) if isinstance(base, ModuleRef) else None
        return self._alias(node.id, module) if isinstance(node, ast.Name) else None

    def _alias(self, name: str, module: Module) -> tuple[ast.expr, Module] | None:
        for _ in range(DEPTH):
            bound = module.names.get(name)
            if isinstance(bound, (ast.Subscript, ast.BinOp, ast.Name)) or (isinstance(bound, ast.Constant) and isinstance(bound.value, str)):
                return bound, module
            if bound is not None or name not in module.imports:
                return None
            dotted, name = module.imports[name]
            found = self.project.find(dotted)
            if found is None:
                return None
            module = found
        return None

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression, UNREAD where it cannot be known."""
        method = _EXPRESSIONS.get(type(node))
        if method is None or self.depth > DEPTH * 4:
            return UNREAD
        self.depth += 1
        try:
            return method(self, node, scope)
        except (TypeError, KeyError, IndexError, ValueError, AttributeError):
            return UNREAD  # the source does something these few rules do not model
        finally:
            self.depth -= 1

    def attribute(self, base: Any, attr: str) -> Any:
        """`base.attr` for the values this interpreter knows."""
        if isinstance(base, ModuleRef):
            return self.name(attr, Scope(base.module))
        if isinstance(base, External):
            return External(f"{base.name}.{attr}")
        if isinstance(base, Member):
            return {"name": base.name, "value": base.value}.get(attr, UNREAD)
        if isinstance(base, Capability):
            return {"major": base.major, "minor": base.minor}.get(attr, UNREAD)
        if isinstance(base, ClassRef):
            return self.class_attribute(base, attr)
        return UNREAD

    def class_attribute(self, cls: ClassRef, attr: str) -> Any:
        """A class variable, enum member or method, looked for along the bases."""
        return self._lookup(cls, self.bases(cls), attr)

    def _lookup(self, cls: ClassRef, owners: list[ClassRef], attr: str) -> Any:
        for owner in owners:
            node = owner.body.get(attr)
            if isinstance(node, ast.FunctionDef):
                return FunctionRef(owner.module, node, cls, owner)
            if isinstance(node, ast.expr):
                value = self.value(node, Scope(owner.module))
                return Member(attr, value) if self.is_enum(owner) else value
        return UNREAD

    def bases(self, cls: ClassRef) -> list[ClassRef]:
        """The class and its bases inside the wheel, nearest first."""
        found: list[ClassRef] = []
        queue = [cls]
        while queue and len(found) < 40:
            head = queue.pop(0)
            found.append(head)
            queue += [b for b in (self.value(n, Scope(head.module)) for n in head.node.bases) if isinstance(b, ClassRef)]
        return found

    def is_enum(self, cls: ClassRef) -> bool:
        """Whether a base is one of the standard library's enums."""
        names = [ast.unparse(b) for owner in self.bases(cls) for b in owner.node.bases]
        return any(n.rpartition(".")[2] in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag") for n in names)

    def members(self, cls: ClassRef) -> list[Member]:
        """The members of an enum in order."""
        named = [n for n, node in cls.body.items() if isinstance(node, ast.expr) and not n.startswith("_")]
        return [m for m in (self.class_attribute(cls, n) for n in named) if isinstance(m, Member)]

    def call(self, function: FunctionRef, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """Runs a function of the wheel step by step; UNREAD where its result hangs on something unread."""
        return self.run(function, arguments, keywords)[0]

    def run(self, function: FunctionRef, arguments: list[Any], keywords: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """As `call`, with the names the function had bound at its end."""
        scope = Scope(function.module, self._bind(function, arguments, keywords), function=function)
        if self.depth > DEPTH:
            return UNREAD, {}
        self.depth += 1
        try:
            self.block(function.node.body, scope)
        finally:
            self.depth -= 1
        answer = scope.returned[0] if scope.returned else None
        return (UNREAD if answer is RAISED else answer), scope.local

    def _bind(self, function: FunctionRef, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        spec = function.node.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        decorators = {ast.unparse(d).rpartition(".")[2] for d in function.node.decorator_list}
        if function.owner is not None and "staticmethod" not in decorators:
            arguments = [function.owner if "classmethod" in decorators else UNREAD, *arguments]
        local: dict[str, Any] = {a.arg: UNREAD for a in spec.kwonlyargs}
        defaults = [*spec.defaults, *(d for d in spec.kw_defaults if d is not None)]
        named = [*names[len(names) - len(spec.defaults) :], *(a.arg for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None)]
        local.update({n: self.value(d, Scope(function.module)) for n, d in zip(named, defaults, strict=True)})
        local.update(dict.fromkeys(names[len(arguments) : len(names) - len(spec.defaults)], UNREAD))
        return local | dict(zip(names, arguments, strict=False)) | keywords

    def block(self, body: list[ast.stmt], scope: Scope) -> None:
        """Statements in order, until one returns."""
        for statement in body:
            if scope.returned:
                return
            method = _STATEMENTS.get(type(statement))
            if method is not None:
                method(self, statement, scope)

    def _assign(self, node: ast.Assign | ast.AnnAssign, scope: Scope) -> None:
        if node.value is None:
            return
        value = self.value(node.value, scope)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            self._store(target, value, scope)

    def _store(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.local[target.id] = value
        elif isinstance(target, ast.Subscript):
            holder, key = self.value(target.value, scope), self.value(target.slice, scope)
            if is_mapping(holder) and key is not UNREAD:
                holder[key] = value
        elif isinstance(target, ast.Tuple) and is_sequence(value) and len(value) == len(target.elts):
            for part, item in zip(target.elts, value, strict=True):
                self._store(part, item, scope)

    def _augment(self, node: ast.AugAssign, scope: Scope) -> None:
        if isinstance(node.target, (ast.Name, ast.Subscript)):
            self._store(node.target, binary(node.op, self.value(node.target, scope), self.value(node.value, scope)), scope)

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                holder, key = self.value(target.value, scope), self.value(target.slice, scope)
                if is_mapping(holder):
                    holder.pop(key, None)

    def registry(self, path: str, name: str) -> Any:
        """A module-level container with the statements that add to it, those under an `if` that holds included."""
        module = self.project.module(path)
        if module is None:
            return UNREAD
        scope = Scope(module)
        word = re.compile(rf"\b{name}\b")
        self.block([s for s in module.tree.body if not isinstance(s, (ast.FunctionDef, ast.ClassDef)) and word.search(ast.unparse(s))], scope)
        return scope.local.get(name, UNREAD)

    def _import(self, node: ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            scope.local[alias.asname or alias.name] = self._imported(scope.module.absolute(node), alias.name)

    def _if(self, node: ast.If, scope: Scope) -> None:
        test = self.value(node.test, scope)
        if test is UNREAD or isinstance(test, External):
            # Both ways may happen: what either registers counts; what one returns is the answer only if the other never returns.
            ends: list[Any] = []
            for branch in (node.body, node.orelse):
                self.block(branch, scope)
                ends += scope.returned
                scope.returned.clear()
            if any(e is not RAISED for e in ends):
                scope.returned.append(UNREAD)
            return
        self.block(node.body if test else node.orelse, scope)

    def _for(self, node: ast.For, scope: Scope) -> None:
        for item in items(self.value(node.iter, scope)):
            self._store(node.target, item, scope)
            self.block(node.body, scope)

    def _try(self, node: ast.Try, scope: Scope) -> None:
        self.block([*node.body, *node.orelse, *node.finalbody], scope)

    def _with(self, node: ast.With, scope: Scope) -> None:
        self.block(node.body, scope)

    def _return(self, node: ast.Return, scope: Scope) -> None:
        scope.returned.append(None if node.value is None else self.value(node.value, scope))

    def _raise(self, node: ast.Raise, scope: Scope) -> None:
        scope.returned.append(RAISED)

    def _expression(self, node: ast.Expr, scope: Scope) -> None:
        self.value(node.value, scope)

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        function = self.value(node.func, scope)
        arguments = self._sequence(node.args, scope)
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif is_mapping(value):
                keywords.update(value)
        return self._apply(node, function, arguments, keywords, scope)

    def _apply(self, node: ast.Call, function: Any, arguments: list[Any], keywords: dict[str, Any], scope: Scope) -> Any:
        if isinstance(function, External) and function.name in self.natives:
            return self.natives[function.name](*arguments, **keywords)
        called = function.name if isinstance(function, (External, ClassRef)) else function.node.name if isinstance(function, FunctionRef) else ""
        native = self.natives.get(called.rpartition(".")[2])
        if native is not None:
            return native(*arguments, **keywords)
        if isinstance(function, FunctionRef):
            return self.call(function, arguments, keywords)
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value, scope)
            if isinstance(base, Recorder):
                return getattr(base, node.func.attr)(*arguments, **keywords)
            if node.func.attr in METHODS.get(type(base).__name__, ()):
                return getattr(base, node.func.attr)(*arguments, **keywords)
            return UNREAD
        if arguments and isinstance(arguments[0], ClassRef):
            return self.members(arguments[0])  # list(SomeEnum)
        builtin: Callable[..., Any] | None = next((f for f in BUILTINS.values() if f is function), None)
        return UNREAD if builtin is None or UNREAD in arguments else builtin(*arguments, **keywords)

    def _sequence(self, nodes: list[ast.expr], scope: Scope) -> list[Any]:
        out: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.value(node.value, scope)
                out.extend(self.members(inner) if isinstance(inner, ClassRef) else items(inner))
            else:
                out.append(self.value(node, scope))
        return out

    def _constant(self, node: ast.Constant, scope: Scope) -> Any:
        return node.value

    def _name(self, node: ast.Name, scope: Scope) -> Any:
        return self.name(node.id, scope)

    def _list(self, node: ast.List, scope: Scope) -> Any:
        return self._sequence(node.elts, scope)

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._sequence(node.elts, scope))

    def _set(self, node: ast.Set, scope: Scope) -> Any:
        return set(self._sequence(node.elts, scope))

    def _dict(self, node: ast.Dict, scope: Scope) -> Any:
        out: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item, scope)
            if key is None:
                out.update(value if is_mapping(value) else {})
            else:
                out[self.value(key, scope)] = value
        return out

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        made_by = scope.function
        if isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()" and made_by and made_by.owner and made_by.home:
            line = self.bases(made_by.owner)
            return self._lookup(made_by.owner, line[line.index(made_by.home) + 1 :], node.attr)
        return self.attribute(self.value(node.value, scope), node.attr)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        base = self.value(node.value, scope)
        if isinstance(base, External) and base.name.rpartition(".")[2] == "Literal":
            return tuple(self._sequence(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice], scope))
        if isinstance(base, ClassRef):
            return self.class_attribute(base, self.value(node.slice, scope))
        return base[self.value(node.slice, scope)] if is_mapping(base) or is_sequence(base) else UNREAD

    def _binary(self, node: ast.BinOp, scope: Scope) -> Any:
        return binary(node.op, self.value(node.left, scope), self.value(node.right, scope))

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        return unary(node.op, self.value(node.operand, scope))

    def _compare(self, node: ast.Compare, scope: Scope) -> Any:
        left: Any = self.value(node.left, scope)
        verdict: Any = True
        for operator, right in zip(node.ops, (self.value(c, scope) for c in node.comparators), strict=True):
            step = compare(operator, left, right)
            if step is UNREAD or not step:
                return step
            verdict, left = step, right
        return verdict

    def _boolean(self, node: ast.BoolOp, scope: Scope) -> Any:
        unread = False
        value: Any = UNREAD
        for part in node.values:
            value = self.value(part, scope)
            if value is UNREAD or isinstance(value, External):
                unread = True
            elif bool(value) is isinstance(node.op, ast.Or):
                return value  # decides alone, whatever the unread parts are
        return UNREAD if unread else value

    def _conditional(self, node: ast.IfExp, scope: Scope) -> Any:
        test = self.value(node.test, scope)
        return UNREAD if test is UNREAD else self.value(node.body if test else node.orelse, scope)

    def _text(self, node: ast.JoinedStr, scope: Scope) -> Any:
        parts = [self.value(p.value if isinstance(p, ast.FormattedValue) else p, scope) for p in node.values]
        return "".join("..." if p is UNREAD else str(p) for p in parts)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Any:
        generator = node.generators[0]
        source = self.value(generator.iter, scope)
        if len(node.generators) > 1 or not (is_sequence(source) or is_mapping(source)):
            return UNREAD
        out: list[Any] = []
        for item in items(source):
            inner = Scope(scope.module, dict(scope.local))
            self._store(generator.target, item, inner)
            if all(self.value(c, inner) for c in generator.ifs):
                out.append(self.value(node.elt, inner))
        return out

    def _walrus(self, node: ast.NamedExpr, scope: Scope) -> Any:
        scope.local[node.target.id] = value = self.value(node.value, scope)
        return value

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return External(f"lambda {ast.unparse(node.body)}")


_EXPRESSIONS: dict[type[ast.expr], Callable[..., Any]] = {
    getattr(ast, kind): vars(Interpreter)[method]
    for kind, method in {
        "Constant": "_constant", "Name": "_name", "List": "_list", "Tuple": "_tuple", "Set": "_set", "Dict": "_dict", "Attribute": "_attribute",
        "Subscript": "_subscript", "BinOp": "_binary", "UnaryOp": "_unary", "Compare": "_compare", "BoolOp": "_boolean", "IfExp": "_conditional",
        "JoinedStr": "_text", "ListComp": "_comprehension", "GeneratorExp": "_comprehension", "Lambda": "_lambda", "NamedExpr": "_walrus", "Call": "_call",
    }.items()
}  # fmt: skip
_STATEMENTS: dict[type[ast.stmt], Callable[..., Any]] = {
    getattr(ast, kind): vars(Interpreter)[method]
    for kind, method in {
        "Assign": "_assign", "AnnAssign": "_assign", "AugAssign": "_augment", "Delete": "_delete", "ImportFrom": "_import", "If": "_if", "For": "_for",
        "Try": "_try", "With": "_with", "Return": "_return", "Raise": "_raise", "Expr": "_expression",
    }.items()
}  # fmt: skip
