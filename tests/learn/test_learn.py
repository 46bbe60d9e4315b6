"""Exercises: made again by their seed, graded by the tool's own functions, a state that survives, both languages."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from serveright.analysis.exercises import LETTERS, difficulty_of, grade, learned, next_kind, number
from serveright.api.learning import exercise, export, learn, read_progress
from serveright.cli.verbs.learn import command
from serveright.errors import UserError
from serveright.outputs import text
from serveright.outputs.language import render
from serveright.outputs.views.learn import choices, document
from serveright.rules.registry import all_rules
from serveright.types.lessons import KINDS, Exercise, ExerciseKind, Progress


@pytest.mark.parametrize("difficulty", [0, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_makes_the_same_exercise(kind: ExerciseKind, difficulty: int) -> None:
    assert exercise(kind, 11, difficulty) == exercise(kind, 11, difficulty)
    made = exercise(kind, 11, difficulty)
    assert made.kind == kind
    assert made.given
    assert made.why or made.derivation


def right_answer(made: Exercise) -> str:
    return made.answer if isinstance(made.answer, str) else str(made.answer)


@pytest.mark.parametrize("kind", KINDS)
def test_right_is_right_and_wrong_is_wrong(kind: ExerciseKind) -> None:
    made = exercise(kind, 5, 1)
    assert grade(made, right_answer(made)).right
    wrong = LETTERS[(LETTERS.index(made.answer) + 1) % len(made.choices)] if isinstance(made.answer, str) else str(made.answer * 2)
    judged = grade(made, wrong)
    assert not judged.right
    assert judged.expected
    assert not grade(made, "").right


def test_ten_fields_never_name_the_model() -> None:
    for seed in range(1, 12):
        made = exercise("family", seed, seed % 3)
        assert len(made.given) == 10
        assert not {"architectures", "model_type", "_name_or_path"} & made.given.keys()


def test_bytes_can_be_redone_from_the_derivation() -> None:
    made = exercise("bytes", 3, 0)
    step = made.derivation[0]
    values = {name: float(value) for name, value in step.values.items()}
    assert values["layers"] * values["width"] * values["element_bytes"] == pytest.approx(float(made.answer))


def test_units_are_understood() -> None:
    assert number("70,272") == 70272
    assert number("68.625 KiB") == pytest.approx(70272)
    assert number("7e4") == 70000
    assert number("many") is None


@pytest.mark.parametrize(
    ("unit", "bytes_"),
    [
        ("k", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("M", 1e6),
        ("G", 1e9),
        ("Ki", 2**10),
        ("MiB", 2**20),
        ("GiB", 2**30),
        ("Mi", 2**20),
        ("Gi", 2**30),
        ("B", 1),
    ],
)
def test_units_as_people_write_them(unit: str, bytes_: float) -> None:
    assert number(f"1.5 {unit}") == 1.5 * bytes_


def test_a_usual_slip_is_named() -> None:
    made = exercise("bytes", 3, 0)
    judged = grade(made, str(float(made.answer) / 2))
    assert "only K or only V" in str(judged.comment.values["guess"])


def test_it_gets_harder_with_right_answers_and_asks_the_weakest() -> None:
    progress = Progress()
    made = exercise("bytes", 3, 0)
    for _ in range(6):
        progress = learned(progress, made, right=True)
    assert difficulty_of(progress, "bytes") == 2
    progress = learned(progress, made, right=False)
    assert progress.level["bytes"] < 0.9
    weak = Progress(level=dict.fromkeys(KINDS, 0.9) | {"users": 0.1}, tries=dict.fromkeys(KINDS, 3))
    asked = [next_kind(Progress(level=weak.level, tries=weak.tries, next_seed=seed)) for seed in range(40)]
    assert asked.count("users") > 20


def test_a_session_goes_on_where_it_stopped(tmp_path: Path) -> None:
    state = str(tmp_path / "deep" / "learn.json")
    first = learn(state=state)
    again = learn(state=state)
    assert again.exercise == first.exercise, "not answered, so shown again"
    assert first.exercise is not None
    after = learn(right_answer(first.exercise), state=state)
    assert after.grade is not None
    assert after.grade.right
    assert after.exercise != first.exercise
    assert read_progress(Path(state)).tries == {first.exercise.kind: 1}
    assert after.state_file == state


def test_answering_nothing_and_a_broken_state_are_user_errors(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        learn("a", state=str(tmp_path / "none.json"))
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(UserError):
        learn(state=str(broken))


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_both_languages(tmp_path: Path, lang: str) -> None:
    state = str(tmp_path / "learn.json")
    learn(state=state, kind="bytes", seed=4)
    shown = text.document(document(learn("1", state=state)), text.Options(lang=lang, color=False, columns=0, explain=False))
    assert ("토큰" in shown) == (lang == "ko")
    assert "=" in shown, "the derivation stands below"


@pytest.mark.parametrize(("kind", "slip"), [("bytes", "b"), ("bytes", ""), ("layout", "12"), ("layout", "z"), ("fault", "{title}")])
def test_a_slip_of_the_hand_costs_no_exercise(tmp_path: Path, kind: ExerciseKind, slip: str) -> None:
    state = str(tmp_path / "learn.json")
    asked = learn(state=state, kind=kind, seed=4)
    with pytest.raises(UserError):
        learn(slip, state=state)
    assert learn(state=state).exercise == asked.exercise
    assert read_progress(Path(state)).tries == {}


def test_a_fault_is_chosen_by_its_title_in_the_language_of_the_page() -> None:
    made = exercise("fault", 3, 0)
    english, korean = choices(made, "en"), choices(made, "ko")
    assert {str(rule.title) for rule in all_rules()} >= {str(render(choice, "en")) for choice in english}
    assert all(re.search("[가-힣]", str(choice)) for choice in korean)


def test_a_sheet_for_a_class() -> None:
    sheet = export(7, seed=20)
    assert [e.kind for e in sheet.exercises] == list(KINDS)
    assert [e.difficulty for e in sheet.exercises] == sorted(e.difficulty for e in sheet.exercises)


def test_the_command_line_without_a_terminal(tmp_path: Path) -> None:
    state = str(tmp_path / "learn.json")
    shown = CliRunner().invoke(command, ["--state", state, "--kind", "symptom", "--seed", "2", "--json"])
    assert shown.exit_code == 0
    assert json.loads(shown.output)["exercise"]["kind"] == "symptom"
    sheet = CliRunner().invoke(command, ["--export", "2", "--with-answers", "--format", "markdown"])
    assert sheet.exit_code == 0
    assert "Answers" in sheet.output


def test_a_sheet_of_one_kind() -> None:
    assert {one.kind for one in export(3, kind="bytes", difficulty=0).exercises} == {"bytes"}


def test_layers_of_a_bytes_exercise_are_numbered_from_one() -> None:
    for seed in (3, 5, 8):
        kinds = list(exercise("bytes", seed, 1).given)
        assert [kind.partition(".")[0] for kind in kinds] == [str(place) for place in range(1, len(kinds) + 1)]
