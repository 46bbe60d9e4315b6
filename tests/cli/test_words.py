"""Words of the command line: the language asked for before the verb, click's own phrases, counts of one, reasons where there is no answer."""

import json
import re
from pathlib import Path

import click
import pytest

from serveright.cli.click_words import PHRASES
from serveright.outputs.language import render, translated
from serveright.types.text import msg
from tests.cli.test_comfort import run

INVENTED = {
    "architectures": ["NimbusForCausalLM"], "model_type": "nimbus", "hidden_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
    "head_dim": 128, "intermediate_size": 13824, "vocab_size": 131072, "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
}  # fmt: skip
HANGUL = re.compile(r"[가-힣]")


@pytest.fixture
def invented(tmp_path: Path) -> str:
    file = tmp_path / "nimbus.json"
    file.write_text(json.dumps(INVENTED))
    return str(file)


@pytest.mark.parametrize("words", [("--lang", "ko", "--help"), ("--lang", "ko", "size", "--help"), ("size", "--lang=ko", "--help")])
def test_korean_before_and_behind_the_verb(words: tuple[str, ...]) -> None:
    shown = run(*words).stdout
    assert shown.startswith("사용법: serveright")
    assert not re.search(r"\b(Usage|Options|Commands|Show this|required|default)\b", shown)


def test_errors_of_click_in_korean() -> None:
    for words in (
        ("size",),
        ("size", "x", "--gpu", "h200", "--gpus", "0"),
        ("plan", "x", "--gpux", "3"),
        ("inspect", "a", "b"),
        ("inspect", "x", "--format", "pdf"),
    ):
        done = run(*words, LANG="ko_KR.UTF-8")
        assert done.returncode == 2
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("오류: "), last
        assert HANGUL.search(last.removeprefix("오류: ")), last


def test_click_still_says_what_we_translate() -> None:
    own = {"[OPTIONS]", "COMMAND [ARGS]..."}
    source = "".join(path.read_text(encoding="utf-8") for path in Path(click.__file__).parent.glob("*.py"))
    for phrase in PHRASES:
        assert translated(phrase.template, "ko") != ""
        assert phrase.template in own or phrase.template.replace("\n", "\\n").replace("\t", "\\t").replace("{choices}", "")[:20] in source, phrase


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (msg("blocks of {n:n} tokens", n=1), "blocks of 1 token"),
        (msg("{n} prediction layers, {m} copies", n=1, m=1), "1 prediction layer, 1 copy"),
        (msg("{n:n} tokens", n=21), "21 tokens"),
        (msg("{n:.1f} tokens", n=1.1), "1.1 tokens"),
        (msg("{n:n} tokens", n=1001), "1,001 tokens"),
    ],
)
def test_one_is_singular(text: object, says: str) -> None:
    assert render(text, "en") == says  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("extra", [("-q",), ("--emit", "shell")])
def test_no_command_and_no_silence(invented: str, extra: tuple[str, ...]) -> None:
    done = run("plan", invented, "--gpu", "4xl40s", *extra)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "no class for NimbusForCausalLM" in done.stderr
    assert "serveright size" in done.stderr


def test_a_layout_that_does_not_fit_says_so_quietly() -> None:
    done = run("plan", "deepseek-ai/DeepSeek-V3", "--gpu", "1xl40s", "-q")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") >= 1


def test_one_copy_that_cannot_is_an_answer() -> None:
    done = run("scale", "deepseek-ai/DeepSeek-V3", "--gpu", "1xl40s", "--curve", "0h:2")
    assert done.returncode == 1
    assert "cannot keep the targets" in done.stderr
    assert run("scale", "deepseek-ai/DeepSeek-V3", "--gpu", "1xl40s", "--curve", "0h:2", "--exit-zero").returncode == 0


def test_a_file_is_called_by_its_own_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({**INVENTED, "quantization_config": {"quant_method": "fp8", "weight_block_size": [0]}}))
    done = run("inspect", str(file))
    assert done.returncode == 2
    assert f"{file}: quantization_config" in done.stderr
    assert "config.json" not in done.stderr.splitlines()[0]
