"""Deployments the emit tests share, made from the catalogue the way `plan` makes them."""

from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.alignment import alignment
from serveright.analysis.deployment import Wanted, deploy
from serveright.analysis.launch import Subject, launch
from serveright.analysis.roles import disaggregate
from serveright.api.checking import words
from serveright.api.engines import load_engines
from serveright.api.loading import load_model
from serveright.api.sized import size_on
from serveright.catalog.gpus import parse_gpu_spec
from serveright.catalog.metrics import load_metrics
from serveright.types.deployment import Bound, Deployment
from serveright.types.engine import Parallel, Settings
from serveright.types.text import msg
from serveright.types.traffic import Traffic

CONTEXT = 32768
BOUNDS = (
    Bound(name="kv_usage", value=0.9, why=msg("beyond it requests are preempted")),
    Bound(name="waiting", value=8, why=msg("requests wait for room")),
    Bound(name="preemptions_per_s", value=0.1, why=msg("work is thrown away")),
    Bound(name="ttft_s", value=2.0, why=msg("the target of the plan")),
    Bound(name="tpot_s", value=0.05, why=msg("the target of the plan")),
    Bound(name="running_per_copy", value=32, why=msg("what one copy was planned for")),
)


class Case(Struct, frozen=True, kw_only=True):
    """One design to emit."""

    model: str
    gpu: str
    engine: str
    parallel: Parallel
    tier_gib: int = 0
    prefill: Parallel | None = None
    transfer: str = "nixl"
    settings: Settings = Settings()


CASES = {
    "one-gpu": Case(model="Qwen/Qwen3-8B", gpu="1xl40s", engine="vllm", parallel=Parallel()),
    "amd": Case(model="Qwen/Qwen3-32B", gpu="2xmi300x", engine="vllm", parallel=Parallel(tp=2)),
    "amd-sglang": Case(model="Qwen/Qwen3-32B", gpu="2xmi300x", engine="sglang", parallel=Parallel(tp=2)),
    "replicas": Case(model="Qwen/Qwen3.6-27B", gpu="4xh200", engine="vllm", parallel=Parallel(tp=2, replicas=2)),
    "tier": Case(model="Qwen/Qwen3-32B", gpu="2xh200", engine="vllm", parallel=Parallel(tp=2), tier_gib=64),
    "hybrid-tier": Case(model="Qwen/Qwen3.6-27B", gpu="2xh200", engine="vllm", parallel=Parallel(tp=2), tier_gib=64),
    "sglang-tier": Case(model="Qwen/Qwen3-32B", gpu="2xh200", engine="sglang", parallel=Parallel(tp=2), tier_gib=64),
    "sglang-replicas": Case(model="openai/gpt-oss-120b", gpu="4xh100", engine="sglang", parallel=Parallel(tp=2, replicas=2)),
    "pipeline": Case(model="moonshotai/Kimi-K2.5", gpu="16xh100", engine="vllm", parallel=Parallel(tp=8, pp=2)),
    "wide": Case(model="deepseek-ai/DeepSeek-V3.1", gpu="16xh200", engine="vllm", parallel=Parallel(dp=16, ep=16)),
    "old-wide": Case(model="deepseek-ai/DeepSeek-V3.1", gpu="16xh200", engine="vllm@0.11.0", parallel=Parallel(dp=16, ep=16)),
    "old-pipeline": Case(model="deepseek-ai/DeepSeek-V3.1", gpu="16xh200", engine="vllm@0.10.2", parallel=Parallel(tp=8, pp=2)),
    "sglang-wide": Case(model="deepseek-ai/DeepSeek-V3.1", gpu="16xh200", engine="sglang", parallel=Parallel(dp=16, ep=16)),
    "rack": Case(model="deepseek-ai/DeepSeek-V3.1", gpu="16xgb200", engine="vllm", parallel=Parallel(dp=16, ep=16)),
    "apart": Case(model="deepseek-ai/DeepSeek-V3.1", gpu="32xh200", engine="vllm", parallel=Parallel(dp=16, ep=16), prefill=Parallel(dp=8, ep=8)),
    "apart-small": Case(model="Qwen/Qwen3-32B", gpu="4xh200", engine="vllm", parallel=Parallel(tp=2), prefill=Parallel(tp=1)),
    "apart-mooncake": Case(model="Qwen/Qwen3-32B", gpu="4xh200", engine="vllm", parallel=Parallel(tp=2), prefill=Parallel(tp=1), transfer="mooncake"),
    "sglang-apart": Case(
        model="deepseek-ai/DeepSeek-V3.1",
        gpu="32xh200",
        engine="sglang",
        parallel=Parallel(dp=16, ep=16),
        prefill=Parallel(dp=8, ep=8),
        transfer="mooncake",
    ),
    "sglang-apart-small": Case(model="Qwen/Qwen3-32B", gpu="4xh200", engine="sglang", parallel=Parallel(tp=2), prefill=Parallel(tp=1)),
}


@cache
def wanted(name: str) -> Wanted:
    """What `deploy` is handed for a case."""
    case = CASES[name]
    model, fleet, engine = load_model(case.model), parse_gpu_spec(case.gpu), load_engines(case.engine)[0]
    sized = size_on(engine, model, fleet, replace(case.settings, parallel=case.parallel), CONTEXT)
    flags = engine.module().launch_flags(sized.settings, engine.version) if engine.name == "sglang" else engine.module().launch_flags(sized.settings)
    subject = Subject(
        table=engine.table,
        shape=model.shape,
        checkpoint=model.checkpoint,
        sized=sized,
        traffic=Traffic(),
        words=words(engine, model),
        model=case.model,
        engine_flags=tuple(flags.items()),
    )
    return Wanted(
        launch=launch(subject),
        table=engine.table,
        parallel=case.parallel,
        fleet=fleet,
        checkpoint_bytes=model.need.total_bytes,
        tier_bytes=case.tier_gib << 30,
        chunk_tokens=alignment(model.shape, sized).lmcache_chunk_tokens,
        bounds=BOUNDS,
        metrics=load_metrics(engine.name, engine.version),
        highest_copies=4,
    )


@cache
def design(name: str) -> Deployment:
    """The deployment of a case."""
    case, asked = CASES[name], wanted(name)
    if case.prefill is None:
        return deploy(asked)
    made = disaggregate(asked, case.prefill, case.parallel, 2, 1, "mooncake" if case.transfer == "mooncake" else "nixl")
    assert isinstance(made, Deployment), made
    return made
