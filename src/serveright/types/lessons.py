"""What `explain` and `learn` answer: a topic with live figures, and exercises with their derivations."""

from typing import Literal, get_args

from msgspec import Struct

from serveright.types.derivation import Derivation
from serveright.types.text import Msg

Figure = str | int | float


class Section(Struct, frozen=True, kw_only=True):
    """One paragraph, heading, bullet or code block of a topic; `text` carries its figures as values."""

    kind: Literal["heading", "text", "bullet", "code"]
    text: Msg


class TopicLine(Struct, frozen=True, kw_only=True):
    """A topic in the list."""

    topic: str
    title: str


class TopicList(Struct, frozen=True, kw_only=True):
    """All topics, in reading order."""

    schema: str = "serveright.explain/1"
    topics: tuple[TopicLine, ...]


class GlossaryTerm(Struct, frozen=True, kw_only=True):
    """One word a language, and what it means, in the asked language."""

    en: str
    ko: str
    meaning: str


class Glossary(Struct, frozen=True, kw_only=True):
    """The words the texts keep to."""

    schema: str = "serveright.explain/1"
    terms: tuple[GlossaryTerm, ...]


class ExplainReport(Struct, frozen=True, kw_only=True):
    """One topic in one language, every number computed for `model` on `gpu`. `note`: another model had to serve, and why."""

    schema: str = "serveright.explain/1"
    topic: str
    lang: str
    title: str
    model: str
    gpu: str
    sections: tuple[Section, ...]
    figures: dict[str, Figure]
    next: tuple[str, ...]
    note: Msg | None = None


ExerciseKind = Literal["family", "bytes", "users", "layout", "runs", "fault", "symptom"]
KINDS: tuple[ExerciseKind, ...] = get_args(ExerciseKind)
LETTERS = "abcdefghij"
"""Names of an exercise's choices, in order."""


class Exercise(Struct, frozen=True, kw_only=True):
    """A question from a real config. `answer` is a number, or the letter of one of `choices`; `tolerance` is relative, for numbers.

    `kind`, `seed` and `difficulty` (0 to 2) make the same exercise again.
    """

    kind: ExerciseKind
    seed: int
    difficulty: int
    model: str
    question: Msg
    given: dict[str, str]
    """Fields of the config or lines of a command, as they stand."""
    answer: str | float
    unit: str = ""
    choices: tuple[Msg, ...] = ()
    tolerance: float = 0.02
    why: tuple[Msg, ...] = ()
    derivation: tuple[Derivation, ...] = ()
    topic: str = ""
    """What `explain` says more about it."""


class Grade(Struct, frozen=True, kw_only=True):
    """One answer judged."""

    right: bool
    given: str
    expected: str
    comment: Msg


class Progress(Struct, kw_only=True):
    """Where a learner stands: per kind, tries and a running share of right answers; `next_seed` goes on from here."""

    level: dict[str, float] = {}
    tries: dict[str, int] = {}
    next_seed: int = 1
    pending: tuple[ExerciseKind, int, int] | None = None
    """Kind, seed and difficulty of the exercise that was shown and not yet answered."""


class LearnReport(Struct, frozen=True, kw_only=True):
    """An exercise, and the grade of the one before where an answer was given."""

    schema: str = "serveright.learn/1"
    exercise: Exercise | None
    answered: Exercise | None = None
    grade: Grade | None = None
    progress: Progress
    state_file: str


class LessonSet(Struct, frozen=True, kw_only=True):
    """Exercises of all kinds for a class, with answers."""

    schema: str = "serveright.learn/1"
    exercises: tuple[Exercise, ...]
    with_answers: bool
