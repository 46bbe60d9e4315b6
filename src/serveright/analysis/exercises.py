"""Exercises on one model, and their grading: the question, the right answer from the same functions the tool uses, and the derivation. Pure."""

import random
import re
from collections.abc import Iterable, Sequence
from typing import Any, get_args

from serveright.analysis.cache import logical_cache
from serveright.analysis.describe import attention_entries
from serveright.types.derivation import Derivation
from serveright.types.design import Reason
from serveright.types.engine import Parallel, Sized
from serveright.types.lessons import KINDS, LETTERS, Exercise, ExerciseKind, Grade, Progress
from serveright.types.model import Family, FamilyName, ModelShape
from serveright.types.text import Msg, msg

FIELDS = 10
TELLTALE = frozenset(
    {"architectures", "model_type", "auto_map", "_name_or_path", "transformers_version", "torch_dtype", "dtype", "language_model", "tokenizer_class"}
)
"""Fields that would give the name away, or say nothing."""
EASY: tuple[frozenset[str], ...] = (frozenset({"mha", "gqa", "mqa"}), frozenset({"mla", "swa", "gqa"}), frozenset({"hybrid", "dsa", "sparse", "mla", "ssm"}))
"""Families asked about at each difficulty."""
STEP = 0.3
"""How far one answer moves a level."""
_NUMBER = re.compile(r"\s*(-?[\d,]*\.?\d+(?:[eE][-+]?\d+)?)\s*([KMG]i?B?|k|B|bytes|바이트)?\s*\S*\s*$")
_UNITS = {
    "K": 1000,
    "k": 1000,
    "KB": 1000,
    "M": 10**6,
    "MB": 10**6,
    "G": 10**9,
    "GB": 10**9,
    "KI": 1024,
    "KIB": 1024,
    "MI": 2**20,
    "MIB": 2**20,
    "GI": 2**30,
    "GIB": 2**30,
}


def fields_of(config: dict[str, Any], first: Iterable[str]) -> dict[str, str]:
    """Ten fields of a config, those that decide (`first`, JSON paths) before others, none that names the model."""
    nested: list[dict[str, Any]] = [config[key] for key in ("text_config", "llm_config", "language_config") if isinstance(config.get(key), dict)]
    flat: dict[str, Any] = {**config, **(nested[0] if nested else {})}
    wanted = [path.rpartition(".")[2].partition("[")[0] for path in first]
    others = [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
        "rms_norm_eps",
        "tie_word_embeddings",
        *sorted(flat),
    ]
    chosen = [key for key in dict.fromkeys([*wanted, *others]) if key in flat and key not in TELLTALE and not isinstance(flat[key], dict)]
    return {key: _short(flat[key]) for key in chosen[:FIELDS]}


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def family(seed: int, difficulty: int, shape: ModelShape, verdict: Family, config: dict[str, Any]) -> Exercise:
    """Tell the family from ten fields."""
    names = [name for name in get_args(FamilyName) if name not in ("unknown", "encoder")]
    return Exercise(
        kind="family",
        seed=seed,
        difficulty=difficulty,
        model=shape.id,
        question=msg("Ten fields of a config. Which family of attention is this?"),
        given=fields_of(config, (e.path for e in shape.evidence)),
        choices=tuple(Msg(name) for name in names),
        answer=LETTERS[names.index(verdict.name)],
        why=tuple(msg("{path}: {meaning}", path=e.path, meaning=e.meaning) for e in shape.evidence),
        topic={"mla": "mla", "dsa": "dsa", "hybrid": "linear-state", "ssm": "linear-state"}.get(verdict.name, "attention"),
    )


def cache_bytes(seed: int, difficulty: int, shape: ModelShape) -> Exercise:
    """Bytes of cache that one more token adds, in the model's own type."""
    cache = logical_cache(shape, 1024, "bfloat16")
    given: dict[str, str] = {}
    for number, entry in enumerate(attention_entries(shape.layers), 1):
        values = {name: entry.__getattribute__(name) for name in entry.__struct_fields__[1:]}
        given[f"{number}. {entry.kind}"] = ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
    return Exercise(
        kind="bytes",
        seed=seed,
        difficulty=difficulty,
        model=shape.id,
        question=msg("How many bytes of cache does one more token of a long request add, in bf16, over the whole model?"),
        given=given,
        answer=cache.bytes_per_token,
        unit="B",
        tolerance=0.01,
        why=tuple(
            msg("{kind}: {layers} layers, {bytes:n} bytes a token", kind=part.mixer, layers=part.layers, bytes=part.bytes_per_token) for part in cache.parts
        ),
        derivation=_one_token(cache.derivation),
        topic="attention",
    )


