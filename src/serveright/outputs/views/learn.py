"""What `learn` shows: the grade of the last answer with its derivation, the next exercise, and where the learner stands; or a set for a class."""

from collections.abc import Iterator

from serveright.outputs.language import rule_page
from serveright.types.document import Block, Bullets, Cell, Code, Derivations, Document, Heading, Pairs, Paragraph
from serveright.types.lessons import KINDS, LETTERS, Exercise, ExerciseKind, LearnReport, LessonSet, Progress
from serveright.types.text import Msg, msg

KIND_NAMES: dict[ExerciseKind, Msg] = {
    "family": msg("tell the family"),
    "bytes": msg("bytes a token"),
    "users": msg("how many users"),
    "layout": msg("how to split"),
    "runs": msg("does it run"),
    "fault": msg("find the fault"),
    "symptom": msg("read the symptom"),
}
GIVEN: dict[str, Msg] = {
    "kv_pool_bytes per GPU": msg("KV pool a GPU, bytes"),
    "kv dtype": msg("cache format"),
    "bytes per token per GPU": msg("bytes a token a GPU"),
    "fixed bytes per request per GPU": msg("fixed bytes a request a GPU"),
    "block tokens": msg("tokens a block"),
    "gpu": msg("GPU"),
    "concurrency": msg("requests at once"),
    "input tokens": msg("input tokens"),
    "output tokens": msg("output tokens"),
    "family": msg("family"),
    "weights": msg("weights"),
    "checkpoint": msg("checkpoint"),
    "parameters": msg("parameters"),
}
"""What the keys of `Exercise.given` are called; a config's own fields and layers keep their names."""


def document(report: LearnReport, lang: str = "en") -> Document:
    """One turn; `lang` chooses the language of the rules' titles, which stand on their pages."""
    return Document(title=msg("Serving by hand"), blocks=tuple(_blocks(report, lang)))


def choices(exercise: Exercise, lang: str) -> tuple[Cell, ...]:
    """What can be chosen: a rule by its title, everything else by its own words."""
    if exercise.kind != "fault":
        return exercise.choices
    return tuple((rule_page(str(choice.values["code"]), lang) or (choice,))[0] for choice in exercise.choices)


def _blocks(report: LearnReport, lang: str) -> Iterator[Block]:
    if report.grade is not None and report.answered is not None:
        yield Paragraph(msg("{given}: {comment}", given=report.grade.given, comment=report.grade.comment), "good" if report.grade.right else "bad")
        yield from solution(report.answered, lang)
    if report.exercise is not None:
        yield Heading(KIND_NAMES[report.exercise.kind])
        yield from question(report.exercise, lang)
        yield Paragraph(msg("answer with: serveright learn --answer …"), "dim")
    yield Pairs(tuple((KIND_NAMES[kind], _standing(report.progress, kind)) for kind in KINDS))
    yield Paragraph(msg("kept in {file}", file=report.state_file), "dim")


def _standing(progress: Progress, kind: ExerciseKind) -> Msg:
    tries = progress.tries.get(kind, 0)
    return msg("{level:.0%}, {n:n} answered", level=progress.level.get(kind, 0), n=tries) if tries else msg("not tried yet")


def question(exercise: Exercise, lang: str) -> Iterator[Block]:
    """The question and what is given."""
    yield Paragraph(exercise.question, "strong")
    if exercise.kind not in ("fault", "symptom", "family"):
        yield Paragraph(msg("model: {model}", model=exercise.model))
    for name, value in exercise.given.items():
        if name in ("command", "log"):
            yield Code(value, language="text")
    rest = tuple((GIVEN.get(name, name), value) for name, value in exercise.given.items() if name not in ("command", "log"))
    if rest:
        yield Pairs(rest)
    if exercise.choices:
        yield Bullets(tuple(msg("{letter}) {text}", letter=LETTERS[i], text=choice) for i, choice in enumerate(choices(exercise, lang))))


def solution(exercise: Exercise, lang: str) -> Iterator[Block]:
    """The answer and how one gets there, formulas included."""
    if isinstance(exercise.answer, str):
        right = choices(exercise, lang)[LETTERS.index(exercise.answer)]
        yield Paragraph(msg("answer: {letter}) {text} ({model})", letter=exercise.answer, text=right, model=exercise.model))
    else:
        value = f"{exercise.answer:,.10g} {exercise.unit}".strip()
        yield Paragraph(msg("answer: {value} ({model})", value=value, model=exercise.model))
    yield Bullets(exercise.why)
    steps = tuple(_step(d.name, d.formula, d.values, d.result) for d in exercise.derivation)
    if steps:
        yield Code("\n".join(steps), language="text", title=msg("by hand"))
        yield Derivations(exercise.derivation)
    if exercise.topic:
        yield Paragraph(msg("more: serveright explain {topic}", topic=exercise.topic), "dim")


def _step(name: str, formula: str, values: dict[str, int | float], result: float) -> str:
    put_in = ", ".join(f"{key} = {value:,.10g}" for key, value in values.items())
    return f"{name} = {formula} = {result:,.10g}   [{put_in}]"


def lessons(report: LessonSet, lang: str = "en") -> Document:
    """A sheet for a class; answers after all questions."""
    blocks: list[Block] = []
    for number, exercise in enumerate(report.exercises, 1):
        blocks += [Heading(msg("{n}. {kind}", n=number, kind=KIND_NAMES[exercise.kind])), *question(exercise, lang)]
    if report.with_answers:
        blocks.append(Heading(msg("Answers"), level=2))
        for number, exercise in enumerate(report.exercises, 1):
            blocks += [Heading(msg("{n}. {kind}", n=number, kind=KIND_NAMES[exercise.kind]), level=3), *solution(exercise, lang)]
    return Document(title=msg("Exercises: serving by hand"), blocks=tuple(blocks))
