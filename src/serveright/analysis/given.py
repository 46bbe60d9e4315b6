"""A launch command read as wishes: flags by meaning, numbers as the engines read them, parallelism in engine-free words. Pure.

Knows which flag of which engine says what; decides nothing the engine would decide.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from msgspec import Struct

from serveright.types.command import GivenFlag, LaunchCommand
from serveright.types.engine import Parallel, Settings
from serveright.types.engine_table import EngineTable
from serveright.types.text import Msg, msg

_HUMAN = {"k": 1000, "m": 10**6, "g": 10**9, "K": 1024, "M": 1024**2, "G": 1024**3}
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)([kKmMgG]?)$")
SIZES = (
    "--tensor-parallel-size",
    "--tp-size",
    "--pipeline-parallel-size",
    "--pp-size",
    "--data-parallel-size",
    "--dp-size",
    "--attn-dp-size",
    "--decode-context-parallel-size",
    "--dcp-size",
    "--ep-size",
)
_VARIABLES = ("VLLM_ROCM_USE_AITER",)
"""Environment variables that decide between kernels; they travel among the flags without a common word."""
_TRUE = frozenset({"true", "1", "yes", "on"})
_CONSUMED = frozenset(
    [
        *SIZES,
        "--model",
        "--model-path",
        "--enable-dp-attention",
        "--enable-expert-parallel",
        "--max-model-len",
        "--context-length",
        "--kv-cache-dtype",
        "--gpu-memory-utilization",
        "--mem-fraction-static",
        "--max-num-seqs",
        "--max-running-requests",
        "--max-num-batched-tokens",
        "--chunked-prefill-size",
        "--block-size",
        "--page-size",
        "--enable-prefix-caching",
        "--disable-radix-cache",
        "--attention-backend",
        "--moe-backend",
        "--moe-runner-backend",
        "--all2all-backend",
        "--moe-a2a-backend",
        "--enforce-eager",
        "--disable-cuda-graph",
        "--async-scheduling",
        "--disable-overlap-schedule",
        "--language-model-only",
        "--language-only",
        "--mamba-ssm-cache-dtype",
        "--mamba-ssm-dtype",
    ]
)


class Given(Struct, frozen=True, dict=True):
    """One command against the table of its version. `dict=True` lets what hundreds of questions share be kept."""

    command: LaunchCommand
    table: EngineTable

    @property
    def vllm(self) -> bool:
        """Whether this is a vLLM command."""
        return self.command.engine == "vllm"

    @cached_property
    def _answers(self) -> dict[tuple[str, ...], tuple[GivenFlag, ...]]:
        return {}

    def canonical(self, name: str) -> str:
        """The table's own name for a flag known under any of its names; the name itself where the version has none."""
        return _names(self.table).get(name, name)

    def flags(self, *names: str) -> tuple[GivenFlag, ...]:
        """Every occurrence of any of these flags, in order."""
        kept = self._answers.get(names)
        if kept is None:
            places, canonical = _places(self.command), _names(self.table)
            found = {place for name in names for known in (name, canonical.get(name, name)) if known in places for place in places[known]}
            kept = self._answers[names] = tuple(self.command.flags[place] for place in sorted(found))
        return kept

    def flag(self, *names: str) -> GivenFlag | None:
        """The occurrence that counts: the last one."""
        found = self.flags(*names)
        return found[-1] if found else None

    def has(self, *names: str) -> bool:
        """Whether any of these flags is given."""
        return self.flag(*names) is not None

    def value(self, *names: str) -> str | None:
        """The value that counts; None where absent, bare or not known before the start."""
        flag = self.flag(*names)
        return flag.value if flag is not None and flag.literal else None

    def number(self, *names: str) -> float | None:
        """The value as a number: `8k` is 8000 and `8K` 8192 as vLLM reads them; None where it is none."""
        text = self.value(*names)
        match = _NUMBER.match(text) if text else None
        number = float(match[1]) * _HUMAN.get(match[2], 1) if match else math.inf
        return number if math.isfinite(number) else None

    def integer(self, *names: str) -> int | None:
        """The value as a whole number."""
        number = self.number(*names)
        return None if number is None else int(number)

    def on(self, *names: str) -> bool | None:
        """A switch: True given, False negated, None absent."""
        flag = self.flag(*names)
        if flag is None:
            return None
        return flag.value is None or flag.value.lower() in _TRUE

    def json(self, name: str) -> dict[str, Any]:
        """A JSON-valued flag, dotted forms merged in; {} where absent or not JSON."""
        merged: dict[str, Any] = {}
        for flag in self.flags(name):
            _, _, path = flag.written.partition(".")
            if flag.value is None:
                continue
            if path:
                _put(merged, path, flag.value)
            else:
                merged.update(_object(flag.value))
        return merged

    def env(self, name: str) -> str | None:
        """An environment variable's value, where the file gives one."""
        word = self.command.env.get(name)
        return word.text if word is not None and word.literal else None

    @property
    def layout_known(self) -> bool:
        """Whether every parallel size the command gives is known before the start."""
        return all(flag.literal for flag in self.flags(*SIZES))

    @property
    def tp_flag(self) -> int:
        """The flag's number: GPUs of one pipeline stage in SGLang, of one data-parallel rank in vLLM."""
        return max(1, self.integer("--tensor-parallel-size", "--tp-size") or 1)

    @property
    def dp_attention(self) -> int:
        """SGLang: attention ranks inside the tensor-parallel group; 1 where there is no DP attention."""
        if self.vllm:
            return 1
        explicit = self.integer("--attn-dp-size", "--attention-data-parallel-size")
        if explicit:
            return max(1, explicit)
        return max(1, self.integer("--dp-size", "--data-parallel-size") or 1) if self.on("--enable-dp-attention") else 1

    @cached_property
    def parallel(self) -> Parallel:
        """The layout in engine-free words: `tp` shards of one attention rank, `dp` ranks of one deployment."""
        pp = max(1, self.integer("--pipeline-parallel-size", "--pp-size") or 1)
        dcp = max(1, self.integer("--decode-context-parallel-size", "--dcp-size") or 1)
        dp_flag = max(1, self.integer("--data-parallel-size", "--dp-size") or 1)
        if self.vllm:
            return Parallel(tp=self.tp_flag, pp=pp, dp=dp_flag, ep=self.tp_flag * dp_flag if self.on("--enable-expert-parallel") else 1, dcp=dcp)
        attention = self.dp_attention
        backend = self.value("--moe-a2a-backend")
        ep = self.tp_flag if backend not in (None, "none") else max(1, self.integer("--ep-size", "--expert-parallel-size", "--ep") or 1)
        copies = 1 if attention > 1 else dp_flag
        return Parallel(tp=max(1, self.tp_flag // attention), pp=pp, dp=attention, ep=ep, dcp=dcp, replicas=copies)

    def layout_words(self, target: EngineTable) -> list[tuple[str, str | None, Msg]]:
        """The same GPUs in the target engine's words: (flag, value, why). vLLM counts attention shards of one rank, SGLang GPUs of one stage."""
        layout = self.parallel
        words: list[tuple[str, str | None, Msg]] = []
        names = {name for flag in target.flags for name in (flag.name, *flag.aliases)}
        if target.engine == "sglang":
            gpus = layout.tp * layout.dp
            words.append(("--tp-size", str(gpus), msg("GPUs of one stage: {tp} shards x {dp} attention ranks", tp=layout.tp, dp=layout.dp)))
            if layout.dp > 1 and "--attn-dp-size" in names:
                words.append(("--attn-dp-size", str(layout.dp), msg("attention ranks inside these GPUs")))
            elif layout.dp > 1:
                words += [
                    ("--dp-size", str(layout.dp), msg("attention ranks inside these GPUs")),
                    ("--enable-dp-attention", None, msg("each rank keeps whole attention")),
                ]
            if layout.ep > 1:
                words.append(("--ep-size", str(gpus), msg("whole experts on each GPU")))
        else:
            words.append(("--tensor-parallel-size", str(layout.tp), msg("shards of one attention rank")))
            if layout.dp * layout.replicas > 1:
                words.append(("--data-parallel-size", str(layout.dp * layout.replicas), msg("attention ranks, or copies of a dense model")))
            if layout.ep > 1:
                words.append(("--enable-expert-parallel", None, msg("whole experts on each GPU")))
        for value, name, why in (
            (layout.pp, "--pp-size" if target.engine == "sglang" else "--pipeline-parallel-size", msg("pipeline stages")),
            (layout.dcp, "--dcp-size" if target.engine == "sglang" else "--decode-context-parallel-size", msg("ranks that share one sequence")),
        ):
            if value > 1:
                words.append((name, str(value), why))
        return words

    @cached_property
    def speculation(self) -> tuple[str, int] | None:
        """(method, drafted tokens) where speculation is on; 0 tokens where left to the engine."""
        if self.vllm:
            config = self.json("--speculative-config")
            method = config.get("method") or self.value("--spec-method") or ("draft_model" if config.get("model") else None)
            tokens = config.get("num_speculative_tokens") or self.integer("--spec-tokens") or 0
            return (str(method), int(tokens) if isinstance(tokens, int | float) else 0) if method or config else None
        algorithm = self.value("--speculative-algorithm", "--speculative-algo")
        if algorithm is None:
            return None
        drafted = self.integer("--speculative-num-draft-tokens")
        steps = self.integer("--speculative-num-steps")
        return algorithm, (drafted - 1) if drafted else (steps or 0)

    @property
    def context_tokens(self) -> int | None:
        """The asked length; None where left to the model or to the engine (`auto`, -1)."""
        tokens = self.integer("--max-model-len", "--context-length")
        return tokens if tokens is not None and tokens > 0 else None

    @cached_property
    def settings(self) -> Settings:
        """The command's wishes for the engine's sizing; every other flag stands in `extra` without its dashes."""
        speculation = self.speculation
        prefix = self.on("--enable-prefix-caching") if self.vllm else (False if self.on("--disable-radix-cache") else None)
        asynchronous = self.on("--async-scheduling") if self.vllm else (False if self.on("--disable-overlap-schedule") else None)
        capture = self.json("--compilation-config").get("max_cudagraph_capture_size") if self.vllm else None
        return Settings(
            parallel=self.parallel,
            context_tokens=self.context_tokens,
            kv_dtype=self.value("--kv-cache-dtype"),
            mem_fraction=self.number("--gpu-memory-utilization", "--mem-fraction-static"),
            max_num_seqs=self.integer("--max-num-seqs", "--max-running-requests"),
            token_budget=self.integer("--max-num-batched-tokens", "--chunked-prefill-size"),
            block_tokens=self.integer("--block-size", "--page-size"),
            prefix_caching=prefix,
            attention_backend=self.value("--attention-backend") or self.json("--attention-config").get("backend"),
            moe_backend=self.value("--moe-backend", "--moe-runner-backend"),
            all2all_backend=self.value("--all2all-backend", "--moe-a2a-backend"),
            speculative_method=speculation[0] if speculation else None,
            speculative_tokens=speculation[1] if speculation else 0,
            eager=bool(self.on("--enforce-eager", "--disable-cuda-graph")),
            max_graph_batch=self.integer("--max-cudagraph-capture-size", "--cuda-graph-max-bs-decode", "--cuda-graph-max-bs") or _whole(capture),
            async_scheduling=asynchronous,
            language_only=bool(self.on("--language-model-only", "--language-only")),
            state_dtype=self.value("--mamba-ssm-cache-dtype", "--mamba-ssm-dtype"),
            extra=self._extra(),
        )

    def _extra(self) -> dict[str, str]:
        used = _consumed(self.table)
        given = {
            flag.name.lstrip("-"): flag.value or ""
            for flag in self.command.flags
            if flag.name and flag.literal and flag.name not in used and "." not in flag.written
        }
        switched = {name: word.text for name in _VARIABLES if (word := self.command.env.get(name)) is not None and word.literal}
        draft = self.json("--speculative-config").get("model") if self.vllm else None
        return given | switched | ({"speculative-model": str(draft)} if draft else {})


_PLACES: dict[int, tuple[LaunchCommand, dict[str, list[int]]]] = {}


def _places(command: LaunchCommand) -> dict[str, list[int]]:
    """Places of a command's flags by canonical and by written name; kept by command, for hundreds of questions."""
    known = _PLACES.get(id(command))
    if known is None or known[0] is not command:
        if len(_PLACES) > 64:
            _PLACES.clear()
        places: dict[str, list[int]] = {}
        for place, flag in enumerate(command.flags):
            for name in {flag.name, flag.written.split(".")[0]} - {None}:
                places.setdefault(str(name), []).append(place)
        known = (command, places)
        _PLACES[id(command)] = known
    return known[1]


_NAMES: dict[int, tuple[EngineTable, dict[str, str]]] = {}


def _names(table: EngineTable) -> dict[str, str]:
    """Every name of a table's flags -> the canonical one; kept by table, for hundreds of questions a command."""
    known = _NAMES.get(id(table))
    if known is None or known[0] is not table:
        if len(_NAMES) > 64:
            _NAMES.clear()
        known = (table, {name: flag.name for flag in table.flags for name in (flag.name, *flag.aliases)})
        _NAMES[id(table)] = known
    return known[1]


_CONSUMED_NAMES: dict[int, tuple[EngineTable, frozenset[str]]] = {}


def _consumed(table: EngineTable) -> frozenset[str]:
    """The flags that have a field of their own, by the table's names; kept by table."""
    known = _CONSUMED_NAMES.get(id(table))
    if known is None or known[0] is not table:
        if len(_CONSUMED_NAMES) > 64:
            _CONSUMED_NAMES.clear()
        names = _names(table)
        known = (table, frozenset(names.get(name, name) for name in _CONSUMED))
        _CONSUMED_NAMES[id(table)] = known
    return known[1]


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(text: str) -> dict[str, Any]:
    value = loads(text)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def loads(text: str) -> Any:
    """JSON, or None where the text is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _put(merged: dict[str, Any], path: str, text: str) -> None:
    *parents, last = path.removesuffix("+").split(".")
    inside = merged
    for key in parents:
        known = inside.get(key)
        below: dict[str, Any] = dict(cast("Mapping[str, Any]", known)) if isinstance(known, dict) else {}
        inside[key] = below
        inside = below
    value = loads(text)
    inside[last] = text.split(",") if path.endswith("+") else text if value is None else value
