"""An SGLang wheel becomes an `EngineTable`: the flags of its server, its parsers, model classes, quantisation methods and backends."""

import ast
import re
from typing import Any

from serveright.types.engine_table import Architecture, Backend, EngineTable, Flag, Quantization
from tools.harvest.arguments import Parser
from tools.harvest.hints import MISSING, Field, fields
from tools.harvest.interpret import Interpreter, Native
from tools.harvest.project import UNREAD, ClassRef, Project, is_mapping, items, texts
from tools.harvest.vllm import minimum
from tools.harvest.wheel import Wheel

SERVER = "sglang/srt/server_args.py"
MODELS = "sglang/srt/models"
PARSERS = {
    "tool": (
        ("sglang/srt/function_call/parser_names.py", "TOOL_CALL_PARSER_NAMES"),
        ("sglang/srt/function_call/function_call_parser.py", "FunctionCallParser.ToolCallParserEnum"),
        ("sglang/srt/function_call_parser.py", "FunctionCallParser.ToolCallParserEnum"),
    ),
    "reasoning": (
        ("sglang/srt/parser/reasoning_parser_names.py", "REASONING_PARSER_NAMES"),
        ("sglang/srt/parser/reasoning_parser.py", "ReasoningParser.DetectorMap"),
        ("sglang/srt/reasoning_parser.py", "ReasoningParser.DetectorMap"),
    ),
}
NO = ("is_hip", "is_npu", "is_xpu", "is_cpu", "is_hpu", "is_musa", "is_mps", "is_host_cpu_arm64")
VARIABLE = re.compile(
    r"""(?:getenv|environ\.get|environ\[|get_bool_env_var|get_int_env_var|get_float_env_var|get_str_env_var)\(?\s*["'](SGL(?:ANG)?_[A-Z0-9_]+)["']"""
)


def natives(read: Interpreter, cls: ClassRef, wheel: Wheel, parser: Parser) -> dict[str, Native]:
    """SGLang's helpers that turn annotated fields into flags, and its questions about the platform, answered as on CUDA."""

    def said(answer: Any) -> Native:
        def asked(*_: Any, **__: Any) -> Any:
            return answer

        return asked

    def registered(*_: Any, **__: Any) -> None:
        declared(server_fields(cls, read, wheel), parser)

    def default_of(name: str = "") -> Any:
        return next((f.default for f in server_fields(cls, read, wheel) if f.name == name), None)

    def metadata(*given: Any, **named: Any) -> dict[str, Any]:
        return dict(zip(("help", "choices"), given, strict=False)) | named

    ours: dict[str, Native] = {"add_cli_args_from_dataclass": registered, "_declared_default": default_of, "Arg": metadata}
    return dict.fromkeys(NO, said(False)) | ours | {"is_cuda": said(True), "NS": said(UNREAD), "sys.modules.get": said(None)}


def table(wheel: Wheel) -> EngineTable:
    """Everything `EngineTable` asks for, read from one wheel."""
    read = Interpreter(Project(wheel))
    parser = Parser()
    cls = read.constant(SERVER, "ServerArgs")
    read.natives = natives(read, cls, wheel, parser)
    read.call(read.class_attribute(cls, "add_cli_args"), [parser], {})
    found = parser.flags
    return EngineTable(
        engine="sglang",
        version=str(wheel.metadata["Version"]),
        released=wheel.built,
        flags=tuple(sorted(found.values(), key=lambda f: f.name)),
        tool_parsers=parsers(read, "tool"),
        reasoning_parsers=parsers(read, "reasoning"),
        architectures=architectures(read, wheel),
        quantizations=quantizations(read, found),
        backends=tuple(Backend(name=n, kind="unknown") for n in choices(found, "--attention-backend")),
        kv_dtypes=choices(found, "--kv-cache-dtype"),
        speculative_methods=speculative(read, found),
        environment=environment(read, wheel),
        all2all_backends=choices(found, "--moe-a2a-backend"),
        requires=wheel.requires(),
        python=str(wheel.metadata["Requires-Python"] or ""),
        source=wheel.source,
    )


def choices(found: dict[str, Flag], name: str) -> tuple[str, ...]:
    """What a flag accepts."""
    return found[name].choices if name in found else ()


def server_fields(cls: ClassRef, read: Interpreter, wheel: Wheel) -> list[Field]:
    """The server's fields: its own, and those of the namespace classes newer versions assemble it from."""
    found = fields(cls, read)
    for path in wheel.under("sglang/srt/arg_groups/fields"):
        module = read.project.module(path)
        for node in module.tree.body if module else []:
            if module and isinstance(node, ast.ClassDef) and "_NS_PATH" in ClassRef(module, node).body:
                found += fields(ClassRef(module, node), read)
    return [f for f in found if not f.name.startswith("_")]


