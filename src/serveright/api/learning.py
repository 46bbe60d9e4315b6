"""Exercises from real configs, graded with their derivation; where a learner stands is kept in one file of the user's data folder."""

import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from serveright.analysis import exercises as made
from serveright.analysis.choosing import asked_of_gates
from serveright.analysis.gates import gate_reason
from serveright.analysis.layouts import name as layout_name
from serveright.api import planning
from serveright.api.engines import load_engines
from serveright.api.loading import Model, load_model
from serveright.api.sized import size_on
from serveright.catalog.files import FACTS, read_toml
from serveright.catalog.gates import load_gates
from serveright.catalog.gpus import parse_gpu_spec
from serveright.catalog.models import list_models, load
from serveright.errors import InputError, UsageError, UserError, os_reason
from serveright.types.design import Reason
from serveright.types.engine import Parallel, Settings
from serveright.types.lessons import KINDS, Exercise, ExerciseKind, LearnReport, LessonSet, Progress
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic

if TYPE_CHECKING:
    from serveright.rules.registry import Rule

REAL = frozenset({"copy", "mirror", "retyped"})
"""Qualities of stored configs that count as real."""
GPUS = (("1xh100", "1xrtx-4090"), ("4xh100", "2xrtx-4090", "1xa100-80gb"), ("8xh200", "8xb200", "2xrtx-pro-6000"))
"""Fleets asked about at each difficulty."""
CLEAR = 1.15
"""A layout exercise is asked only where the best beats the best of another kind by this much."""
TRIES = 60


def learn(
    answer: str | None = None, *, kind: ExerciseKind | None = None, seed: int | None = None, difficulty: int | None = None, state: str | None = None
) -> LearnReport:
    """The pending or next exercise; with `answer`, the pending one graded and the next. Raises UserError."""
    path = Path(state) if state else state_file()
    progress = read_progress(path)
    answered = grade = None
    if answer is not None:
        asked = (kind, seed, difficulty or 0) if kind is not None and seed is not None else progress.pending
        if asked is None:
            raise UsageError(msg("there is no exercise to answer"), msg("Run `serveright learn` first, or name --kind and --seed."))
        answered = exercise(*asked)
        if not made.readable(answered, answer):
            raise unreadable(answered, answer)
        grade = made.grade(answered, answer)
        progress = made.learned(progress, answered, grade.right)
        kind = seed = None
    if progress.pending is None or kind is not None or seed is not None:
        wanted = kind or made.next_kind(progress)
        level = difficulty if difficulty is not None else made.difficulty_of(progress, wanted)
        progress.pending = (wanted, seed if seed is not None else progress.next_seed, level)
        progress.next_seed += 1
    current = exercise(*progress.pending)
    write_progress(path, progress)
    return LearnReport(exercise=current, answered=answered, grade=grade, progress=progress, state_file=str(path))


def unreadable(asked: Exercise, answer: str) -> UsageError:
    """What to say to a slip of the hand: it costs no exercise, the same one is answered again."""
    said = " ".join(answer.split())[:40]
    if asked.choices:
        return UsageError(
            msg("answer {answer}: not one of the choices", answer=said), msg("Answer with a letter, a to {last}.", last=made.LETTERS[len(asked.choices) - 1])
        )
    return UsageError(msg("answer {answer}: not a number", answer=said), msg("Answer with a number such as 70,272 or 68.6 KiB."))


