"""The manual page knows every verb, and roff reads it without a complaint."""

import re
import shutil
import subprocess

import click
import pytest

from serveright.cli.main import cli
from tests.conftest import ROOT

PAGE = ROOT / "man" / "serveright.1"


def verbs() -> dict[str, click.Command]:
    context = click.Context(cli)
    return {name: command for name in cli.list_commands(context) if (command := cli.get_command(context, name)) is not None}


def test_every_verb_has_its_section() -> None:
    """That each word is fresh is `make docs`' business, which renews it as it renews the pages."""
    sections = set(re.findall(r"^\.SS (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert sections == {name for name, command in verbs().items() if not command.hidden}


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff on this machine")
def test_roff_has_no_complaint() -> None:
    run = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", str(PAGE)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
