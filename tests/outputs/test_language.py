import subprocess
import sys

import pytest

from serveright.outputs.language import default_language, render
from serveright.types.text import msg
from tests.conftest import ROOT


def test_specs_and_nested_messages() -> None:
    assert (
        render(msg("{a:gib} of {b:n}, {c:pct}, {d:s}: {e}", a=3 * 2**30, b=12345, c=0.25, d=0.0125, e=msg("{n} x", n=1)), "en")
        == "3.000 GiB of 12,345, 25.0%, 12.5 ms: 1 x"
    )


def test_a_missing_value_is_our_bug() -> None:
    with pytest.raises(KeyError):
        render(msg("{absent}"), "en")


@pytest.mark.parametrize(
    ("environment", "lang"), [({"LANG": "ko_KR.UTF-8"}, "ko"), ({"LANG": "C"}, "en"), ({"LC_ALL": "en_US", "LANG": "ko_KR"}, "en"), ({}, "en")]
)
def test_language_follows_the_locale(environment: dict[str, str], lang: str) -> None:
    assert default_language(environment) == lang


def test_the_korean_catalogue_is_complete_and_compiled() -> None:
    before = (ROOT / "src/serveright/locale/ko.mo").read_bytes()
    done = subprocess.run([sys.executable, "-m", "tools.locale"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert (ROOT / "src/serveright/locale/ko.mo").read_bytes() == before, "run `make locale` and commit ko.mo"
