"""`serveright learn`: exercises from real configs, one after the other."""

import sys
from functools import partial

import click

from serveright.cli.options import Output, output, say
from serveright.errors import UsageError
from serveright.types.lessons import KINDS, ExerciseKind
from serveright.types.text import msg


@click.command("learn", help=say(msg("Practise serving by hand: exercises from real configs, graded with the derivation, harder as you get better.")))
@click.option("--answer", help=say(msg("Answer the exercise shown last, and see the next.")))
@click.option("--kind", type=click.Choice(KINDS), help=say(msg("Ask for one kind of exercise.")))
@click.option("--seed", type=int, help=say(msg("Make the exercise of this number again.")))
@click.option("--difficulty", type=click.IntRange(0, 2), help=say(msg("0 to 2; default: by how you did.")))
@click.option("--state", metavar="FILE", help=say(msg("Keep your standing in FILE.")))
@click.option("--export", "count", type=click.IntRange(1, 500), help=say(msg("Print so many exercises for a class instead.")))
@click.option("--with-answers", is_flag=True, help=say(msg("With --export: answers and derivations after the questions.")))
@output()
def command(
    answer: str | None,
    kind: ExerciseKind | None,
    seed: int | None,
    difficulty: int | None,
    state: str | None,
    count: int | None,
    with_answers: bool,
    out: Output,
) -> None:
    """One turn; on a terminal, turn after turn until an empty answer."""
    from serveright.api.learning import export, learn
    from serveright.outputs.views import learn as views

    if count is not None:
        lessons = export(count, seed or 1, answers=with_answers, kind=kind, difficulty=difficulty)
        out.show(lessons, partial(views.lessons, lang=out.lang), quiet="\n".join(f"{e.kind} {e.seed} {e.answer}" for e in lessons.exercises))
        return
    report = learn(answer, kind=kind, seed=seed, difficulty=difficulty, state=state)
    shown = partial(views.document, lang=out.lang)
    out.show(report, shown, quiet=str(report.grade.right).lower() if report.grade else "")
    interactive = answer is None and sys.stdin.isatty() and sys.stdout.isatty() and out.format == "text"
    while interactive and (said := click.prompt(say(msg("answer (empty to stop)")), default="", show_default=False)):
        try:
            report = learn(said, state=state)
        except UsageError as error:
            click.echo(f"{say(error.message)}\n  {say(error.fix or msg(''))}", err=True)
            continue
        out.show(report, shown)
