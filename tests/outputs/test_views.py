"""Views over reports: what a reader meets, line by line."""

import json
import re
import time
from pathlib import Path

import pytest

from serveright import api
from serveright.errors import InputError
from serveright.outputs import markdown, text
from serveright.outputs.json import plain
from serveright.outputs.views import audit, inspect, size
from serveright.types.audit_reports import AuditReport, Deployed
from serveright.types.report import Finding, Location
from serveright.types.source import ModelFiles
from serveright.types.text import msg
from tests.conftest import ROOT

CONFIG = json.loads((ROOT / "tests/data/qwen3_8b.json").read_text())


def shown(document: object) -> str:
    return text.document(document, text.Options())  # pyright: ignore[reportArgumentType]


def files(**changes: object) -> ModelFiles:
    return ModelFiles(id="mine", origin="mine", config={**CONFIG, **changes})


def command(line: int, column: int = 1, file: str = "a.sh") -> Deployed:
    place = Location(file=file, line=line, column=column)
    return Deployed(engine="vllm", version="0.33.0", version_known=True, model=f"m{line}.{column}", model_known=True, gpu=None, gpu_count=None, location=place)


def finding(line: int, column: int = 1, file: str = "a.sh") -> Finding:
    return Finding(
        code="X01", name="x", severity="note", effect="slow", confidence="certain",
        location=Location(file=file, line=line, column=column), message=msg("at {place}", place=f"{file} {line}.{column}"), why=msg("w"),
    )  # fmt: skip


def test_each_finding_stands_under_its_own_command_once() -> None:
    report = AuditReport(
        deployments=(command(3), command(3, 40), command(9), command(1, file="b.sh")),
        findings=(finding(1), finding(3, 20), finding(3, 41), finding(8), finding(9), finding(5, file="b.sh")),
    )
    page = shown(audit.document(report))
    parts = page.split("\n\n")[1:]
    assert [part.count("at a.sh") + part.count("at b.sh") for part in parts] == [2, 2, 1, 1]
    assert "at a.sh 8.1" in parts[1]
    assert "a model not named" not in page
    assert "GPUs not named" in page


def test_many_commands_of_one_file_are_shown_in_linear_time() -> None:
    report = AuditReport(deployments=tuple(map(command, range(1, 5_001))), findings=tuple(map(finding, range(1, 5_001))))
    started = time.process_time()
    audit.document(report)
    assert time.process_time() - started < 5


def test_layers_unknown_for_one_reason_are_one_line() -> None:
    layers = CONFIG["num_hidden_layers"]
    page = shown(inspect.document(api.inspect(files(layer_types=["magic_attention"] * layers))))
    assert page.count("magic_attention is not known") == 1
    assert f"layer_types[0] to layer_types[{layers - 1}], {layers} in all" in page


def test_names_the_config_does_not_give_leave_no_empty_brackets() -> None:
    assert "()" not in shown(inspect.document(api.inspect(files(model_type=""))))


def test_an_engine_that_refuses_prints_no_capacity_line() -> None:
    runs = api.size(files(), "h200", context_tokens=1_000, engine="vllm")
    assert "the engine will print" in shown(size.document(runs))
    refuses = api.size(files(num_hidden_layers=400), "t4", context_tokens=1_000, engine="vllm")
    page = shown(size.document(refuses))
    assert "refuses to start" in page
    assert "the engine will print" not in page


def test_a_server_that_starts_and_turns_the_request_away_says_both() -> None:
    report = api.size(files(max_position_embeddings=4_000_000), "h200", context_tokens=3_000_000, engine="sglang")
    page = shown(size.document(report))
    assert "starts and then turns such a request away" in page
    assert "refuses to start" not in page
    assert "max_total_num_tokens=" in page


def test_direction_marks_and_invisible_characters_are_shown() -> None:
    assert text.safe("a\u202eb\u200fc\u200bd\u2028e\ufefff\x9bg") == "a\\u202eb\\u200fc\\u200bd\\u2028e\\ufefff\\x9bg"


def test_only_what_an_engine_could_load_stands_in_a_command() -> None:
    from serveright.api.loading import served_name
    from serveright.readers.model import assemble

    assert served_name(assemble("stdin", "stdin", {"config.json": b"{}"})) == "MODEL"
    names = {"org/name": "org/name", "models/x": "models/x", "models/x/config.json": "models/x", "config.json": ".", "models/renamed.json": "MODEL"}
    for given, served in names.items():
        assert served_name(ModelFiles(id=given, origin=given, config={})) == served


def test_check_names_engines_as_the_contract_does() -> None:
    report = plain(api.check(files(), "h200"), "en")
    assert [engine["name"] for engine in report["engines"]] == ["vllm", "sglang"]


def test_a_rule_is_told_in_the_language_asked_for() -> None:
    from serveright.api import rulebook

    english, korean = rulebook.rules("KV05").rules[0], rulebook.rules("KV05", "ko").rules[0]
    assert "## What it catches" in english.page
    assert re.search(r"[가-힣]", korean.title)
    assert korean.page.startswith(korean.title)


def test_markdown_has_no_empty_names_and_shows_the_numbers_of_a_formula() -> None:
    page = markdown.document(size.document(api.size(files(), "h200", context_tokens=1_000, engine="vllm")), "en")
    assert "****" not in page
    assert "**  " not in page
    assert "kv_layers * kv_row_bytes = 36 * 4,096 = 147,456 B/token`" in page


def test_what_is_not_understood_fits_on_no_engine() -> None:
    for changes in ({"layer_types": ["magic_attention"] * CONFIG["num_hidden_layers"]}, {"torch_dtype": "float8_e4m3fn", "dtype": "float8_e4m3fn"}):
        report = api.size(files(**changes), "8xh200", context_tokens=4_096, engine="sglang")
        assert not report.results[0].fits
        assert "unknown here" in shown(size.document(report)) or "float8_e4m3fn" in shown(size.document(report))


def test_what_could_not_be_read_is_told_with_its_file_and_alone_is_no_success(tmp_path: Path) -> None:
    from serveright.api import auditing

    broken, good = tmp_path / "broken.yaml", tmp_path / "good.sh"
    broken.write_text("image: vllm\nargs: [--model, {\n")
    good.write_text("vllm serve Qwen/Qwen3-8B\n")
    with pytest.raises(InputError) as caught:
        auditing.audit([str(broken)])
    assert "broken.yaml" in str(caught.value.message.values["file"])
    report = auditing.audit([str(tmp_path)])
    assert len(report.deployments) == len(report.unread) == 1
