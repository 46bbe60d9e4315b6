"""The tools, by what an agent wants to know, and the resources behind them."""

from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import ToolAnnotations
from pydantic import Field

from serveright import __version__, api
from serveright.api import asking, facts
from serveright.api.planning import Wishes
from serveright.api.rulebook import rules
from serveright.api.texts import audit_texts, diagnose_texts, wishes
from serveright.errors import InputError, UserError
from serveright.mcp.results import Result, answers, published, result, words
from serveright.outputs import json
from serveright.outputs.views import audit as audit_view
from serveright.outputs.views import check as check_view
from serveright.outputs.views import choose as choose_view
from serveright.outputs.views import compare as compare_view
from serveright.outputs.views import diagnose as diagnose_view
from serveright.outputs.views import explain as explain_view
from serveright.outputs.views import inspect as inspect_view
from serveright.outputs.views import plan as plan_view
from serveright.types.audit_reports import AuditReport
from serveright.types.choosing import ChooseReport, CompareReport
from serveright.types.diagnosis import DiagnoseReport
from serveright.types.lessons import ExplainReport, Glossary, TopicList
from serveright.types.reports import CheckReport, InspectReport, PlanReport
from serveright.types.source import ModelFiles
from serveright.types.text import msg

INSTRUCTIONS = (
    "serveright derives how to serve a language model with vLLM or SGLang from its config.json, the GPUs and the traffic. "
    "Figures come with their origin; exact ones are exact, estimates carry an 80 % range. Say which assumption a result hangs on. "
    "Models are names of the built-in catalogue (resource serveright://models) or a pasted config.json; nothing is fetched."
)
READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Model = Annotated[str, Field(description="Hub id of a catalogue model, such as Qwen/Qwen3.6-27B; leave empty when config_json is given.")]
Config = Annotated[str, Field(description="Text of the model's config.json, for models outside the catalogue.")]
Gpu = Annotated[str, Field(description="GPUs at hand, such as 8xh200, 2xrtx-4090, 1xmi300x.", min_length=2, max_length=60)]
Engine = Annotated[str, Field(description="vllm, sglang, both, or with a version: vllm@0.33.0.", max_length=40)]
Concurrency = Annotated[int, Field(ge=1, le=1_000_000, description="Requests being served at once.")]
Tokens = Annotated[int, Field(ge=1, le=100_000_000, description="tokens")]
Objective = Literal["cost", "latency", "context", "users"]


def model_of(model: str, config_json: str) -> ModelFiles:
    """The model an agent means. Raises UserError."""
    if config_json:
        return asking.pasted_model({"config.json": config_json.encode()}, model)
    if not model:
        raise InputError(msg("no model was named"), msg("Give model (a catalogue id) or config_json."))
    return asking.named_model(model)


def traffic_of(concurrency: int, input_tokens: int, output_tokens: int, context_tokens: int | None, **more: float | None) -> Any:
    """Traffic from plain numbers. Raises UserError."""
    fields = {"concurrency": concurrency, "input_tokens": input_tokens, "output_tokens": output_tokens, "context_tokens": context_tokens, **more}
    return asking.traffic_of_texts({key: f"{value}" for key, value in fields.items() if value is not None})


@answers
def inspect_model(model: Model = "", config_json: Config = "") -> Result:
    """Tell what a model is from its config: attention family with evidence, layers by kind, parameters, checkpoint format."""
    report = api.inspect(model_of(model, config_json))
    return result(report, inspect_view.document(report))


@answers
def check_hardware(gpu: Gpu, model: Model = "", config_json: Config = "", engine: Engine = "both") -> Result:
    """Say whether a model runs on a GPU and on the best path, with engine version, parsers and checkpoint to use."""
    report = api.check(model_of(model, config_json), asking.gpu_spec(gpu), engine=engine)
    return result(report, check_view.document(report))


@answers
def plan_serving(
    gpu: Gpu,
    model: Model = "",
    config_json: Config = "",
    engine: Engine = "both",
    concurrency: Concurrency = 32,
    input_tokens: Tokens = 2048,
    output_tokens: Tokens = 512,
    context_tokens: Annotated[int | None, Field(description="Longest request to serve, prompt and answer together.")] = None,
    ttft_target_s: Annotated[float | None, Field(description="Target time to first token, seconds.")] = None,
    tpot_target_s: Annotated[float | None, Field(description="Target time per output token, seconds.")] = None,
    objective: Annotated[Objective, Field(description="What to rank layouts by.")] = "cost",
) -> Result:
    """Design a deployment: layout, launch command with a reason for every flag, what is left to the engine, and the layouts that lost."""
    traffic = traffic_of(concurrency, input_tokens, output_tokens, context_tokens, ttft_target_s=ttft_target_s, tpot_target_s=tpot_target_s)
    report = api.plan(model_of(model, config_json), asking.gpu_spec(gpu), traffic, engine=engine, wishes=Wishes(objective=objective))
    return result(report, plan_view.document(report))


@answers
def audit_command(
    text: Annotated[str, Field(description="A vLLM or SGLang launch command, script, Compose file or Kubernetes manifest.", min_length=1, max_length=500_000)],
    gpu: Annotated[str, Field(description="GPUs it runs on, where the text does not say.", max_length=60)] = "",
    engine: Annotated[str, Field(description="Read it as this engine and version, such as vllm@0.33.0.", max_length=40)] = "",
    model: Annotated[str, Field(description="Catalogue model it serves, where the text's own name is of no use.")] = "",
) -> Result:
    """Check a launch command against model, GPU and engine version; findings with severity, reason and repair, and the repaired text."""
    report = audit_texts({"command": text}, wishes(engine, gpu, model))
    return result(report, audit_view.document(report))