def _one_token(parts: Sequence[Derivation]) -> tuple[Derivation, ...]:
    """The same derivation for one more token: what the layers that grow add, without lengths, windows and states."""
    growing = [d for d in parts if "tokens / ratio" in d.formula]
    steps = [
        Derivation(
            name=d.name.replace("_bytes.", "_bytes_per_token."),
            formula="layers * width * element_bytes / ratio",
            values={name: d.values[name] for name in ("layers", "width", "element_bytes", "ratio")},
            result=d.values["layers"] * d.values["width"] * d.values["element_bytes"] / d.values["ratio"],
            unit="B",
            reason=d.reason,
        )
        for d in growing
    ]
    values = {f"part_{i}": step.result for i, step in enumerate(steps, 1)}
    reason = msg("what all layers that grow add together")
    total = Derivation(name="bytes_per_token", formula=" + ".join(values), values=values, result=sum(values.values()), unit="B", reason=reason)
    return (*steps, total) if steps else ()


def users(seed: int, difficulty: int, shape: ModelShape, sized: Sized, gpu: str, count: int) -> Exercise:
    """How many requests of a length one deployment holds."""
    capacity, memory = sized.capacity, sized.memory
    return Exercise(
        kind="users",
        seed=seed,
        difficulty=difficulty,
        model=shape.id,
        question=msg(
            "{engine} on {count} x {gpu}, tensor parallelism over all of them. How many requests of {n:n} tokens fit at once?",
            engine=sized.resolved.engine,
            count=count,
            gpu=gpu,
            n=capacity.context_tokens,
        ),
        given={
            "kv_pool_bytes per GPU": f"{memory.kv_pool_bytes:,}",
            "kv dtype": sized.resolved.kv_dtype,
            "bytes per token per GPU": f"{sized.layout.padded_bytes_per_token:,.10g}",
            "fixed bytes per request per GPU": f"{sized.layout.fixed_bytes_per_sequence:,}",
            "block tokens": f"{sized.layout.block_tokens:,}",
        },
        answer=round(capacity.max_concurrency, 2),
        tolerance=0.1,
        why=(msg("a request is charged {bytes:gib}, blocks rounded up; the pool is {pool:gib}", bytes=capacity.request_bytes, pool=memory.kv_pool_bytes),),
        derivation=capacity.derivation,
        topic="alignment" if sized.layout.fixed_bytes_per_sequence else "attention",
    )


LAYOUTS = ("replicas", "tp", "dp")
LAYOUT_NAMES: dict[str, Msg] = {
    "replicas": msg("copies, each on one GPU"),
    "tp": msg("tensor parallelism, alone or in copies of several GPUs"),
    "dp": msg("data-parallel attention, with the experts spread over the GPUs"),
}


def layout_kind(parallel: Parallel) -> str:
    """Which of `LAYOUTS` a layout is."""
    if parallel.dp > 1:
        return "dp"
    return "replicas" if parallel.gpus == 1 else "tp"


def layout(seed: int, difficulty: int, shape: ModelShape, best: Parallel, given: dict[str, str], why: Sequence[Msg]) -> Exercise:
    """TP, DP or copies for a traffic: what the search over all layouts finds."""
    return Exercise(
        kind="layout",
        seed=seed,
        difficulty=difficulty,
        model=shape.id,
        question=msg("Which split of the GPUs gives most tokens a second under this traffic?"),
        given=given,
        choices=tuple(LAYOUT_NAMES[name] for name in LAYOUTS),
        answer=LETTERS[LAYOUTS.index(layout_kind(best))],
        why=tuple(why),
        topic="parallelism",
    )


RUNS: dict[str, Msg] = {
    "runs": msg("yes"),
    "kernels": msg("no: kernels are missing for this chip"),
    "memory": msg("no: the weights do not fit"),
}


