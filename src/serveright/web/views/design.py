"""Design: a model, GPUs and traffic to a layout with its command, the six steps as one column."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from serveright import api
from serveright.api import asking, deploying
from serveright.api.facts import engine_facts, gpu_facts, model_facts
from serveright.api.planning import Wishes
from serveright.catalog.traffic import load_traffic, presets
from serveright.errors import UserError
from serveright.outputs.emit import text as emitted_text
from serveright.outputs.views import inspect as inspect_view
from serveright.outputs.views import plan as plan_view
from serveright.types.engine_table import EngineName
from serveright.types.reports import Chosen, InspectReport, PlanReport
from serveright.types.source import ModelFiles
from serveright.types.text import Msg, msg
from serveright.types.traffic import Traffic
from serveright.web import config_text
from serveright.web.state import address
from serveright.web.visit import Moved, Shown, Visit

TITLE, ORDER = msg("Design"), 0
PASTES: Mapping[str, str] = {"text": "config.json"}
FIELDS = {
    "concurrency": "concurrency",
    "rate": "rate_per_s",
    "input": "input_tokens",
    "output": "output_tokens",
    "context": "context_tokens",
    "images": "images_per_request",
    "ttft": "ttft_target_s",
    "tpot": "tpot_target_s",
    "reproducible": "reproducible",
    "traffic": "preset",
}
"""Key of the address -> field of `Traffic`."""
OBJECTIVES = ("cost", "latency", "context", "users")
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
EXAMPLES = (
    ("Qwen/Qwen3.6-27B", "2xh200-sxm", "chat"),
    ("deepseek-ai/DeepSeek-V3.2", "8xh200-sxm", "agent"),
    ("openai/gpt-oss-120b", "1xh100-sxm", "rag"),
)


def show(visit: Visit) -> Shown | Moved:
    """The page of one model, with a design where a GPU was chosen."""
    if (moved := proper(visit)) is not None:
        return moved
    form = form_of(visit)
    if not visit.rest:
        examples = [(name, spec, address(f"/design/{name}", gpu=spec, traffic=kind, lang=visit.first("lang"))) for name, spec, kind in EXAMPLES]
        return Shown(title=TITLE, template="design.html", context={"form": form, "examples": examples})
    try:
        files = model_of(visit)
        report = answer(visit, files)
    except UserError as error:
        return Shown(title=TITLE, template="design.html", context={"form": form}, error=error)
    shape: InspectReport = report.steps["shape"] if isinstance(report, PlanReport) else report
    document = plan_view.document(report) if isinstance(report, PlanReport) else inspect_view.document(report)
    context = {
        "form": form,
        "config": config_of(files, shape),
        "launches": launches(report, files, visit.lang) if isinstance(report, PlanReport) else [],
        "changed": changed(visit, shape),
    }
    return Shown(title=document.title, template="design.html", context=context, document=document, report=report)


def proper(visit: Visit) -> Moved | None:
    """The address without empty values, the model in the path, the GPUs in one word; None where it is that already."""
    query = [(key, value.strip()) for key, values in visit.query.items() for value in values if value.strip()]
    fields = dict(query)
    rest, changed = visit.rest, len(query) != sum(map(len, visit.query.values()))
    if "model" in fields:
        rest, changed = fields["model"].strip("/"), True
        query = [(k, v) for k, v in query if k not in ("model", "z")]
    if "gpus" in fields:
        changed = True
        kind = fields.get("gpu", "")
        query = [(k, f"{fields['gpus']}x{kind}" if k == "gpu" and kind else v) for k, v in query if k != "gpus"]
    if not changed:
        return None
    return Moved(address(f"/design/{rest}" if rest else "/design", query))


def model_of(visit: Visit) -> ModelFiles:
    """The model of the path: pasted, of the catalogue, or of the Hub where that is allowed. Raises UserError."""
    if visit.rest.startswith("~"):
        texts = {name: text.encode() for name, text in visit.texts().items()}
        return asking.pasted_model(texts, visit.first("name"))
    return asking.named_model(visit.rest, allow_hub=visit.allow_hub)


def answer(visit: Visit, files: ModelFiles) -> InspectReport | PlanReport:
    """The design, or what the model is where no GPU was named yet. Raises UserError."""
    if not visit.first("gpu"):
        return api.inspect(files, curves=True)
    objective = visit.first("objective")
    return api.plan(
        files,
        asking.gpu_spec(visit.first("gpu")),
        asking.traffic_of_texts({field: visit.first(key) for key, field in FIELDS.items()}),
        nodes=number(visit.first("nodes")),
        engine=visit.first("engine") or "both",
        wishes=Wishes(objective=objective if objective in OBJECTIVES else "cost", curves=True),  # pyright: ignore[reportArgumentType]
    )


def changed(visit: Visit, shape: InspectReport) -> list[Msg]:
    """Choices of the address that could not be followed as they stand, and what was taken instead."""
    found: list[Msg] = []
    objective, nodes = visit.first("objective"), visit.first("nodes")
    if objective and objective not in OBJECTIVES:
        found.append(msg("There is no ranking by {what}: ranked by tokens per GPU instead.", what=objective))
    if nodes and number(nodes) is None:
        found.append(msg("{text} is no number of nodes: the GPUs were spread over as few as hold them.", text=nodes))
    if visit.first("reproducible") and shape.mtp_layers:
        found.append(msg("Outputs must not depend on the batch: speculation was left out."))
    if visit.first("images") and "image" not in shape.modalities:
        found.append(msg("This model takes no images: they were left out of the traffic."))
    return found


def number(text: str) -> int | None:
    """A small count, None where none was given."""
    return int(text) if text.isdecimal() and 0 < int(text) <= 4096 else None


def form_of(visit: Visit) -> dict[str, Any]:
    """Values and choices of the controls."""
    spec = visit.first("gpu")
    count, _, kind = spec.partition("x") if spec[:1].isdigit() else ("1" if spec else "", "", spec)
    values = {key: visit.first(key) for key in (*FIELDS, "engine", "objective", "nodes", "name", "z", "lang")}
    return {
        "values": values,
        "model": "" if visit.rest.startswith("~") else visit.rest,
        "pasted": visit.rest if visit.rest.startswith("~") else "",
        "usual": usual(values["traffic"]),
        "kind": kind,
        "count": count or "1",
        **choices(),
    }


def usual(preset: str) -> dict[str, str]:
    """What stands for a traffic field that is left empty."""
    traffic = load_traffic(preset) if preset in presets() else Traffic(concurrency=32)
    spread = [f"{low}" if low == high else f"{low}/{high}" for low, high in (traffic.input_tokens, traffic.output_tokens)]
    return {"concurrency": f"{traffic.concurrency or ''}", "input": spread[0], "output": spread[1], "context": f"{traffic.context_tokens or '32k'}"}


@cache
def choices() -> dict[str, Any]:
    """What the catalogue offers; facts do not change while a server runs."""
    versions = [f"{name}@{version}" for name in ENGINES for version in reversed(engine_facts(name).versions)]
    return {
        "models": [model.id for model in model_facts().models],
        "gpus": [(gpu.key, gpu.name) for gpu in gpu_facts().gpus],
        "gpu_keys": [gpu.key for gpu in gpu_facts().gpus],
        "engines": ["both", *ENGINES, *versions],
        "presets": sorted(presets()),
        "objectives": OBJECTIVES,
    }


def config_of(files: ModelFiles, shape: InspectReport) -> dict[str, Any]:
    """The config's lines beside the evidence they carry."""
    evidence = shape.evidence
    lines = config_text.lines(files.config, [e.path for e in evidence])
    found = {line.says: line.number for line in lines}
    rows = [{"path": e.path, "value": str(e.value)[:80], "meaning": e.meaning, "line": found.get(i)} for i, e in enumerate(evidence)]
    return {"lines": lines, "evidence": rows, "unknown": [{"path": u.path, "why": u.why} for u in shape.unknown]}


FORMATS: dict[str, Msg] = {
    "shell": msg("Script"),
    "docker": msg("Docker"),
    "compose": msg("Compose"),
    "kubernetes": msg("Kubernetes"),
}
"""Formats with a tab of their own; `serveright plan --emit` knows more."""


def launches(report: PlanReport, files: ModelFiles, lang: str) -> list[dict[str, Any]]:
    """The chosen command in all its forms, then the other engine's, ready for tabs."""
    if report.chosen is None:
        return []
    chosen = report.chosen
    note = msg("the smallest start that proves model, kernels and parsers")
    out: list[dict[str, Any]] = [
        {"title": _named(chosen), "text": chosen.command},
        {"title": msg("First launch"), "text": chosen.first_launch_command, "note": note},
    ]
    out += [{"title": FORMATS[name], "text": emitted_text(made)} for name, made in deploying.files(report, files, tuple(FORMATS), lang)]
    return out + [{"title": _named(other), "text": other.command} for other in report.alternatives]


def _named(chosen: Chosen) -> str:
    return f"{chosen.engine.name} {chosen.engine.version}"
