"""Any value of a flag survives every format: quotes, blanks, JSON, dollars."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from serveright.outputs import emit
from serveright.types.design import FlagChoice
from serveright.types.text import msg
from tests.budget import examples
from tests.emit.designs import design
from tests.emit.test_law import read

FORMATS = ("shell", "docker", "compose", "kubernetes", "kserve", "kserve-llm", "llm-d", "slurm", "leaderworkerset", "data-parallel-external")
TEXT = st.text(alphabet="ab1 '\"{}[]:,/._$#&|;\\<>*?!-", min_size=1, max_size=30).filter(
    lambda text: text.strip() == text and not text.startswith("-") and "{{" not in text
)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=examples(40), deadline=None)
@given(value=TEXT)
def test_values_survive(format: str, value: str) -> None:
    made = design("wide" if format in ("slurm", "leaderworkerset", "data-parallel-external") else "one-gpu")
    flag = FlagChoice(flag="--chat-template", value=value, why=msg("asked for"))
    roles = tuple(replace(role, launch=replace(role.launch, flags=(*role.launch.flags, flag))) for role in made.roles)
    commands = read(emit.emit(format, replace(made, roles=roles)))
    assert commands
    for command in commands:
        found = [given.value for given in command.flags if given.name == "--chat-template"]
        assert found == [value]
