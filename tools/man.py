"""`python -m tools.man`: the manual page of every verb, from the verbs themselves, as man/serveright.1."""

import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

PAGE = Path(__file__).parent.parent / "man" / "serveright.1"
EXITS = (
    (0, "fine"),
    (1, "the answer is a no: findings at or above \\-\\-fail\\-on, does not fit, blocked on every engine, nothing feasible"),
    (2, "bad usage or unreadable input, with one message and the way out"),
    (130, "interrupted"),
)


def page() -> str:
    """The whole page as roff, in English, whatever the locale."""
    os.environ["LANG"] = os.environ["LC_ALL"] = "C"
    from serveright import __version__
    from serveright.cli.main import cli

    context = click.Context(cli, info_name="serveright")
    lines = [
        f'.TH SERVERIGHT 1 "" "serveright {__version__}" "User Commands"',
        ".SH NAME",
        f"serveright \\- {_text('derive, check and explain how to serve a language model')}",
    ]
    lines += [".SH SYNOPSIS", ".B serveright", ".I VERB", "[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]", ".SH DESCRIPTION", _text(cli.help or ""), ".SH VERBS"]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            lines += _verb(name, command, context)
    lines += [".SH EXIT STATUS", *(line for code, meaning in EXITS for line in (".TP", f"\\fB{code}\\fR", meaning))]
    lines += [
        ".SH ENVIRONMENT",
        ".TP",
        ".B HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME",
        "As for every tool of the Hub; read only where a Hub id is asked for.",
    ]
    lines += [
        ".TP",
        ".B NO_COLOR, FORCE_COLOR",
        "Colour off, on; \\-\\-color wins.",
        ".TP",
        ".B _SERVERIGHT_COMPLETE",
        "bash_source, zsh_source or fish_source print the completion.",
    ]
    return "\n".join(lines) + "\n"


def _verb(name: str, command: click.Command, above: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=above)
    pieces = " ".join(command.collect_usage_pieces(context))
    yield from (f".SS {name}", f".B serveright {_text(name)}", _text(pieces), ".PP", _text(inspect.cleandoc(command.help or "")))
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            yield from (".TP", f"\\fB{_text(record[0])}\\fR", _text(record[1]))


def _text(text: str) -> str:
    """Roff's own characters made harmless."""
    quiet = text.replace("\\", "\\e").replace("-", "\\-").replace("\n\n", "\n.PP\n")
    quiet = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in quiet)
    return "\n".join(f"\\&{line}" if line.startswith(("'", ".")) and line != ".PP" else line for line in quiet.splitlines())


def main() -> None:
    """Write the page; `--check` only compares."""
    text = page()
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == text else "man/serveright.1 is not what the verbs say: python -m tools.man")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
