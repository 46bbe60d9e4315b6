"""What `choose` shows: the funnel, the models that came through, the first ones with command, why the others fell, and what was left open."""

from collections.abc import Iterator

from serveright import units
from serveright.analysis.layouts import name as layout_name
from serveright.outputs.views.words import STEPS, word
from serveright.types.choosing import Choice, ChooseReport, StepReason
from serveright.types.document import Block, Bullets, Cell, Code, Document, Heading, Paragraph, Table
from serveright.types.text import Msg, msg

SHOWN, DETAILED = 20, 3
STEP_NAMES: dict[str, Msg] = {
    "asked": msg("models looked at"),
    "shape": msg("fell at shape: not a generating model that can be derived"),
    "hardware": msg("fell at hardware"),
    "workload": msg("fell at workload"),
    "needs": msg("fell at needs"),
    "quality": msg("fell at quality"),
    "fits": msg("came through"),
}


def document(report: ChooseReport) -> Document:
    """The whole page."""
    title = msg("Which model on {count} x {gpu}", count=report.gpu.count, gpu=report.gpu.key)
    return Document(title=title, blocks=tuple(_blocks(report)))


def _blocks(report: ChooseReport) -> Iterator[Block]:
    fits = [c for c in report.candidates if c.verdict == "fits"]
    fell = [c for c in report.candidates if c.verdict == "rejected"]
    if report.because is not None:
        yield Heading(msg("You change because of {reason}: first, with {model}", reason=report.because.reason, model=report.because.model))
        yield Bullets(tuple(advice.text for advice in report.because.advice))
    yield Table((msg("step"), msg("models")), tuple((STEP_NAMES[step], str(n)) for step, n in report.funnel.items()), right=(1,))
    if not fits:
        yield Paragraph(msg("No model came through; the reasons stand below."), "bad")
    else:
        yield Heading(msg("What came through"))
        yield _table(fits[:SHOWN])
        if len(fits) > SHOWN:
            yield Paragraph(msg("{n} more came through; --json lists them all", n=len(fits) - SHOWN), "dim")
        yield Paragraph(msg("Tier 1: no model is both larger (or scored higher) and faster. Size is not quality."), "dim")
        for choice in fits[:DETAILED]:
            yield from _detail(choice)
    yield Bullets(report.left_open)
    if fell:
        yield Heading(msg("Why the others fell"))
        yield Table((msg("model"), msg("step"), msg("because")), tuple(_fallen(c) for c in fell), wide=(2,))


def _table(choices: list[Choice]) -> Table:
    columns = (
        msg("rank"), msg("tier"), msg("model"), msg("family"), msg("parameters"), msg("checkpoint"), msg("engine"), msg("layout"), msg("tokens/s"), msg("TPOT"), msg("USD per 1M"),
    )  # fmt: skip
    return Table(columns, tuple(_row(c) for c in choices), right=(0, 1, 4, 8, 9, 10))


def _row(choice: Choice) -> tuple[Cell, ...]:
    estimate = choice.estimate
    price = choice.cost_per_million_tokens
    return (
        str(choice.rank),
        str(choice.tier),
        choice.model,
        choice.family,
        f"{choice.parameters / 1e9:,.0f}B/{choice.active_parameters / 1e9:,.0f}B",
        choice.checkpoint_format,
        choice.engine.name if choice.engine else "",
        layout_name(choice.parallel) if choice.parallel else "",
        f"{estimate.output_tokens_per_s:,.0f}" if estimate else "",
        units.seconds(estimate.tpot_s) if estimate else "",
        f"{price:.2f}" if price is not None else "?",
    )


def _detail(choice: Choice) -> Iterator[Block]:
    yield Heading(f"{choice.rank}. {choice.checkpoint}", level=3)
    yield Bullets(tuple(reason.text for reason in choice.reasons), sources=tuple(reason.source for reason in choice.reasons))
    if choice.command:
        yield Code(choice.command)


def _fallen(choice: Choice) -> tuple[Cell, ...]:
    reason: StepReason = next(r for r in choice.reasons if r.against)
    return (choice.model, word(STEPS, reason.step), reason.text)
