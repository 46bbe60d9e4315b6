"""Click's own words in the language of the process: click asks module-level functions for every phrase, and those are replaced here."""

import sys
from collections.abc import Callable
from typing import Any

from serveright.outputs.language import translated
from serveright.types.text import msg

PHRASES = (
    msg("Usage:"),
    msg("Options"),
    msg("Commands"),
    msg("Positional arguments"),
    msg("[OPTIONS]"),
    msg("COMMAND [ARGS]..."),
    msg("Show this message and exit."),
    msg("Show the version and exit."),
    msg("%(prog)s, version %(version)s"),
    msg("Try '{command} {option}' for help."),
    msg("Error: {message}"),
    msg("default: {default}"),
    msg("required"),
    msg("No such option {name!r}."),
    msg("Did you mean {possibility}?"),
    msg("(Did you mean one of: {possibilities}?)"),
    msg("Missing argument"),
    msg("Missing option"),
    msg("Missing parameter"),
    msg("Choose from:\n\t{choices}"),
    msg("Invalid value: {message}"),
    msg("Invalid value for {param_hint}: {message}"),
    msg("Got unexpected extra argument ({args})"),
    msg("Got unexpected extra arguments ({args})"),
    msg("Option {name!r} does not take a value."),
    msg("Option {name!r} requires an argument."),
    msg("Option {name!r} requires {nargs} arguments."),
    msg("{value!r} is not {choice}."),
    msg("{value!r} is not one of {choices}."),
    msg("{value!r} is not a valid {number_type}."),
    msg("{value} is not in the range {range}."),
    msg("{name} {filename!r} does not exist."),
    msg("{name} {filename!r} is a directory."),
    msg("{name} {filename!r} is a file."),
    msg("{name} {filename!r} is not readable."),
    msg("{name} {filename!r} is not writable."),
    msg("File"),
    msg("Directory"),
    msg("Path"),
    msg("Aborted!"),
)
"""What click says to users of this program; in the catalogue like every other text."""
MODULES = ("core", "decorators", "exceptions", "formatting", "parser", "types", "_textwrap")


def speak(lang: str) -> None:
    """Let click say its phrases in `lang` and count the cells of wide letters; English needs nothing."""
    if lang == "en":
        return
    from serveright.outputs.text import width

    def one(text: str) -> str:
        return translated(text, lang)

    def counted(single: str, plural: str, n: int) -> str:
        return translated(single if n == 1 else plural, lang)

    own: dict[str, Callable[..., Any]] = {"_": one, "ngettext": counted, "term_len": width}
    for name in MODULES:
        module = vars(sys.modules[f"click.{name}"]) if f"click.{name}" in sys.modules else {}
        module.update({key: value for key, value in own.items() if key in module})
