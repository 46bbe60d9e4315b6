"""What `explain` shows: the page, and where to go on; or the list of topics."""

from collections.abc import Iterator

from serveright.types.document import Block, Bullets, Code, Document, Heading, Paragraph, Table
from serveright.types.lessons import ExplainReport, Glossary, TopicList
from serveright.types.text import Msg, msg


def page(report: ExplainReport | TopicList | Glossary) -> Document:
    """Whatever `explain` answered."""
    return topics(report) if isinstance(report, TopicList) else glossary(report) if isinstance(report, Glossary) else document(report)


def document(report: ExplainReport) -> Document:
    """One topic."""
    return Document(title=report.title, blocks=tuple(_blocks(report)))


def _blocks(report: ExplainReport) -> Iterator[Block]:
    yield Paragraph(msg("numbers: {model} on {gpu}", model=report.model, gpu=report.gpu), "dim")
    if report.note is not None:
        yield Paragraph(report.note, "warn")
    bullets: list[Msg] = []
    for section in report.sections:
        if section.kind == "bullet":
            bullets.append(section.text)
            continue
        if bullets:
            yield Bullets(tuple(bullets))
            bullets = []
        if section.kind == "heading":
            yield Heading(section.text)
        elif section.kind == "code":
            yield Code(str(section.text.values["table"]), language="text")
        else:
            yield Paragraph(section.text)
    if bullets:
        yield Bullets(tuple(bullets))
    yield Paragraph(msg("go on with: {topics}", topics=", ".join(f"serveright explain {name}" for name in report.next)), "dim")


def topics(report: TopicList) -> Document:
    """The list."""
    rows = tuple((line.topic, line.title) for line in report.topics)
    return Document(
        title=msg("What serveright can explain"),
        blocks=(
            Table((msg("topic"), msg("about")), rows, wide=(1,)),
            Paragraph(msg("serveright explain TOPIC --model MODEL --gpu GPU computes the numbers for yours.")),
        ),
    )


def glossary(report: Glossary) -> Document:
    """The words."""
    rows = tuple((term.en, term.ko, term.meaning) for term in report.terms)
    return Document(title=msg("Words"), blocks=(Table((msg("English"), msg("Korean"), msg("meaning")), rows, wide=(2,)),))
