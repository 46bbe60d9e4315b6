"""The rules' own pages."""

from serveright.outputs.language import rule_page
from serveright.rules.registry import Rule, all_rules, find_rule
from serveright.types.audit_reports import RulePage, RuleReport


def rules(code: str | None = None, lang: str = "en") -> RuleReport:
    """One rule by code or name, or all, with its page in `lang`. Raises UnknownName."""
    found = (find_rule(code),) if code else all_rules()
    return RuleReport(rules=tuple(_page(rule, lang) for rule in found))


def _page(rule: Rule, lang: str) -> RulePage:
    title, page = rule_page(rule.code, lang) or (rule.title, rule.page)
    return RulePage(
        code=rule.code, name=rule.name, severity=rule.severity, effect=rule.effect, confidence=rule.confidence, since=rule.since, title=title, page=page
    )
