"""Whatever is handed in as evidence, readers answer or refuse in words; they never fail otherwise and never obey."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from serveright.errors import UserError
from serveright.readers.benchmark import parse_benchmark
from serveright.readers.echo import command_of_echo
from serveright.readers.engine_log import clean, read_text
from serveright.readers.log_lines import needles
from serveright.readers.metrics import parse_metrics
from serveright.readers.nvidia_smi import parse_smi
from serveright.readers.prometheus import scrapes
from serveright.readers.symptom_text import read_symptom
from tests.budget import examples

FRAGMENTS = st.sampled_from(
    [needle.text.decode() for needle in needles()] + ["non-default args: {", "ServerArgs(", "\x1b[31m", "\x00", "\r\n", '{"data":{"result":[', "1e999", "NaN"]
)
TEXT = st.lists(st.one_of(FRAGMENTS, st.text(max_size=40)), max_size=12).map(" ".join)


@settings(deadline=None, max_examples=examples(150))
@given(TEXT)
def test_any_text(text: str) -> None:
    log = read_text(text, "x")
    assert all("\x1b" not in str(sign.text) and "\x00" not in str(sign.text) for sign in (*log.signs, *log.errors))
    parse_smi(text)
    read_symptom(text)
    command_of_echo(text)
    parse_benchmark(text)
    for reader in (parse_metrics, scrapes):
        with suppress(UserError):
            reader(text, "x")


@given(st.binary(max_size=400))
def test_any_bytes_become_harmless(raw: bytes) -> None:
    assert not any(ord(c) < 32 and c not in "\t\n" for c in clean(raw))
