"""The docs name every verb, show only commands that exist, link to what is there, and say in Korean what they promise. `make docs` runs the commands themselves."""

import re
import shlex
from pathlib import Path

import click
import pytest

from serveright.catalog.engines import versions
from serveright.catalog.gpus import gpu_keys
from serveright.catalog.models import list_models
from serveright.cli.main import cli
from serveright.outputs.emit import formats
from serveright.outputs.json import reports
from tests.conftest import ROOT
from tools.docs.__main__ import PAGES, shown_commands
from tools.docs.fields import fields


def typed(page: str) -> set[str]:
    """Commands a page tells its reader to type, in blocks or in the text."""
    own = re.sub(r"<!-- (?:run|fields).*?-->\n```.*?```", "", page, flags=re.DOTALL)
    blocks = "\n".join(re.findall(r"```\w*\n(.*?)```", own, re.DOTALL))
    return {*re.findall(r"^serveright [a-z][^\n]*", blocks, re.MULTILINE), *re.findall(r"`(serveright [a-z][^`]*)`", own)}


DOCS = ROOT / "docs"
KOREAN = (
    "tutorial/six-steps",
    "explanation/topics",
    "explanation/beliefs",
    "explanation/choosing",
    "explanation/glossary",
    "how-to/audit-a-command",
    "how-to/diagnose",
    "how-to/page-pictures-agents",
    "how-to/deploy",
    "how-to/several-nodes",
    "how-to/audit-a-fleet",
    "how-to/place-models",
    "how-to/scale-with-load",
    "how-to/add-facts",
    "index",
)
SHOWN = sorted({command for path in PAGES for command in shown_commands(path.read_text(encoding="utf-8"))})
TYPED = sorted({command for path in PAGES for command in typed(path.read_text(encoding="utf-8"))})
LINK = re.compile(r"\]\(([^)\s]+)\)")
HANGUL = re.compile(r"[가-힣]")


def context() -> click.Context:
    return click.Context(cli, info_name="serveright")


def verbs() -> list[str]:
    return cli.list_commands(context())


def test_every_verb_is_documented() -> None:
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)$", page, re.MULTILINE) != []
    assert set(re.findall(r"^## (\S+)$", page, re.MULTILINE)) == set(verbs())
    assert {f"serveright {verb} --help" for verb in verbs()} <= set(SHOWN)


def test_every_report_is_documented() -> None:
    page = (DOCS / "reference" / "json.md").read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- fields: ([\w-]+) -->", page)) == {*reports(), "shared"}


@pytest.mark.parametrize("command", SHOWN)
def test_shown_commands_parse(command: str) -> None:
    _, verb, *words = shlex.split(command)
    made = cli.get_command(context(), verb)
    assert made is not None, f"there is no verb {verb}"
    made.make_context(verb, [word for word in words if word != "--help"], parent=context(), resilient_parsing="--help" in words).close()


@pytest.mark.parametrize("command", TYPED)
def test_commands_to_type_parse(command: str) -> None:
    _, verb, *words = shlex.split(command, comments=True)
    made = cli.get_command(context(), verb)
    assert made is not None, f"there is no verb {verb}"
    try:
        made.make_context(verb, words, parent=context(), resilient_parsing=not words or "--help" in words).close()
    except click.BadParameter as error:
        if "does not exist" not in error.message:  # only the reader's own files may be missing
            raise


@pytest.mark.parametrize("page", KOREAN)
def test_both_languages_exist_with_the_same_parts(page: str) -> None:
    english, korean = ((DOCS / f"{page}{ending}").read_text(encoding="utf-8") for ending in (".md", ".ko.md"))
    assert len(HANGUL.findall(korean)) > 200
    assert len(re.findall(r"^## ", english, re.MULTILINE)) == len(re.findall(r"^## ", korean, re.MULTILINE))
    assert [c.replace(" --lang ko", "") for c in shown_commands(korean)] == shown_commands(english)


def test_no_korean_page_is_forgotten_in_the_list() -> None:
    assert {str(path.relative_to(DOCS)).removesuffix(".ko.md") for path in DOCS.rglob("*.ko.md")} == set(KOREAN)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)):
        if not re.match(r"[a-z]+:|#", target):
            found = path.parent / target.partition("#")[0]
            assert found.exists(), f"{path.name} links to {target}"


def test_every_page_is_linked_from_another() -> None:
    linked = {
        (path.parent / target.partition("#")[0]).resolve()
        for path in PAGES
        for target in LINK.findall(path.read_text(encoding="utf-8"))
        if not target.startswith("http")
    }
    assert not {path.resolve() for path in DOCS.rglob("*.md")} - linked - {DOCS / "index.md"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_holds_a_path_of_the_machine_that_made_it(path: Path) -> None:
    assert not re.search(r"/(?:home|root|work|Users)/\w", path.read_text(encoding="utf-8"))


def test_the_python_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / "reference" / "python-api.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "python-api.md", "exec"), {})
    assert "vllm serve" in (out := capsys.readouterr().out) or "sglang" in out


def test_every_emit_format_is_documented() -> None:
    page = (DOCS / "how-to" / "deploy.md").read_text(encoding="utf-8")
    assert not [name for name in formats() if f"`{name}`" not in page]


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_the_front_page_counts_what_there_is(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    releases = len(versions("vllm")) + len(versions("sglang"))
    for count in (len(gpu_keys()), releases, len(list_models())):
        assert re.search(rf"(?<![\d,]){count}(?![\d,])", page), f"{name} does not say {count}"


def test_fields_tell_what_stands_inside() -> None:
    told = fields("size").splitlines()
    assert "context_tokens: integer" in told
    assert "    bytes_per_block: integer" in [line[2:] for line in told]
    assert "overhead_range_bytes: [integer, integer]?" in fields("size")
    assert "Derivation\n  name: string" in fields("shared")
