"""The manual page is what the verbs say, and roff reads it without a complaint."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

PAGE = ROOT / "man" / "serveright.1"


def test_the_page_is_fresh() -> None:
    run = subprocess.run([sys.executable, "-m", "tools.man", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff on this machine")
def test_roff_has_no_complaint() -> None:
    run = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", str(PAGE)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