@answers
def diagnose_server(
    log: Annotated[str, Field(description="The server's log, or its end.", max_length=8_000_000)] = "",
    metrics: Annotated[str, Field(description="The text of /metrics.", max_length=8_000_000)] = "",
    command: Annotated[str, Field(description="The launch command.", max_length=500_000)] = "",
    symptom: Annotated[str, Field(description="What is seen, in words.", max_length=4000)] = "",
    gpu: Annotated[str, Field(description="GPUs it runs on.", max_length=60)] = "",
    model: Annotated[str, Field(description="Catalogue model it serves.")] = "",
) -> Result:
    """Find why a server fails, waits or answers wrongly: causes by likelihood, the lines that speak for them, the repaired command."""
    texts = {name: text for name, text in (("log", log), ("metrics", metrics), ("command", command)) if text}
    report = diagnose_texts(texts, symptom=symptom, gpu=gpu, model=model)
    return result(report, diagnose_view.document(report))


@answers
def compare_models(
    models: Annotated[list[str], Field(description="Catalogue ids.", min_length=1, max_length=6)],
    gpus: Annotated[list[str], Field(description="GPUs, such as 8xh200; several to compare GPUs.", min_length=1, max_length=4)],
    engine: Engine = "both",
    concurrency: Concurrency = 32,
    input_tokens: Tokens = 2048,
    output_tokens: Tokens = 512,
) -> Result:
    """Put models, or one model on several GPUs, side by side under the same traffic, with what follows from each row."""
    traffic = traffic_of(concurrency, input_tokens, output_tokens, None)
    report = api.compare([asking.named_model(name) for name in models], [asking.gpu_spec(gpu) for gpu in gpus], traffic, engines=(engine,))
    return result(report, compare_view.document(report))


@answers
def choose_model(
    gpu: Gpu,
    needs: Annotated[list[str], Field(description="tools, reasoning, vision, audio, mtp, dense, licence:NAME, language:ko, context:256k", max_length=12)] = [],  # noqa: B006
    engine: Engine = "both",
    concurrency: Concurrency = 32,
    input_tokens: Tokens = 2048,
    output_tokens: Tokens = 512,
) -> Result:
    """Which catalogue models these GPUs carry under this traffic, best first, and at which step every other one falls."""
    report = api.choose(asking.gpu_spec(gpu), traffic_of(concurrency, input_tokens, output_tokens, None), engine=engine, needs=needs)
    return result(report, choose_view.document(report))


@answers
def explain_topic(
    topic: Annotated[str, Field(description="A topic; leave empty for the list.", max_length=60)] = "",
    model: Annotated[str, Field(description="Catalogue model whose numbers to show.")] = "",
    gpu: Annotated[str, Field(description="GPUs to count for.", max_length=60)] = "",
) -> Result:
    """Explain a topic of serving (attention kinds, cache, parallelism, formats) with numbers computed for a model and GPUs."""
    report = api.explain(topic or None, model=asking.named_model(model) if model else None, gpu=asking.gpu_spec(gpu) if gpu else None)
    return result(report, explain_view.page(report))


TOOLS: tuple[tuple[Any, str, tuple[type, ...]], ...] = (
    (inspect_model, "Inspect a model", (InspectReport,)),
    (check_hardware, "Check hardware", (CheckReport,)),
    (plan_serving, "Plan serving", (PlanReport,)),
    (audit_command, "Audit a command", (AuditReport,)),
    (diagnose_server, "Diagnose a server", (DiagnoseReport,)),
    (compare_models, "Compare models", (CompareReport,)),
    (choose_model, "Choose a model", (ChooseReport,)),
    (explain_topic, "Explain a topic", (TopicList, ExplainReport, Glossary)),
)


def create() -> MCPServer:
    """The server with all tools and resources."""
    tools = [published(tool, title, reports, READ_ONLY) for tool, title, reports in TOOLS]
    server = MCPServer("serveright", title="serveright", version=__version__, instructions=INSTRUCTIONS, tools=tools)
    _resources(server)
    return server


def _resources(server: MCPServer) -> None:
    """Lists and single entries of the facts, as JSON."""

    @server.resource("serveright://models", title="Models of the catalogue", mime_type="application/json")
    def models() -> str:
        return json.encode(facts.model_facts(), "en")

    @server.resource("serveright://gpus", title="Accelerators", mime_type="application/json")
    def gpus() -> str:
        return json.encode({gpu.key: gpu.name for gpu in facts.gpu_facts().gpus}, "en")

    @server.resource("serveright://rules", title="Audit rules", mime_type="application/json")
    def all_rules() -> str:
        return json.encode({rule.code: rule.title for rule in rules().rules}, "en")

    @server.resource("serveright://gpu/{name}", title="One accelerator with the source of every figure", mime_type="application/json")
    def gpu(name: str) -> str:
        return _read(lambda: facts.gpu_facts(asking.gpu_spec(name)))

    @server.resource("serveright://rule/{code}", title="One audit rule and its page", mime_type="application/json")
    def rule(code: str) -> str:
        return _read(lambda: rules(code))

    @server.resource("serveright://engine/{name}", title="One engine's newest table", mime_type="application/json")
    def engine(name: str) -> str:
        if name not in ("vllm", "sglang"):
            raise ResourceNotFoundError(f"Unknown engine: {name}. Known: vllm, sglang.")
        return _read(lambda: facts.engine_facts(name))  # pyright: ignore[reportArgumentType]


def _read(make: Any) -> str:
    try:
        return json.encode(make(), "en")
    except UserError as error:
        raise ResourceNotFoundError(words(error)) from error
