"""`python -m tools.docs [--update]`: run every shown command, compare its output with the page, then build the site.

A page shows a command's output as a fenced block right after `<!-- run: serveright … -->`. Without `--update` a stale block is an error.
`<!-- run(12): … -->` keeps only the first 12 lines; `<!-- fields: VERB -->` stands before the JSON fields of a verb.
"""

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from tools.docs.fields import fields

ROOT = Path(__file__).parents[2]
PAGES = (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "README.ko.md")
_SHOWN = re.compile(r"<!-- run(?:\((?P<lines>\d+)\))?: (?P<command>[^\n]+?) -->\n```(?P<language>\w*)\n(?P<output>.*?)```", re.DOTALL)
_FIELDS = re.compile(r"(?P<head><!-- fields: (?P<verb>[\w-]+) -->\n```\w*\n).*?```", re.DOTALL)


def shown_commands(page: str) -> list[str]:
    """The commands of a page's run blocks."""
    return [match["command"] for match in _SHOWN.finditer(page)]


@cache
def output(command: str) -> list[str]:
    """The lines a `serveright …` command prints, as in a pipe, English unless it says otherwise."""
    words = shlex.split(command)
    if words[0] != "serveright":
        raise SystemExit(f"docs may only run serveright, not {command!r}")
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'serveright'; from serveright.cli.main import main; main()", *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**{k: v for k, v in os.environ.items() if k != "COLUMNS"}, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "HF_HUB_OFFLINE": "1", "NO_COLOR": "1"},
    )
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stderr}")
    return done.stdout.rstrip("\n").split("\n")


def renewed(page: str) -> str:
    """The page with every output as the command prints it today."""

    def run(match: re.Match[str]) -> str:
        head = match[0][: match[0].index("```")]
        lines = output(match["command"])[: int(match["lines"]) if match["lines"] else None]
        return f"{head}```{match['language']}\n" + "\n".join(lines) + "\n```"

    return _FIELDS.sub(lambda m: f"{m['head']}{fields(m['verb'])}```", _SHOWN.sub(run, page))


def main() -> int:
    """Check or update the pages, then build the site with every warning an error."""
    stale: list[str] = []
    commands = dict.fromkeys(command for path in PAGES for command in shown_commands(path.read_text(encoding="utf-8")))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(output, commands))
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        fresh = renewed(text)
        if fresh != text:
            stale.append(str(path.relative_to(ROOT)))
            if "--update" in sys.argv:
                path.write_text(fresh, encoding="utf-8")
    checked = subprocess.run([sys.executable, "-m", "tools.man", *([] if "--update" in sys.argv else ["--check"])], cwd=ROOT, check=False)
    if checked.returncode:
        stale.append("man/serveright.1")
    if stale and "--update" not in sys.argv:
        print("stale output, run `python -m tools.docs --update`:", *stale, sep="\n  ")
        return 1
    return subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
