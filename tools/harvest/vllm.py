"""A vLLM wheel becomes an `EngineTable`: the flags of `vllm serve`, its registries and its attention backends."""

import ast
from typing import Any

from serveright.types.engine_table import Architecture, Backend, EngineTable, Flag, Quantization
from tools.harvest.arguments import Parser
from tools.harvest.hints import MISSING, Field, Hint, describe, fields, keys
from tools.harvest.interpret import Interpreter, Native, Recorder
from tools.harvest.project import UNREAD, Capability, ClassRef, External, FunctionRef, Member, Project, is_mapping, is_sequence, items, texts
from tools.harvest.wheel import Wheel

CAPABILITIES = (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
MODELS = "vllm/model_executor/models/registry.py"
KINDS = {"_TEXT_GENERATION_MODELS": "text", "_MULTIMODAL_MODELS": "multimodal", "_SPECULATIVE_DECODING_MODELS": "speculative"}
BOOLEAN = External("argparse.BooleanOptionalAction")


class Cuda(Recorder):
    """`current_platform` of a CUDA build."""

    def is_cuda(self) -> bool:
        return True

    is_cuda_alike = is_cuda

    def __getattr__(self, name: str) -> Any:
        answer = False if name.startswith("is_") else UNREAD

        def asked(*_: Any, **__: Any) -> Any:
            return answer

        return asked


def natives(read: Interpreter) -> dict[str, Native]:
    """vLLM's helpers that decide what a flag is, and constructors whose argument is the value that counts."""

    def kwargs(cls: Any = UNREAD, *_: Any) -> Any:
        return keyword_arguments(cls, read) if isinstance(cls, ClassRef) else {}

    def first(value: Any = str, *_: Any) -> Any:
        return value

    def field_of(cls: Any = UNREAD, name: str = "", *_: Any) -> Any:
        return read.attribute(cls, name)

    def capability(major: int = 0, minor: int = 0, *_: Any) -> Capability:
        return Capability(major, minor)

    def nothing(*_: Any, **__: Any) -> None:
        return None

    kept = dict.fromkeys(("optional_type", "parse_type", "get_args", "MultipleOf"), first)
    return {**kept, "get_kwargs": kwargs, "get_field": field_of, "DeviceCapability": capability, "load_general_plugins": nothing}


def table(wheel: Wheel) -> EngineTable:
    """Everything `EngineTable` asks for, read from one wheel."""
    read = Interpreter(Project(wheel))
    read.natives = natives(read)
    read.values = {"current_platform": Cuda(), "human_readable_int": int, "human_readable_int_or_auto": int}
    return EngineTable(
        engine="vllm",
        version=str(wheel.metadata["Version"]),
        released=wheel.built,
        flags=tuple(sorted(flags(read, wheel), key=lambda f: f.name)),
        tool_parsers=parsers(read, wheel, "tool_parsers", "ToolParserManager"),
        reasoning_parsers=parsers(read, wheel, "reasoning", "ReasoningParserManager"),
        architectures=architectures(read),
        quantizations=quantizations(read),
        backends=backends(read),
        kv_dtypes=literal(read, "CacheDType", "cache"),
        speculative_methods=literal(read, "SpeculativeMethod", "speculative"),
        environment=environment(read),
        all2all_backends=literal(read, "All2AllBackend", "parallel"),
        requires=wheel.requires(),
        python=str(wheel.metadata["Requires-Python"] or ""),
        source=wheel.source,
    )


def keyword_arguments(cls: ClassRef, read: Interpreter) -> dict[str, dict[str, Any]]:
    """What vLLM's own `get_kwargs` makes of a settings class, in its order of preference."""
    return {f.name: _options(f, read) for f in fields(cls, read)}


def _options(item: Field, read: Interpreter) -> dict[str, Any]:
    hint = item.hint
    out: dict[str, Any] = {"default": None if item.default is MISSING else item.default, "help": item.doc}
    if hint.settings is not None:
        return out | {"type": "json", "fields": keys(hint.settings, read)}
    if {"bool", "str"} <= hint.kinds:
        return out | {"type": str, "nargs": "?"}
    if "bool" in hint.kinds:
        return out | {"action": BOOLEAN}
    if "list" in hint.kinds:
        return out | {"type": _scalar(hint), "nargs": "+"} | _known(hint)
    if hint.literals or hint.members:
        return out | {"type": _scalar(hint)} | _known(hint)
    for kind, given in (("int", int), ("float", float), ("dict", "json")):
        if kind in hint.kinds:
            return out | {"type": given}
    return out | {"type": str}


def _known(hint: Hint) -> dict[str, Any]:
    """Choices the parser enforces, or names it merely knows (an enum is checked later, in any case)."""
    if hint.members:
        return {"choices": hint.members, "any_case": True}
    if not hint.literals:
        return {}
    return {"known": hint.literals} if "str" in hint.kinds and "list" not in hint.kinds else {"choices": list(hint.literals)}


def _scalar(hint: Hint) -> Any:
    if hint.literals:
        return str if isinstance(hint.literals[0], str) else int
    return int if "int" in hint.kinds and "str" not in hint.kinds else float if "float" in hint.kinds else str


def flags(read: Interpreter, wheel: Wheel) -> list[Flag]:
    """The flags of `vllm serve`: engine arguments, then the server's own."""
    places = ("common", "openai", "launchers")
    path = next(p for p in (f"vllm/entrypoints/{place}/cli_args.py" for place in places) if p in wheel.names)
    parser = Parser(paired=read.constant("vllm/utils/argparse_utils.py", "EnableDisableAction") is not UNREAD)
    maker = read.constant(path, "make_arg_parser")
    read.call(maker, [parser], {})
    serve = read.constant("vllm/entrypoints/cli/serve.py", "ServeSubcommand")
    if isinstance(serve, ClassRef):
        _subcommand(read, serve, parser)
    return list(parser.flags.values())


def _subcommand(read: Interpreter, serve: ClassRef, parser: Parser) -> None:
    """Arguments that only the `serve` subcommand adds."""
    method = read.class_attribute(serve, "subparser_init")
    if isinstance(method, FunctionRef):
        for call in ast.walk(method.node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
                options = {k.arg: k.value.value for k in call.keywords if k.arg and isinstance(k.value, ast.Constant)}
                parser.add_argument(*[a.value for a in call.args if isinstance(a, ast.Constant)], **options)


def parsers(read: Interpreter, wheel: Wheel, folder: str, manager: str) -> tuple[str, ...]:
    """Parser names: the lazy registry of new versions, the registering decorators of old ones."""
    found: set[str] = set()
    for place in (f"vllm/{folder}", f"vllm/entrypoints/openai/{folder}"):
        lazy = read.constant(f"{place}/__init__.py", f"_{folder.removesuffix('s').upper()}{'_PARSERS' if folder == 'reasoning' else 'S'}_TO_REGISTER")
        found.update(texts(lazy))
        for path in wheel.under(place):
            if f"{manager}.register_module" in wheel.read(path):
                found.update(_registered(ast.parse(wheel.read(path)), manager))
    return tuple(sorted(found))


def _registered(tree: ast.Module, manager: str) -> set[str]:
    names: set[str] = set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == f"{manager}.register_module":
            given = [*call.args, *(k.value for k in call.keywords if k.arg == "name")]
            names.update(c.value for node in given for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str))
    return names


def architectures(read: Interpreter) -> tuple[Architecture, ...]:
    """Every class the registry serves; the first group that lists a name gives its kind."""
    module = read.project.module(MODELS)
    joined = module.names.get("_VLLM_MODELS") if module else None
    groups = [v.id for k, v in zip(joined.keys, joined.values, strict=True) if k is None and isinstance(v, ast.Name)] if isinstance(joined, ast.Dict) else []
    found: dict[str, Architecture] = {}
    for group in groups:
        kind = KINDS.get(group, "transformers" if group.startswith("_TRANSFORMERS") else group.strip("_").lower().removesuffix("_models"))
        for name, target in read.constant(MODELS, group).items():
            found.setdefault(name, Architecture(name=name, kind=kind, module=str(target[0]) if is_sequence(target) else ""))
    return tuple(sorted(found.values(), key=lambda a: a.name))


def quantizations(read: Interpreter) -> tuple[Quantization, ...]:
    """Quantisation methods with the capability their class asks for."""
    path = "vllm/model_executor/layers/quantization/__init__.py"
    chooser = read.constant(path, "get_quantization_config")
    classes: Any = read.run(chooser, [UNREAD], {})[1].get("method_to_config") if isinstance(chooser, FunctionRef) else None
    by_name: dict[Any, Any] = classes if is_mapping(classes) else {}
    names = dict.fromkeys([*texts(read.constant(path, "QuantizationMethods")), *texts(by_name)])
    return tuple(Quantization(name=n, min_capability=minimum(read, by_name.get(n))) for n in names)


def minimum(read: Interpreter, cls: Any) -> int | None:
    """`get_min_capability()` of a quantisation class, None where the code does not say."""
    method = read.class_attribute(cls, "get_min_capability") if isinstance(cls, ClassRef) else UNREAD
    value = read.call(method, [], {}) if isinstance(method, FunctionRef) else UNREAD
    return value if isinstance(value, int) else None


def backends(read: Interpreter) -> tuple[Backend, ...]:
    """Attention backends and the limits their classes declare; old versions only name them."""
    for path, enum in (
        ("vllm/v1/attention/backends/registry.py", "AttentionBackendEnum"),
        ("vllm/attention/backends/registry.py", "AttentionBackendEnum"),
        ("vllm/attention/backends/registry.py", "_Backend"),
        ("vllm/platforms/interface.py", "_Backend"),
    ):
        cls = read.constant(path, enum)
        if isinstance(cls, ClassRef):
            return tuple(_backend(read, m) for m in read.members(cls) if m.name not in ("CUSTOM", "NO_ATTENTION"))
    return ()


def _backend(read: Interpreter, member: Member) -> Backend:
    dotted = member.value if isinstance(member.value, str) else ""
    module, _, name = dotted.rpartition(".")
    found = read.project.find(module) if module else None
    cls = read.constant(found.path, name) if found else UNREAD
    if not isinstance(cls, ClassRef):
        return Backend(name=member.name, kind="unknown")
    asked: dict[int, Any] = {c: _ask(read, cls, "supports_compute_capability", Capability(c // 10, c % 10)) for c in CAPABILITIES}
    sizes = _ask(read, cls, "get_supported_kernel_block_sizes")
    heads = _ask(read, cls, "get_supported_head_sizes")
    dtypes = read.class_attribute(cls, "supported_kv_cache_dtypes")
    sinks = _ask(read, cls, "supports_sink")
    kind = "mla" if _ask(read, cls, "is_mla") is True else "dense"
    return Backend(
        name=member.name,
        kind="sparse" if _ask(read, cls, "is_sparse") is True else kind,
        capabilities=() if UNREAD in asked.values() else tuple(c for c, yes in asked.items() if yes),
        kv_dtypes=tuple(texts(dtypes)),
        block_sizes=tuple(s for s in items(sizes) if isinstance(s, int)),
        head_sizes=tuple(h for h in items(heads) if isinstance(h, int)),
        sinks=sinks if isinstance(sinks, bool) else None,
    )


def _ask(read: Interpreter, cls: ClassRef, method: str, *arguments: Any) -> Any:
    function = read.class_attribute(cls, method)
    return read.call(function, list(arguments), {}) if isinstance(function, FunctionRef) else UNREAD


def literal(read: Interpreter, name: str, area: str) -> tuple[str, ...]:
    """The values of a `Literal` alias of `vllm.config`."""
    for path in (f"vllm/config/{area}.py", "vllm/config/__init__.py", "vllm/config.py"):
        module = read.project.module(path)
        if module and isinstance(node := module.names.get(name), ast.expr):
            return tuple(dict.fromkeys(str(v) for v in describe(node, module, read).literals))
    return ()


def environment(read: Interpreter) -> tuple[str, ...]:
    """Names of `vllm.envs`."""
    return tuple(sorted(texts(read.constant("vllm/envs.py", "environment_variables"))))
