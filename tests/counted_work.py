"""Counts what one command does, in a fresh interpreter: `python -m tests.counted_work WORD...` prints the counts as JSON.

Counted are lines and function calls of the product's own code, data files it opens and modules it imports: the same on every machine,
and within 2 % of each other on Python 3.11, 3.12 and 3.13 (comprehensions are functions in the first only, so their frames are left out).
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
COMPREHENSIONS = {"<listcomp>", "<dictcomp>", "<setcomp>"}


class Work(NamedTuple):
    """What one command did."""

    lines: int
    calls: int
    files: int
    modules: int


def work(*words: str) -> Work:
    """The counts of `serveright WORDS`; raises where the command fails."""
    done = subprocess.run([sys.executable, "-m", "tests.counted_work", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return Work(**json.loads(done.stdout))


def count(words: list[str]) -> Work:
    """Run the command in this process, its output dropped."""
    import serveright
    from serveright.cli.main import cli

    own = str(Path(serveright.__file__).parent)
    counted = {"lines": 0, "calls": 0, "files": 0}

    def line(_frame: FrameType, event: str, _value: object) -> Any:
        counted["lines"] += event == "line"
        return line

    def call(frame: FrameType, _event: str, _value: object) -> Any:
        if not frame.f_code.co_filename.startswith(own):
            return None
        counted["calls"] += frame.f_code.co_name not in COMPREHENSIONS
        return line

    def opened(event: str, given: tuple[object, ...]) -> None:
        counted["files"] += event == "open" and str(given[0]).startswith(own) and not str(given[0]).endswith((".py", ".pyc"))

    sys.addaudithook(opened)
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        sys.settrace(call)
        try:
            cli.main(words, standalone_mode=False)
        except SystemExit as end:
            if end.code not in (0, 1):
                raise
        finally:
            sys.settrace(None)
    return Work(**counted, modules=sum(name.partition(".")[0] == "serveright" for name in sys.modules))


if __name__ == "__main__":
    print(json.dumps(count(sys.argv[1:])._asdict()))
