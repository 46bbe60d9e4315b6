"""Runs the rules over one command: selects, stamps, suppresses, sorts. Rules know none of this."""

from collections.abc import Iterable, Sequence

from serveright.readers.suppressions import Suppression
from serveright.rules.context import Context, Hit
from serveright.rules.registry import Rule, all_rules
from serveright.types.report import Finding
from serveright.types.text import msg

_ORDER = {"error": 0, "warning": 1, "note": 2}


def audit_command(
    context: Context,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    suppressions: Sequence[Suppression] = (),
) -> list[Finding]:
    """Findings of one command, gravest first, suppressed ones left out.

    `select` and `ignore` hold codes or prefixes (`PAR`, `PAR01`); empty `select` means all rules.
    """
    findings: list[Finding] = []
    for rule in chosen(select, ignore):
        findings.extend(stamp(rule, hit, context) for hit in rule.check(context))
    kept = [finding for finding in findings if not any(one.covers(finding) for one in suppressions)]
    return sorted(kept, key=lambda finding: (_ORDER[finding.severity], finding.location.line, finding.code))


def chosen(select: Iterable[str], ignore: Iterable[str]) -> list[Rule]:
    """The rules that run under a selection."""
    wanted, unwanted = _codes(select), _codes(ignore)
    return [rule for rule in all_rules() if (not wanted or rule.code.startswith(wanted)) and not (unwanted and rule.code.startswith(unwanted))]


def stamp(rule: Rule, hit: Hit, context: Context) -> Finding:
    """A finding of a rule with the rule's own axes where the hit says nothing else."""
    flag = hit.flag
    given = context.flag(flag) if flag else None
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=hit.severity or rule.severity,
        effect=hit.effect or rule.effect,
        confidence=hit.confidence or rule.confidence,
        location=hit.location or context.place(given),
        message=hit.message,
        why=hit.why,
        fix=hit.fix,
        flag=flag,
        edits=hit.edits,
        sources=hit.sources,
    )


def unused(suppressions: Sequence[Suppression], findings: Iterable[Finding]) -> list[Finding]:
    """Suppressions that suppressed nothing, and those without a reason, as findings of their own.

    `findings` are all findings of the file, before suppression.
    """
    known = list(findings)
    reported: list[Finding] = []
    for one in suppressions:
        if one.reason and any(one.matches(finding) for finding in known):
            continue
        text = (
            msg("suppression of {codes} gives no reason and is not applied", codes=", ".join(one.codes))
            if not one.reason
            else msg("suppression of {codes} suppresses nothing", codes=", ".join(one.codes))
        )
        reported.append(
            Finding(
                code="SUP01",
                name="idle-suppression",
                severity="warning",
                effect="dead_flag",
                confidence="certain",
                location=one.location,
                message=text,
                why=msg("a suppression that no longer fits hides the next real finding"),
                fix=msg("Write the reason after the bracket, or delete the comment."),
            )
        )
    return reported


def _codes(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(code.strip().upper().replace("-", "") for code in given if code.strip())
