"""A command's flags by name: every occurrence in order, the last one counts, dotted and short forms included."""

from serveright.analysis.given import Given
from tests.readers.tables import READER, table


def given(text: str) -> Given:
    return Given(READER.bytes(text.encode(), "run.sh").commands[0], table("vllm", None))


def test_occurrences_in_order() -> None:
    found = given("vllm serve m --port 1 --tensor-parallel-size 2 -tp 4 --port 3")
    assert [flag.value for flag in found.flags("--tensor-parallel-size")] == ["2", "4"]
    assert [flag.value for flag in found.flags("--port", "--tensor-parallel-size")] == ["1", "2", "4", "3"]
    assert found.value("--port") == "3"


def test_dotted_and_unknown() -> None:
    found = given("vllm serve m --speculative-config.method mtp --strange 1")
    assert found.json("--speculative-config") == {"method": "mtp"}
    assert found.has("--strange")
    assert not found.has("--speculative")
