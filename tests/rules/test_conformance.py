"""Each rule keeps the form all rules keep, its bad examples fire and its good ones do not."""

import re
from pathlib import Path

import pytest

import serveright
from serveright.rules.registry import HEADINGS, Example, Rule, all_rules, find_rule
from tests.rules.bench import context_of

RULES = all_rules()
PAGES = Path(serveright.__file__).parent / "locale" / "ko" / "rules"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_page_has_the_fixed_headings_in_order(rule: Rule) -> None:
    assert tuple(re.findall(r"^## (.+)$", rule.page, re.MULTILINE)) == HEADINGS
    assert rule.title.endswith(".")
    assert len(rule.title) < 110


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_constants(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z]{2,5}\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9-]+", rule.name)
    assert rule.severity in ("error", "warning", "note")
    assert rule.confidence in ("certain", "likely", "possible")
    assert find_rule(rule.code) is rule
    assert find_rule(rule.name) is rule


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    ("rule", "example"),
    [(rule, example) for rule in RULES for example in rule.examples],
    ids=lambda value: getattr(value, "code", getattr(value, "command", ""))[:60],
)
def test_examples(rule: Rule, example: Example) -> None:
    hits = list(rule.check(context_of(example.command, example.gpu, example.version)))
    assert bool(hits) == example.bad, [str(hit.message) for hit in hits]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_korean_page_stands_beside(rule: Rule) -> None:
    page = (PAGES / f"{rule.code}.md").read_text()
    assert len(re.findall(r"^## .+$", page, re.MULTILINE)) == len(HEADINGS)
    assert re.search(r"[가-힣]", page.partition("\n")[0])


def test_no_korean_page_without_a_rule() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {rule.code for rule in RULES}
