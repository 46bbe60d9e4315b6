"""The flags an engine echoes at its start -> the command that would give them."""

import ast
import re
import shlex
from typing import Any, cast


def command_of_echo(text: str) -> str:
    """`non-default args: {...}` of vLLM or `server_args=ServerArgs(...)` of SGLang as one shell line; empty where it cannot be read."""
    if "non-default args:" in text:
        return _vllm(text)
    return _sglang(text) if "ServerArgs(" in text else ""


def _vllm(text: str) -> str:
    start = text.find("{")
    values = _literal(text[start : text.rfind("}") + 1]) if start >= 0 else None
    if not isinstance(values, dict):
        return ""
    given = cast("dict[str, Any]", values)
    model = given.pop("model_tag", None) or given.pop("model", None)
    given.pop("model", None)
    return _line("vllm serve", str(model) if model else "", given) if model else ""


def _sglang(text: str) -> str:
    values: dict[str, Any] = {}
    for name, value in re.findall(r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\w.+-]+)(?=[,)])", text[text.find("ServerArgs(") :]):
        values[name] = _literal(value)
    model = values.pop("model_path", None)
    kept = {name: values[name] for name in _SGLANG if values.get(name) not in (None, False, "auto", 0, -1)}
    return _line("python3 -m sglang.launch_server --model-path", str(model), kept) if model else ""


_SGLANG = (
    "tp_size",
    "dp_size",
    "pp_size",
    "ep_size",
    "context_length",
    "mem_fraction_static",
    "max_running_requests",
    "chunked_prefill_size",
    "kv_cache_dtype",
    "quantization",
    "attention_backend",
    "tool_call_parser",
    "reasoning_parser",
    "speculative_algorithm",
    "enable_dp_attention",
    "disable_cuda_graph",
    "disable_radix_cache",
    "max_mamba_cache_size",
    "disaggregation_mode",
)
"""SGLang echoes every argument, resolved ones among them: only those that shape memory and behaviour are taken."""


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _line(head: str, model: str, values: dict[str, Any]) -> str:
    words = [head, shlex.quote(model)]
    for name, value in values.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value is False:
            words.append(f"--no-{name.replace('_', '-')}")
        elif isinstance(value, dict | list | tuple):
            import json

            words += [flag, shlex.quote(json.dumps(value))] if isinstance(value, dict) else [flag, *(shlex.quote(str(one)) for one in cast("list[Any]", value))]
        elif value is not None:
            words += [flag, shlex.quote(str(value))]
    return " ".join(words)
