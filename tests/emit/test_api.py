"""What `plan` chooses can be emitted, and our audit as users run it finds nothing in it."""

import pytest

from serveright.api import auditing, commands, emitting
from serveright.api.engines import load_engines
from serveright.api.loading import load_model
from serveright.api.planning import find, with_context
from serveright.catalog.gpus import parse_gpu_spec
from serveright.errors import UsageError
from serveright.types.deployment import Deployment
from serveright.types.engine import Settings
from serveright.types.traffic import Traffic
from tests.emit.designs import CASES, design
from tests.emit.test_law import FORMATS, VERSIONLESS, emitted

PLANS = [
    ("Qwen/Qwen3.6-27B", "4xh200", "vllm"),
    ("openai/gpt-oss-120b", "2xh100", "sglang"),
    ("zai-org/GLM-5.2-FP8", "8xb200", "vllm"),
    ("google/gemma-3-27b-it", "2xl40s", "vllm"),
]


def planned(model: str, gpu: str, engine: str, tier_bytes: int = 0) -> Deployment:
    loaded, fleet, engines = load_model(model), parse_gpu_spec(gpu), load_engines(engine)
    traffic = with_context(Traffic(concurrency=32, ttft_target_s=2), loaded)
    settings = Settings(context_tokens=traffic.context_tokens, language_only=bool(loaded.shape.towers))
    best = next(c for c in find(loaded, fleet, traffic, settings, list(engines)).candidates if c.fits)
    return emitting.deployment(engines[0], loaded, fleet, traffic, best, tier_bytes=tier_bytes, highest_copies=8)


@pytest.mark.parametrize("plan", PLANS)
def test_plans_are_emitted(plan: tuple[str, str, str]) -> None:
    made = planned(*plan)
    carried = []
    for format in emitting.formats():
        try:
            files = emitting.emit(format, made, "ko")
        except UsageError:
            continue
        carried.append(format)
        assert all(file.text.strip() for file in files)
        if format in VERSIONLESS:
            continue
        for file in files:
            for gpu in (None, plan[1]):
                found = auditing.audit_text(file.text.encode(), file.name, commands.Ask(gpu=gpu)).findings
                assert not found, [(f.code, f.message) for f in found]
    assert {"shell", "docker", "compose", "kubernetes", "kserve", "keda", "hpa", "prometheus", "grafana"} <= set(carried)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("format", [name for name in FORMATS if name not in VERSIONLESS])
def test_the_audit_as_users_run_it(format: str, name: str) -> None:
    if format == "kserve-llm" and design(name).role.nodes > 1:
        pytest.skip("KServe joins the nodes: the object alone does not say how many")
    for file in emitted(format, name):
        found = [f for f in auditing.audit_text(file.text.encode(), file.name, commands.Ask()).findings if f.severity != "note"]
        assert not found, [(f.code, f.message, f.location) for f in found]


def test_a_tier_has_the_chunk_every_group_divides() -> None:
    made = planned("Qwen/Qwen3.6-27B", "2xh200", "vllm", tier_bytes=64 << 30)
    assert made.tier is not None
    assert made.tier.chunk_tokens % 16 == 0
    text = emitting.emit("kubernetes", made)[0].text
    assert f"--chunk-size\n        - '{made.tier.chunk_tokens}'" in text
