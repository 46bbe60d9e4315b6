import contextlib
import io
import json
import pickle
import struct
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serveright.errors import InputError, UnknownName, UserError
from serveright.readers.json_object import LIMIT_BYTES, parse_object, too_large
from serveright.readers.model import read_model_files
from serveright.types.source import ModelFiles
from tests.budget import examples

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "time_step_limit": [0.0, float("inf")]}


def nothing(_: str) -> None:
    return None


def refusal(text: str, **options: object) -> InputError:
    with pytest.raises(InputError) as caught:
        read_model_files(text, find_in_catalogue=nothing, **options)
    return caught.value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def test_a_folder_brings_what_lies_beside_the_config(folder: Path) -> None:
    (folder / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    (folder / "generation_config.json").write_text('{"top_p": 0.9}')
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 10}')
    (folder / "preprocessor_config.json").write_text('{"patch_size": 14}')
    (folder / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 123}}')
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "README.md").write_text("# A model")
    files = read_model_files(str(folder))
    assert files.config == CONFIG
    assert files.hf_quant_config["quantization"] == {"quant_algo": "FP8"}
    assert files.generation_config == {"top_p": 0.9}
    assert files.tokenizer_config == {"model_max_length": 10}
    assert files.preprocessor_config == {"patch_size": 14}
    assert files.safetensors_index["metadata"]["total_size"] == 123
    assert files.chat_template == "{{ messages }}"
    assert files.card == "# A model"
    assert files.id == str(folder)
    assert read_model_files(str(folder / "config.json")).hf_quant_config == files.hf_quant_config


def test_a_config_of_any_other_name_stands_alone(folder: Path) -> None:
    (folder / "README.md").write_text("# not about this file")
    other = folder / "mine.json"
    other.write_text(json.dumps(CONFIG))
    assert read_model_files(str(other)).card is None