def runs(seed: int, difficulty: int, shape: ModelShape, gpu: str, outcome: str, given: dict[str, str], why: Sequence[Reason]) -> Exercise:
    """Does it run on these GPUs, and if not, what stops it first?"""
    return Exercise(
        kind="runs",
        seed=seed,
        difficulty=difficulty,
        model=shape.id,
        question=msg("Does this checkpoint run on {gpu} with at least one engine? If not, what stops it?", gpu=gpu),
        given=given,
        choices=tuple(RUNS.values()),
        answer=LETTERS[list(RUNS).index(outcome)],
        why=tuple(reason.text for reason in why),
        topic="compute-capability",
    )


def multiple(rng: random.Random, right: Msg, wrong: Sequence[Msg]) -> tuple[tuple[Msg, ...], str]:
    """Shuffled choices and the letter of the right one."""
    choices = [right, *wrong]
    rng.shuffle(choices)
    return tuple(choices), LETTERS[choices.index(right)]


def number(text: str) -> float | None:
    """`70,272`, `68.6 KiB`, `7e4`; None where it is no number."""
    match = _NUMBER.match(text)
    if match is None:
        return None
    return float(match[1].replace(",", "")) * _UNITS.get((match[2] or "").upper() if len(match[2] or "") > 1 else (match[2] or ""), 1)


def readable(exercise: Exercise, text: str) -> bool:
    """Whether a text answers the question at all: one of its letters or choices, or a number."""
    if isinstance(exercise.answer, str):
        return _choice(text) in (*LETTERS[: len(exercise.choices)], *(choice.template.lower() for choice in exercise.choices if not choice.values))
    return number(text) is not None


def _choice(text: str) -> str:
    return text.strip().lower().rstrip(".)")


def grade(exercise: Exercise, text: str) -> Grade:
    """An answer judged; numbers within the exercise's tolerance, choices by letter or by their words."""
    if isinstance(exercise.answer, str):
        right = exercise.choices[LETTERS.index(exercise.answer)]
        good = _choice(text) in (exercise.answer, right.template.lower())
        comment = msg("right") if good else msg("not quite")
        return Grade(right=good, given=text, expected=exercise.answer, comment=comment)
    value = number(text)
    expected = f"{exercise.answer:,.10g} {exercise.unit}".strip()
    if value is None:
        return Grade(right=False, given=text, expected=expected, comment=msg("that is no number; expected {expected}", expected=expected))
    off = abs(value - exercise.answer) / max(abs(exercise.answer), 1e-9)
    good = off <= exercise.tolerance
    comment = msg("right") if good else msg("off by {off:pct}: {expected}{guess}", off=off, expected=expected, guess=_guess(value, exercise.answer))
    return Grade(right=good, given=text, expected=expected, comment=comment)


def _guess(value: float, answer: float) -> Msg:
    """The slip that explains a wrong number, where one of the usual does."""
    slips = (
        (2.0, msg(" (K and V counted once too often, or bytes for the wrong type)")),
        (0.5, msg(" (only K or only V was counted, or one byte instead of two)")),
        (1024 / 1000, msg(" (KB against KiB)")),
        (1000 / 1024, msg(" (KB against KiB)")),
    )
    return next((text for factor, text in slips if answer and abs(value / answer / factor - 1) < 0.005), msg(""))


def learned(progress: Progress, exercise: Exercise, right: bool) -> Progress:
    """The state after an answer: the level of the kind moves towards 1 or 0."""
    before = progress.level.get(exercise.kind, 0.3)
    level = before + STEP * ((1.0 if right else 0.0) - before)
    return Progress(
        level={**progress.level, exercise.kind: round(level, 4)},
        tries={**progress.tries, exercise.kind: progress.tries.get(exercise.kind, 0) + 1},
        next_seed=progress.next_seed,
        pending=None,
    )


def difficulty_of(progress: Progress, kind: ExerciseKind) -> int:
    """0 below half right, then 1, then 2 once most is right."""
    level = progress.level.get(kind, 0.3)
    return 0 if level < 0.5 else 1 if level < 0.75 else 2


def next_kind(progress: Progress) -> ExerciseKind:
    """What to ask next: each kind once, then mostly the weakest, now and then another."""
    fresh: list[ExerciseKind] = [kind for kind in KINDS if kind not in progress.tries]
    if fresh:
        return fresh[0]
    rng = random.Random(progress.next_seed)
    if rng.random() < 0.3:
        return rng.choice(KINDS)
    weakest: list[ExerciseKind] = sorted(KINDS, key=lambda kind: (progress.level.get(kind, 0.0), progress.tries.get(kind, 0)))
    return weakest[0]
