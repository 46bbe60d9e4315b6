"""Learn: topics with live numbers, and exercises whose state is their address."""

from typing import Any

from serveright import api
from serveright.analysis.exercises import grade, readable
from serveright.api import asking
from serveright.api.learning import exercise, unreadable
from serveright.errors import UnknownName
from serveright.outputs.views import explain as explain_view
from serveright.outputs.views import learn as learn_view
from serveright.types.document import Block, Document, Paragraph
from serveright.types.lessons import KINDS, LETTERS, ExerciseKind, ExplainReport, TopicList
from serveright.types.text import Msg, msg
from serveright.web.state import address
from serveright.web.views.design import choices
from serveright.web.visit import Moved, Shown, Visit

TITLE, ORDER = msg("Learn"), 5
PASTES: dict[str, str] = {}


def show(visit: Visit) -> Shown | Moved:
    """`/learn`, `/learn/TOPIC`, `/learn/exercise/KIND`."""
    kind, _, name = visit.rest.partition("/")
    lang = visit.first("lang")
    shelf: dict[str, Any] = {
        "topics": [(name, title, address(f"/learn/{name}", lang=lang)) for name, title in _topics(visit.lang)],
        "kinds": [(key, learn_view.KIND_NAMES[key], address(f"/learn/exercise/{key}", lang=lang)) for key in KINDS],
        "current": name if kind == "exercise" else kind,
    }
    if not kind:
        return Shown(title=TITLE, template="learn.html", context={"shelf": shelf})
    if kind == "exercise":
        return _exercise(visit, name, shelf)
    model, gpu = visit.first("model"), visit.first("gpu")
    known = [topic for topic, _, _ in shelf["topics"]]
    if kind not in known:
        raise UnknownName(msg("topic"), kind[:40], known)
    report = api.explain(kind, model=asking.named_model(model) if model else None, gpu=asking.gpu_spec(gpu) if gpu else None, lang=visit.lang)
    document = explain_view.page(report)
    asked = {"model": report.model, "gpu": report.gpu, **choices()} if isinstance(report, ExplainReport) else None
    return Shown(title=document.title, template="learn.html", context={"shelf": shelf, "asked": asked}, document=document, report=report)


def _topics(lang: str) -> list[tuple[str, str | Msg]]:
    """Names and titles of what can be read, the glossary last."""
    found = api.explain(None, lang=lang)
    topics = [(line.topic, line.title) for line in found.topics] if isinstance(found, TopicList) else []
    return [*topics, ("glossary", msg("Words"))]


def _exercise(visit: Visit, name: str, shelf: dict[str, Any]) -> Shown:
    kind: ExerciseKind | None = next((key for key in KINDS if key == name), None)
    if kind is None:
        raise UnknownName(msg("kind of exercise"), name[:40], KINDS)
    seed, level = _small(visit.first("seed"), 1), _small(visit.first("difficulty"), 0)
    made = exercise(kind, seed, min(level, 2))
    blocks: list[Block] = list(learn_view.question(made, visit.lang))
    answer = visit.first("answer")
    if answer and not readable(made, answer):
        slip = unreadable(made, answer)
        blocks += [Paragraph(slip.message, "warn"), *([Paragraph(slip.fix)] if slip.fix else [])]
    elif answer:
        judged = grade(made, answer)
        blocks += [
            Paragraph(msg("{given}: {comment}", given=answer, comment=judged.comment), "good" if judged.right else "bad"),
            *learn_view.solution(made, visit.lang),
        ]
        level = min(level + 1, 2) if judged.right else level
    turn = {
        "choices": list(zip(LETTERS, learn_view.choices(made, visit.lang), strict=False)),
        "unit": made.unit,
        "answer": answer,
        "seed": str(seed),
        "difficulty": visit.first("difficulty") or "0",
        "next": address(f"/learn/exercise/{kind}", seed=str(seed + 1), difficulty=str(level), lang=visit.first("lang")),
    }
    title = learn_view.KIND_NAMES[kind]
    return Shown(title=title, template="learn.html", context={"shelf": shelf, "turn": turn}, document=Document(title=title, blocks=tuple(blocks)))


def _small(text: str, default: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else default