def test_a_single_safetensors_file_gives_its_size_from_the_header(folder: Path) -> None:
    header = json.dumps({"a.weight": {"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 64]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(64))
    assert read_model_files(str(folder)).safetensors_index == {"metadata": {"total_size": 64}, "weight_map": {"a.weight": "model.safetensors"}}
    (folder / "model.safetensors").write_bytes(b"\xff" * 20)
    assert "no safetensors header" in refusal(str(folder)).message.template


def test_stdin() -> None:
    files = read_model_files("-", stdin=io.BytesIO(json.dumps(CONFIG).encode()))
    assert files.config == CONFIG
    assert files.id == "stdin"


def test_the_order_is_local_path_then_catalogue(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = ModelFiles(id="org/name", origin="catalogue", config={"from": "catalogue"})
    assert read_model_files("org/name", find_in_catalogue=lambda _: known) is known
    monkeypatch.chdir(folder)
    (folder / "org" / "name").mkdir(parents=True)
    (folder / "org" / "name" / "config.json").write_text('{"from": "folder"}')
    assert read_model_files("org/name", find_in_catalogue=lambda _: known).config == {"from": "folder"}


def test_a_known_model_by_id_and_alias() -> None:
    by_id = read_model_files("Qwen/Qwen3-8B")
    assert by_id.config["architectures"] == ["Qwen3ForCausalLM"]
    assert read_model_files("qwen3-8b") == by_id
    with pytest.raises(UnknownName) as caught:
        read_model_files("qwen3-8bb")
    assert "qwen3-8b" in caught.value.suggestions


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b'{"a": 1', "ends too early"),
        (b'{"a": "b', "ends too early"),
        (b'{"a": 1,\n "b": tru}', "no JSON"),
        (b"[1, 2]", "but a config is a JSON object"),
        (b'"text"', "but a config is a JSON object"),
        (b"3", "but a config is a JSON object"),
        (b"null", "but a config is a JSON object"),
        (b'{"a": NaN}', "{why}"),
        (b'{"a": 1, "a": 2}', "{why}"),
        (b'{"a": ' * 500 + b"1" + b"}" * 500, "levels deep"),
        (b'{"a":' + b"[" * 100_000, "levels deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too long"),
        (b'{"a": "\\ud800"}', "half a character"),
        (b"GGUF\x03\x00\x00\x00", "{what}"),
        (b"PK\x03\x04rest", "{what}"),
        (pickle.dumps({"a": 1}), "{what}"),
        (struct.pack("<Q", 20) + b'{"a.weight": {}}    ', "safetensors"),
        (b"\xff\xfe\x00", "UTF-16"),
        (b'{"a": "\x00"}', "binary"),
        (json.dumps({"a": 1}).encode("utf-16"), "UTF-16"),
        (b"{\xff}", "not text"),
    ],
)
def test_what_is_no_config_gets_one_clear_message(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content)
    error = refusal(str(file))
    assert words in error.message.template
    assert "config.json" in str(error.message.values)


def test_a_cut_off_file_names_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"a": 1,\n "b": [1, 2')
    values = refusal(str(file)).message.values
    assert (values["line"], values["column"]) == (2, 12)


def test_nan_and_twice_say_why(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        parse_object(b'{"hidden_size": 1, "hidden_size": 2}', "config.json")
    assert caught.value.message.values["why"].values == {"key": "hidden_size"}


def test_a_byte_order_mark_is_no_fault() -> None:
    assert parse_object(b'\xef\xbb\xbf{"a": 1}', "config.json") == {"a": 1}


def test_an_absurdly_large_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    with file.open("wb") as stream:
        stream.truncate(LIMIT_BYTES + 1)
    assert refusal(str(file)).message.values["size"] == LIMIT_BYTES + 1
    assert "{limit:gib}" in refusal("-", stdin=io.BytesIO(b" " * (LIMIT_BYTES + 1))).message.template


@pytest.mark.parametrize("text", ["/nowhere/config.json", "./absent", "absent.gguf", "a/b/c", "~/absent-folder-of-nobody"])
def test_a_missing_path_is_no_hub_id(text: str) -> None:
    assert "no such file" in refusal(text).message.template


@pytest.mark.parametrize(
    ("inside", "hint"),
    [
        ("model-Q4_K_M.gguf", "GGUF"),
        ("adapter_config.json", "adapter"),
        ("params.json", "Mistral"),
        ("sub/config.json", "There is one in {names}."),
        ("other.txt", "Give the folder"),
    ],
)
def test_a_folder_without_config_says_what_to_do(tmp_path: Path, inside: str, hint: str) -> None:
    (tmp_path / inside).parent.mkdir(exist_ok=True)
    (tmp_path / inside).write_text("{}")
    error = refusal(str(tmp_path))
    assert "has no config.json" in error.message.template
    assert error.fix is not None
    assert hint in error.fix.template


@pytest.mark.parametrize("name", ["model.safetensors", "model.gguf", "pytorch_model.bin"])
def test_weights_are_no_config(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"GGUF")
    assert "holds weights" in refusal(str(tmp_path / name)).message.template


def test_a_broken_file_beside_the_config_is_named(folder: Path) -> None:
    (folder / "hf_quant_config.json").write_text("{")
    assert "hf_quant_config.json" in str(refusal(str(folder)).message.values["file"])


@settings(max_examples=examples(300), deadline=None)
@given(st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode), st.text('{}[]":,1aeE.-\\ud\n', max_size=40).map(str.encode)))
def test_any_bytes_give_an_object_or_one_user_error(data: bytes) -> None:
    with contextlib.suppress(UserError):
        assert isinstance(parse_object(data, "config.json"), dict)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
        max_leaves=20,
    )
)
def test_every_object_reads_as_written(value: object) -> None:
    assert parse_object(json.dumps({"a": value}).encode(), "config.json") == {"a": value}


def test_a_key_that_stands_twice_among_many_is_found_at_once() -> None:
    many = ",".join(f'"k{n}":{n}' for n in range(200_000))
    started = time.process_time()
    with pytest.raises(InputError) as caught:
        parse_object(f'{{{many},"k199999":1}}'.encode(), "many.json")
    assert "twice" in str(caught.value.message.values["why"])
    assert time.process_time() - started < 5


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no endless device here")
def test_an_endless_file_is_refused_at_the_limit() -> None:
    assert refusal("/dev/zero").message.template == too_large("", 1).message.template


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_name_is_told_as_such(text: str) -> None:
    assert "empty" in refusal(text).message.template


@pytest.mark.parametrize("text", ["/" + "b" * 5_000, "~nobody-of-that-name/config.json"])
def test_a_name_no_path_can_have_is_no_path(text: str) -> None:
    assert "no such file" in refusal(text).message.template
