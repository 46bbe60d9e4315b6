"""Facts: accelerators, models, engine versions with their difference, rules; every figure with where it comes from."""

from typing import Any

from serveright.api import facts
from serveright.api.asking import gpu_spec
from serveright.api.rulebook import rules
from serveright.errors import UnknownName
from serveright.outputs.views import audit as audit_view
from serveright.outputs.views import facts as views
from serveright.types.text import msg
from serveright.web.state import address
from serveright.web.visit import Moved, Shown, Visit

TITLE, ORDER = msg("Facts"), 6
PASTES: dict[str, str] = {}
KINDS = ("gpu", "model", "engine", "rule")


def show(visit: Visit) -> Shown | Moved:
    """`/facts/KIND[/NAME]`."""
    if not visit.rest:
        return Moved(address("/facts/gpu", lang=visit.first("lang")))
    kind, _, name = visit.rest.partition("/")
    if kind not in KINDS:
        raise UnknownName(msg("kind of facts"), kind[:40], KINDS)
    document, report, more = {"gpu": _gpu, "model": _model, "engine": _engine, "rule": _rule}[kind](name, visit)
    tabs = [(key, address(f"/facts/{key}", lang=visit.first("lang"))) for key in KINDS]
    return Shown(title=document.title, template="facts.html", context={"kind": kind, "tabs": tabs, **more}, document=document, report=report)


def _gpu(name: str, visit: Visit) -> tuple[Any, Any, dict[str, Any]]:
    report = facts.gpu_facts(gpu_spec(name) if name else None)
    links = [] if name else [(gpu.key, gpu.name, address(f"/facts/gpu/{gpu.key}", lang=visit.first("lang"))) for gpu in report.gpus]
    return views.gpus(report), report, {"links": links}


def _model(name: str, visit: Visit) -> tuple[Any, Any, dict[str, Any]]:
    wanted = name or visit.first("q")
    report = facts.model_facts(wanted or None)
    links = [(model.id, model.id, address(f"/design/{model.id}", lang=visit.first("lang"))) for model in report.models]
    return views.models(report), report, {"links": links, "q": wanted}


def _engine(name: str, visit: Visit) -> tuple[Any, Any, dict[str, Any]]:
    engine, _, version = (name or "vllm").partition("@")
    if engine not in ("vllm", "sglang"):
        raise UnknownName(msg("engine"), engine[:40], ("vllm", "sglang"))
    older, newer = visit.first("older"), visit.first("newer")
    report = facts.engine_facts(engine, (visit.first("version") or version) or None, (older, newer) if older and newer else None)
    chosen = {"engine": engine, "versions": tuple(reversed(report.versions)), "older": older, "newer": newer, "at": visit.first("version") or version}
    return views.engines(report), report, {"engine": chosen}


def _rule(name: str, visit: Visit) -> tuple[Any, Any, dict[str, Any]]:
    report = rules(name or None)
    links = [] if name else [(rule.code, rule.title, address(f"/facts/rule/{rule.code}", lang=visit.first("lang"))) for rule in report.rules]
    return audit_view.rule(report), report, {"links": links}
