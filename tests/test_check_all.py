"""The whole catalogue's check is the single checks, one after the other, and quick."""

import time

import pytest
from click.testing import CliRunner

from serveright import api
from serveright.catalog.models import list_models
from serveright.cli.verbs.check import command
from serveright.errors import UsageError


@pytest.fixture(scope="module")
def table():
    return api.check_all("h200", engine="both")


def test_every_model_of_the_catalogue_has_an_answer_of_both_engines(table):
    assert [m.id for m in table.models] == [m.id for m in list_models()]
    assert all([c.engine for c in m.engines] == ["vllm", "sglang"] for m in table.models)


def test_the_answers_are_those_of_a_single_check(table):
    for model in table.models[::40]:
        assert api.check(model.id, "h200").engines == model.engines


def test_the_whole_catalogue_takes_seconds(table):
    before = time.process_time()
    api.check_all("h200")
    assert time.process_time() - before < 6, "measured 1.6-2.2 s of CPU on a loaded machine; benchmarks/loading.py prints the ratio"


@pytest.mark.parametrize("arguments", [["--gpu", "h200"], ["Qwen/Qwen3-8B", "--all", "--gpu", "h200"]])
def test_it_is_one_model_or_all(arguments):
    result = CliRunner().invoke(command, arguments)
    assert isinstance(result.exception, UsageError)


def test_one_line_a_model():
    result = CliRunner().invoke(command, ["--all", "--gpu", "h200", "--engine", "vllm", "-q"])
    assert result.exit_code == 0
    assert len(result.output.splitlines()) == len(list_models())
