"""Options that several verbs share, the language of the process, and the one way a result reaches the user."""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from msgspec import Struct

from serveright.errors import InputError, UsageError, UserError, os_reason
from serveright.outputs.language import LANGUAGES, default_language, render
from serveright.types.document import Document
from serveright.types.text import Msg, msg

FORMATS = ("text", "json", "markdown", "html")


def language(arguments: list[str]) -> str:
    """The language asked for by `--lang`, else by the locale. Read before click parses, because help texts need it."""
    for i, word in enumerate(arguments):
        value = arguments[i + 1] if word == "--lang" and i + 1 < len(arguments) else word.removeprefix("--lang=") if word.startswith("--lang=") else None
        if value in LANGUAGES:
            return value
    return default_language()


LANG = language(sys.argv[1:])


def say(text: Msg) -> str:
    """Prose for help texts and stderr, in the language of the process."""
    return render(text, LANG)


def tell(error: UserError) -> None:
    """One message on stderr: what is wrong, and the way out."""
    from serveright.outputs.text import safe

    sys.stderr.write(f"serveright: {safe(say(error.message))}\n")
    if error.fix is not None:
        sys.stderr.write(f"  {safe(say(error.fix))}\n")


class Output(Struct, frozen=True, kw_only=True):
    """How to show a result."""

    format: str
    file: str | None
    lang: str
    explain: bool
    color: str
    quiet: bool
    verbose: bool
    exit_zero: bool
    plot: str | None = None

    @property
    def draws(self) -> bool:
        """Pictures are wanted: `--plot`, or a format that shows them."""
        return self.plot is not None or self.format in ("html", "markdown")

    def use_color(self) -> bool:
        """`--color` wins over FORCE_COLOR and NO_COLOR, those over the terminal."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or (self.file is None and sys.stdout.isatty())

    def columns(self) -> int:
        """Width of the terminal, 0 in pipes and files (never wrap)."""
        if self.file is not None or not sys.stdout.isatty():
            return 0
        return os.get_terminal_size(sys.stdout.fileno()).columns

    def show(self, report: Struct, view: Callable[[Any], Document], quiet: str = "") -> None:
        """Write `report` in the asked format; `quiet` is what `-q` prints instead."""
        if self.plot is not None:
            from serveright.outputs import draw

            _write("--plot", *draw.file(self.plot, view(report), self.lang))
        self.write((quiet and quiet + "\n") if self.quiet else self._text(report, view))

    def write(self, text: str) -> None:
        """To `-o FILE`, else stdout. Raises InputError."""
        if self.file is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        _write("-o", self.file, text.encode("utf-8"))

    def _text(self, report: Struct, view: Callable[[Any], Document]) -> str:
        if self.format == "json":
            from serveright.outputs import json

            return json.encode(report, self.lang) + "\n"
        if self.format == "markdown":
            from serveright.outputs import markdown

            return markdown.document(view(report), self.lang)
        if self.format == "html":
            from serveright.outputs import html

            return html.document(view(report), self.lang)
        from serveright.outputs import text

        options = text.Options(lang=self.lang, color=self.use_color(), columns=self.columns(), explain=self.explain)
        return text.document(view(report), options)

    def explain_no(self, reasons: tuple[Msg, ...]) -> None:
        """On stderr, where a short answer would be nothing at all: why there is none."""
        from serveright.outputs.text import safe

        for reason in reasons:
            sys.stderr.write(f"serveright: {safe(render(reason, self.lang))}\n")

    def finish(self, failed: bool) -> None:
        """Exit 1 when the answer is a no (and --exit-zero was not given)."""
        if failed and not self.exit_zero:
            raise SystemExit(1)


def _write(option: str, file: str, data: bytes) -> None:
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise InputError(msg("{option} {file}: cannot be written ({why})", option=option, file=file, why=os_reason(error))) from error


def lang_option(function: Callable[..., None]) -> Callable[..., None]:
    """--lang for verbs without a report; it was read before click parses (`language`)."""
    return click.option("--lang", type=click.Choice(LANGUAGES), default=LANG, expose_value=False, help=say(msg("Language of the prose.")))(function)


def output(formats: tuple[str, ...] = FORMATS, *, watch: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the common options and hands the command one `out: Output`; `watch` False where the verb watches something of its own."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        again = click.option("--watch", "watched", metavar="FILE", help=say(msg("Run again whenever FILE changes, until Ctrl-C.")))

        @click.option("--format", "format_", type=click.Choice(formats), default=None, help=say(msg("How to print the result.")))
        @click.option("--json", "as_json", is_flag=True, help=say(msg("Short for --format json.")))
        @click.option("-o", "--output", "file", metavar="FILE", help=say(msg("Write the result to FILE.")))
        @click.option(
            "--plot", metavar="FILE", help=say(msg("Draw the report's pictures: FILE.svg, FILE.png, FILE.json (Vega-Lite), or NAME=FILE for one of them."))
        )
        @click.option("--lang", type=click.Choice(LANGUAGES), default=LANG, help=say(msg("Language of the prose.")))
        @click.option("--explain", is_flag=True, help=say(msg("Show how every number came about.")))
        @click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", help=say(msg("Colour; NO_COLOR is honoured.")))
        @click.option("-q", "--quiet", is_flag=True, help=say(msg("Print only the shortest answer.")))
        @click.option("-v", "--verbose", is_flag=True, help=say(msg("Say more on stderr.")))
        @click.option("--exit-zero", is_flag=True, help=say(msg("Exit with 0 even when the answer is a no.")))
        @functools.wraps(function)
        def command(
            *,
            format_: str | None,
            as_json: bool,
            file: str | None,
            plot: str | None,
            lang: str,
            explain: bool,
            color: str,
            quiet: bool,
            verbose: bool,
            exit_zero: bool,
            watched: str | None = None,
            **rest: Any,
        ) -> None:
            if as_json and format_ not in (None, "json"):
                raise UsageError(msg("--json and --format {format} contradict each other", format=format_), msg("Give one of them."))
            chosen = "json" if as_json else format_ or "text"
            out = Output(format=chosen, file=file, plot=plot, lang=lang, explain=explain, color=color, quiet=quiet, verbose=verbose, exit_zero=exit_zero)
            run = functools.partial(function, out=out, **rest)
            if watched is None:
                run()
                return
            from serveright.cli.watching import repeat

            repeat(watched, run)

        return again(command) if watch else command

    return decorate


def _models(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Paths of this machine, and ids of the catalogue."""
    from serveright.catalog.models import list_models

    known = [CompletionItem(model.id) for model in list_models() if model.id.lower().startswith(incomplete.lower())]
    return [*known, CompletionItem(incomplete, type="file")]