def export(count: int, seed: int = 1, *, answers: bool = False, kind: ExerciseKind | None = None, difficulty: int | None = None) -> LessonSet:
    """`count` exercises: of one kind, or kinds in turn; of one difficulty, or getting harder."""
    kinds = KINDS if kind is None else (kind,)
    found = [exercise(kinds[i % len(kinds)], seed + i, min(2, 3 * i // max(count, 1)) if difficulty is None else difficulty) for i in range(count)]
    return LessonSet(exercises=tuple(found), with_answers=answers)


def state_file() -> Path:
    """`learn.json` in the user's data folder: XDG_DATA_HOME, ~/Library/Application Support, or %LOCALAPPDATA%."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "serveright" / "learn.json"


def read_progress(path: Path) -> Progress:
    """The stored state; a new one where there is no file. Raises InputError for a broken one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Progress)
    except FileNotFoundError:
        return Progress()
    except (OSError, msgspec.DecodeError) as error:
        why = os_reason(error) if isinstance(error, OSError) else str(error)
        raise InputError(msg("{file}: cannot be read ({why})", file=str(path), why=why), msg("Delete it to start over, or give --state FILE.")) from error


def write_progress(path: Path, progress: Progress) -> None:
    """Whole or not at all. Raises InputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(progress), indent=1))
        fresh.replace(path)
    except OSError as error:
        raise InputError(msg("{file}: cannot be written ({why})", file=str(path), why=os_reason(error)), msg("Give --state FILE.")) from error


def exercise(kind: ExerciseKind, seed: int, difficulty: int) -> Exercise:
    """The same exercise for the same three values and the same facts."""
    if kind not in KINDS:
        raise UsageError(msg("there is no exercise kind {kind}", kind=kind), msg("Kinds: {kinds}", kinds=", ".join(KINDS)))
    rng = random.Random(f"{kind}/{seed}/{difficulty}")
    difficulty = max(0, min(2, difficulty))
    if kind == "fault":
        return _fault(rng, seed, difficulty)
    if kind == "symptom":
        return _symptom(rng, seed, difficulty)
    maker: Callable[[random.Random, int, int, Model], Exercise | None] = {
        "family": _family, "bytes": _bytes, "users": _users, "layout": _layout, "runs": _runs,
    }[kind]  # fmt: skip
    for model in _models(rng, difficulty, kind):
        result = maker(rng, seed, difficulty, model)
        if result is not None:
            return result
    raise ValueError(f"no model of the catalogue serves an exercise {kind}/{seed}/{difficulty}")


def _models(rng: random.Random, difficulty: int, kind: str) -> Iterator[Model]:
    """Real configs in a random order, of the families of this difficulty."""
    listed = [m.id for m in list_models() if m.config in REAL]
    rng.shuffle(listed)
    for name in listed[:TRIES]:
        try:
            model = load_model(load(name))
        except UserError:
            continue
        if model.family.name in made.EASY[difficulty] or kind == "runs":
            yield model


def _family(rng: random.Random, seed: int, difficulty: int, model: Model) -> Exercise:
    return made.family(seed, difficulty, model.shape, model.family, model.files.config)


def _bytes(rng: random.Random, seed: int, difficulty: int, model: Model) -> Exercise | None:
    found = made.cache_bytes(seed, difficulty, model.shape)
    return found if found.answer else None


def _users(rng: random.Random, seed: int, difficulty: int, model: Model) -> Exercise | None:
    fleet = parse_gpu_spec(rng.choice(GPUS[difficulty]))
    engine = rng.choice(load_engines("both"))
    context = min(rng.choice((8192, 16384, 32768)), model.shape.max_context_tokens or 8192)
    sized = size_on(engine, model, fleet, Settings(parallel=Parallel(tp=fleet.count)), context)
    if not sized.fits:
        return None
    return made.users(seed, difficulty, model.shape, sized, fleet.gpu.name, fleet.count)


def _layout(rng: random.Random, seed: int, difficulty: int, model: Model) -> Exercise | None:
    gpu = ("8xh100", "8xh200", "8xb200")[difficulty]
    traffic = Traffic(concurrency=rng.choice((1, 8, 256)), input_tokens=(2048, 2048), output_tokens=(512, 512), context_tokens=8192)
    fleet = parse_gpu_spec(gpu)
    found = planning.find(model, fleet, traffic, Settings(context_tokens=8192), list(load_engines("vllm")))
    fitting = [c for c in found.candidates if c.fits and c.estimate is not None and not c.settings.speculative_tokens]
    if len({made.layout_kind(c.parallel) for c in fitting}) < 2:
        return None
    best = fitting[0]
    rival = next(c for c in fitting if made.layout_kind(c.parallel) != made.layout_kind(best.parallel))
    if best.estimate is None or rival.estimate is None or best.estimate.output_tokens_per_s < CLEAR * rival.estimate.output_tokens_per_s:
        return None
    given = {
        "gpu": gpu,
        "concurrency": str(traffic.concurrency),
        "input tokens": f"{traffic.input_tokens[0]:,}",
        "output tokens": f"{traffic.output_tokens[0]:,}",
        "family": f"{model.family.name}, {model.family.ffn}",
        "weights": f"{model.need.total_bytes / 2**30:.1f} GiB",
    }
    why = (
        msg(
            "{layout}: {rate:,.0f} tokens/s, {tpot:s} a token",
            layout=layout_name(best.parallel),
            rate=best.estimate.output_tokens_per_s,
            tpot=best.estimate.tpot_s,
        ),
        msg(
            "{layout}: {rate:,.0f} tokens/s, {tpot:s} a token",
            layout=layout_name(rival.parallel),
            rate=rival.estimate.output_tokens_per_s,
            tpot=rival.estimate.tpot_s,
        ),
    )
    return made.layout(seed, difficulty, model.shape, best.parallel, given, why)


def _runs(rng: random.Random, seed: int, difficulty: int, model: Model) -> Exercise | None:
    spec = rng.choice(("1xrtx-4090", "2xrtx-4090", "1xrtx-3090", *GPUS[difficulty]))
    fleet = parse_gpu_spec(spec)
    wanted = asked_of_gates(model.shape, model.checkpoint)
    blocked: list[Reason] = []
    open_to = 0
    for engine in load_engines("both"):
        if not any(a.name == model.shape.architecture for a in engine.table.architectures):
            continue
        answers = [gate_reason(g, engine.name, engine.version, fleet.gpu, wanted) for g in load_gates() if not wanted.isdisjoint(g.needs)]
        against = [reason for verdict, reason, _ in answers if verdict == "blocked"]
        blocked += against
        open_to += not against
    room = fleet.gpu.memory_bytes * fleet.count
    share = model.need.total_bytes / room
    if (not open_to and not blocked) or 0.75 < share < 1.1:
        return None
    text = msg("{weights:gib} of weights against {room:gib} of memory", weights=model.need.total_bytes, room=room)
    outcome = "kernels" if not open_to else "memory" if share > 1 else "runs"
    given = {"family": f"{model.family.name}, {model.family.ffn}", "checkpoint": model.checkpoint.format, "parameters": f"{model.need.total_elements:,}"}
    why = (*blocked[:2], Reason(code="memory", text=text))
    return made.runs(seed, difficulty, model.shape, f"{fleet.count} x {fleet.gpu.name}", outcome, given, why)


def _fault(rng: random.Random, seed: int, difficulty: int) -> Exercise:
    """A command one of the rules finds fault with, from the rules' own examples."""
    from serveright.api.auditing import audit_text
    from serveright.api.commands import Ask
    from serveright.rules.registry import all_rules

    rules = [rule for rule in all_rules() if any(e.bad for e in rule.examples)]
    rng.shuffle(rules)
    for rule in rules:
        example = next(e for e in rule.examples if e.bad)
        try:
            findings = audit_text(example.command.encode(), "command", Ask(gpu=example.gpu or None, version=example.version)).findings
        except UserError:
            continue
        finding = next((f for f in findings if f.code == rule.code), None)
        if finding is None or len(findings) > 1 + difficulty:
            continue
        here = {f.name for f in findings}
        wrong = [_named(other) for other in rng.sample(rules, 12) if other.name not in here][:3]
        choices, letter = made.multiple(rng, _named(rule), wrong)
        why = [finding.message, finding.why, *([finding.fix] if finding.fix else [])]
        given = {"command": example.command, **({"gpu": example.gpu} if example.gpu else {})}
        return Exercise(
            kind="fault", seed=seed, difficulty=difficulty, model=rule.code, question=msg("What is wrong with this command?"),
            given=given, choices=choices, answer=letter, why=tuple(why),
        )  # fmt: skip
    raise ValueError("no rule's example is found by its rule")


def _named(rule: "Rule") -> Msg:
    """A choice that says the rule's title in English; its code leads views to the title in another language."""
    return Msg("{title}", {"title": rule.title, "code": rule.code})


def _symptom(rng: random.Random, seed: int, difficulty: int) -> Exercise:
    """A line of a log, and what it most likely comes from."""
    from serveright.rules.causes.base import all_causes

    causes = list(all_causes())
    lines = [line for name in ("common", "vllm", "sglang") for line in read_toml(FACTS / "logs" / f"{name}.toml")["line"]]
    rng.shuffle(lines)
    for line in lines:
        sign = f"log:{line['key']}"
        speaking = sorted((c for c in causes if c.speaks.get(sign, 0) > 1), key=lambda c: -c.speaks[sign])
        if not speaking or (len(speaking) > 1 and speaking[0].speaks[sign] < 1.5 * speaking[1].speaks[sign]):
            continue
        cause = speaking[0]
        others = [c for c in causes if sign not in c.speaks]
        wrong = [c.title for c in rng.sample(others, 3)]
        choices, letter = made.multiple(rng, cause.title, wrong)
        return Exercise(
            kind="symptom", seed=seed, difficulty=difficulty, model=cause.code, question=msg("The log says this. What is the likely cause?"),
            given={"log": str(line["texts"][0])}, choices=choices, answer=letter, why=(cause.why, *cause.fix),
        )  # fmt: skip
    raise ValueError("no log line speaks for one cause")
