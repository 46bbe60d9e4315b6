"""The way in: files of a model -> Checkpoint, by the one dialect that claims its quantisation method.

A dialect is a module of this package with `METHODS: frozenset[str]` (words of `quant_method`) and `rules(quant: Quant) -> list[FormatRule]`.
A method nobody claims is reported as unknown by name; its weights then count only through the checkpoint's own index.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any, cast

from serveright import formats
from serveright.errors import InputError
from serveright.formats import kv
from serveright.formats.fields import Quant
from serveright.formats.number import known_dtype, plain
from serveright.types.fact import Evidence, Unknown
from serveright.types.model import Checkpoint, FormatRule
from serveright.types.source import ModelFiles
from serveright.types.text import msg

Dialect = Callable[[Quant], list[FormatRule]]
DEFAULT_DTYPE = "bfloat16"
_NESTS = ("text_config", "llm_config", "language_config", "thinker_config")


@cache
def claims() -> dict[str, Dialect]:
    """Method -> dialect, from every module of the package. Two modules claiming one word is our bug (ValueError)."""
    found: dict[str, Dialect] = {}
    for info in pkgutil.iter_modules(formats.__path__):
        module = importlib.import_module(f"{formats.__name__}.{info.name}")
        for method in vars(module).get("METHODS", ()):
            if method in found:
                raise ValueError(f"{method} is claimed twice, the second time by {info.name}")
            found[method] = module.rules
    return found


def read_checkpoint(files: ModelFiles) -> Checkpoint:
    """The number format of every part, and the KV precision asked for. Raises InputError for absurd values, naming the JSON path."""
    named = _dtype(files.config)
    dtype = named or DEFAULT_DTYPE
    assumed = () if named else (Evidence("dtype", None, msg("the config names no number type: {dtype} assumed", dtype=DEFAULT_DTYPE), kind="assumed"),)
    size = _file_bytes(files)
    unknown = [] if known_dtype(dtype) else [Unknown("dtype", msg("{word} is no number type known here; counted as 16 bits", word=dtype))]
    quant = find_quantisation(files)
    if quant is None:
        return Checkpoint(method="none", format=plain(dtype).name, dtype=dtype, file_bytes=size, evidence=assumed, unknown=tuple(unknown))
    dialect = claims().get(quant.method)
    if dialect is None:
        quant.doubt("quant_method", msg("{method} is no quantisation method known here", method=quant.method or msg("nothing")))
    rules = dialect(quant) if dialect else []
    declared = kv.declared(quant.raw, quant.path) | (kv.declared(files.hf_quant_config, "hf_quant_config") if quant.path != "hf_quant_config" else {})
    own = {path: wish for path, wish in declared.items() if path.startswith(quant.path)}
    wish, source = kv.heard(_modelopt_word(quant), own)
    return Checkpoint(
        method=quant.method or "unknown",
        format=_name(rules) or ("unknown" if quant.unknown else plain(dtype).name),
        dtype=dtype,
        rules=tuple(rules),
        kv_dtype=wish,
        kv_source=source,
        kv_declared=declared,
        file_bytes=size,
        evidence=(*assumed, *quant.evidence),
        unknown=(*unknown, *quant.unknown),
    )


def find_quantisation(files: ModelFiles) -> Quant | None:
    """Where engines look: `quantization_config`, `compression_config`, the same inside the text config, and only then hf_quant_config.json."""
    places: list[tuple[dict[str, Any], str]] = [(files.config, "")]
    for name in _NESTS:
        inner: object = files.config.get(name)
        if isinstance(inner, dict):
            nest = cast("dict[str, Any]", inner)
            places.append((nest, f"{name}."))
            deeper: object = nest.get("text_config")
            if isinstance(deeper, dict):
                places.append((cast("dict[str, Any]", deeper), f"{name}.text_config."))
    for config, prefix in places:
        for key in ("quantization_config", "compression_config"):
            value: object = config.get(key)
            if value is None or value == {}:
                continue
            if not isinstance(value, dict):
                raise InputError(msg("{file}: {path} is {value}, not an object", file=files.origin, path=prefix + key, value=repr(value)[:80]))
            raw = cast("dict[str, Any]", value)
            return Quant(raw=raw, path=prefix + key, file=files.origin, model=files.config, method=_method(raw), nested=bool(prefix))
    raw = files.hf_quant_config
    return Quant(raw=raw, path="hf_quant_config", file=files.origin, model=files.config, method=_method(raw)) if raw else None


def _method(raw: dict[str, Any]) -> str:
    word: object = raw.get("quant_method")
    if isinstance(word, str) and word:
        return word.lower().replace("compressed_tensors", "compressed-tensors")
    inner: object = raw.get("quantization")
    keys = {*raw, *(cast("dict[str, Any]", inner) if isinstance(inner, dict) else ())}
    return "modelopt" if "quant_algo" in keys else ""


def _modelopt_word(quant: Quant) -> str:
    # vLLM takes a config without `quant_method` for ModelOpt's only where it names ModelOpt as producer
    if quant.method != "modelopt" or quant.raw.get("quant_method"):
        return quant.method
    producer: object = quant.raw.get("producer")
    named = isinstance(producer, dict) and cast("dict[str, Any]", producer).get("name") == "modelopt"
    return "modelopt" if named and "quantization" in quant.raw else ""


def _dtype(config: dict[str, Any]) -> str | None:
    levels: list[object] = [config, *(config.get(name) for name in _NESTS)]
    for level in levels:
        for key in ("dtype", "torch_dtype"):
            word: object = cast("dict[str, Any]", level).get(key) if isinstance(level, dict) else None
            if isinstance(word, str) and word not in ("", "auto"):
                return word.removeprefix("torch.")
    return None


def _file_bytes(files: ModelFiles) -> int | None:
    metadata: object = files.safetensors_index.get("metadata")
    size: object = cast("dict[str, Any]", metadata).get("total_size") if isinstance(metadata, dict) else None
    return int(size) if isinstance(size, (int, float)) and not isinstance(size, bool) and 0 < size < 2**60 else None


def _name(rules: list[FormatRule]) -> str | None:
    names = {rule.format.name for rule in rules if rule.format is not None}
    return None if not names else names.pop() if len(names) == 1 else "mixed"