def _gpus(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys of accelerators, behind a count where one was typed."""
    from serveright.catalog.gpus import gpu_keys

    count, cut, rest = incomplete.partition("x") if incomplete[:1].isdigit() else ("", "", incomplete)
    return [CompletionItem(f"{count}{cut}{key}") for key in gpu_keys() if key.startswith(rest)]


def model_argument(function: Callable[..., None], *, required: bool = True) -> Callable[..., None]:
    """MODEL and --revision."""
    function = click.argument("model", metavar="MODEL" if required else "[MODEL]", required=required, shell_complete=_models)(function)
    return click.option("--revision", help=say(msg("Branch, tag or commit on the Hub.")))(function)


def gpu_options(function: Callable[..., None]) -> Callable[..., None]:
    """--gpu, --gpus, --nodes."""
    function = click.option("--nodes", type=click.IntRange(1), help=say(msg("Number of equal nodes the GPUs are spread over.")))(function)
    function = click.option("--gpus", type=click.IntRange(1), help=say(msg("Number of GPUs where --gpu names only the kind.")))(function)
    return click.option("--gpu", required=True, metavar="GPU", shell_complete=_gpus, help=say(msg("GPUs at hand: 8xh200, h200:8, or h200 with --gpus 8.")))(
        function
    )