def declared(found: list[Field], parser: Parser) -> None:
    """Registers annotated fields as SGLang's `add_cli_args_from_dataclass` does."""
    for item in found:
        given: Any = next((m for m in item.hint.metadata if is_mapping(m) or isinstance(m, str)), None)
        meta: dict[str, Any] = given if is_mapping(given) else {"help": given}
        if given is None or meta.get("no_cli"):
            continue
        names = [meta.get("cli_name") or f"--{item.name.replace('_', '-')}", *items(meta.get("aliases"))]
        parser.add_argument(*names, **_options(item, meta))


def _options(item: Field, meta: dict[str, Any]) -> dict[str, Any]:
    hint = item.hint
    out: dict[str, Any] = {"help": meta.get("help", ""), "default": None if item.default is MISSING else item.default}
    if meta.get("action") is not None:
        return out | {"action": meta["action"]} | (meta.get("action_kwargs") or {})
    listed = meta.get("choices") or hint.literals
    out |= {"choices": listed} if listed else {}
    kinds = {"str" if isinstance(v, str) else "int" for v in hint.literals} or hint.kinds
    scalar: Any = next((t for n, t in (("str", str), ("int", int), ("float", float)) if n in kinds), str)
    if "list" in hint.kinds and meta.get("type_parser") is None:
        return out | {"type": scalar, "nargs": meta.get("nargs") or "+"}
    if hint.kinds - {"none"} == {"bool"} and "none" not in hint.kinds:
        return out | {"action": "store_true"}
    return out | {"type": meta.get("type_parser") or scalar, "nargs": meta.get("nargs")}


def parsers(read: Interpreter, kind: str) -> tuple[str, ...]:
    """Parser names from wherever this version keeps them."""
    for path, name in PARSERS[kind]:
        head, _, rest = name.partition(".")
        value = read.constant(path, head)
        value = read.attribute(value, rest) if rest else value
        if texts(value):
            return tuple(sorted(texts(value)))
    return ()


def architectures(read: Interpreter, wheel: Wheel) -> tuple[Architecture, ...]:
    """Classes named by `EntryClass`; which are multimodal or drafts is what the engine's model configuration says."""
    config = "sglang/srt/configs/model_config.py"
    multimodal = set(texts(read.constant(config, "multimodal_model_archs")))
    drafts = set(re.findall(r'architectures\[0\]\s*=\s*["\'](\w+)["\']', wheel.read(config)))
    found: dict[str, Architecture] = {}
    for path in wheel.under(MODELS):
        module = read.project.module(path)
        entry = module.names.get("EntryClass") if module else None
        for node in entry.elts if isinstance(entry, (ast.List, ast.Tuple)) else [entry]:
            if isinstance(node, ast.Name):
                kind = "speculative" if node.id in drafts else "multimodal" if node.id in multimodal else "text"
                found[node.id] = Architecture(name=node.id, kind=kind, module=path.removeprefix(MODELS + "/").removesuffix(".py").replace("/", "."))
    return tuple(sorted(found.values(), key=lambda a: a.name))


def speculative(read: Interpreter, found: dict[str, Flag]) -> tuple[str, ...]:
    """What `--speculative-algorithm` takes: the flag's choices, else the built-in algorithms and their aliases."""
    path = "sglang/srt/speculative/spec_info.py"
    algorithms = read.constant(path, "SpeculativeAlgorithm")
    names = [m.name for m in read.members(algorithms)] if isinstance(algorithms, ClassRef) else []
    names += sorted(texts(read.constant(path, "_RESERVED_ALIASES")))
    return choices(found, "--speculative-algorithm") or tuple(dict.fromkeys(n for n in names if n != "NONE"))


def quantizations(read: Interpreter, found: dict[str, Flag]) -> tuple[Quantization, ...]:
    """Methods of the registry (what a checkpoint may name) and of the flag, with the capability the class asks for."""
    path = "sglang/srt/layers/quantization/__init__.py"
    classes: dict[str, Any] = {}
    for name in ("BASE_QUANTIZATION_METHODS", "VLLM_QUANTIZATION_METHODS", "QUANTIZATION_METHODS"):
        value = read.registry(path, name)
        classes |= value if is_mapping(value) else {}
    names = dict.fromkeys([*texts(classes), *choices(found, "--quantization")])
    return tuple(Quantization(name=n, min_capability=minimum(read, classes.get(n))) for n in names)


def environment(read: Interpreter, wheel: Wheel) -> tuple[str, ...]:
    """Names of the `Envs` class and of direct look-ups in the server's code."""
    names: set[str] = set()
    envs = read.constant("sglang/srt/environ.py", "Envs")
    if isinstance(envs, ClassRef):
        names.update(n for n in envs.body if n.isupper())
    for path in wheel.under("sglang/srt"):
        names.update(VARIABLE.findall(wheel.read(path)))
    return tuple(sorted(names))
