from msgspec import Struct

from serveright.outputs import json
from serveright.types.reports import AttentionEntry, InspectReport
from serveright.types.text import Msg, msg


class Inner(Struct, frozen=True):
    text: Msg
    number: float


def test_messages_become_prose_and_infinity_null() -> None:
    assert json.plain({"a": (Inner(msg("{n} layers", n=2), float("inf")),)}, "en") == {"a": [{"text": "2 layers", "number": None}]}


def test_keys_that_do_not_apply_are_left_out() -> None:
    assert json.plain(AttentionEntry(kind="full", layers=2, cache_layers=2, kv_heads=4), "en") == {
        "kind": "full",
        "layers": 2,
        "cache_layers": 2,
        "kv_heads": 4,
    }


def test_the_schema_calls_messages_strings() -> None:
    assert json.schema(InspectReport)["$defs"]["Msg"]["type"] == "string"
