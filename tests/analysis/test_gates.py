"""Gates against what a reader of the engines' code found, and the verdict's laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serveright import api
from serveright.analysis.gates import ORDER, worst
from serveright.catalog.gates import load_gates
from serveright.types.design import VerdictName


def verdicts(model: str, gpu: str) -> dict[str, str]:
    return {c.engine: c.verdict for c in api.check(model, gpu).engines}


@pytest.mark.parametrize("gpu", ["a100-80gb", "rtx3090", "rtx4090", "l40s"])
def test_sparse_latent_attention_has_no_kernel_below_hopper(gpu: str) -> None:
    assert verdicts("deepseek-ai/DeepSeek-V3.2", gpu) == {"vllm": "blocked", "sglang": "blocked"}


@pytest.mark.parametrize("gpu", ["h100", "h200", "b200", "b300"])
def test_sparse_latent_attention_is_at_home_on_hopper_and_datacentre_blackwell(gpu: str) -> None:
    assert verdicts("deepseek-ai/DeepSeek-V3.2", gpu) == {"vllm": "best", "sglang": "best"}


def test_workstation_blackwell_is_another_target_and_depends_on_the_version() -> None:
    new, old = (api.check("zai-org/GLM-5", "rtx-pro-6000", engine=f"vllm@{v}").engines[0] for v in ("0.33.0", "0.22.0"))
    assert (new.verdict, old.verdict) == ("degraded", "blocked")
    assert "656" in str([r.text.values for r in new.reasons])


def test_every_gate_names_its_source_and_every_row_is_reachable() -> None:
    for gate in load_gates():
        assert gate.source
        assert gate.rows
        conditions = [
            tuple(getattr(row, f) for f in ("engine", "sm", "min_sm", "max_sm", "vendor", "architectures", "since", "until", "needs")) for row in gate.rows
        ]
        assert len(set(conditions)) == len(conditions), gate.id


@given(st.lists(st.sampled_from(ORDER)))
def test_one_blocked_part_blocks_the_whole(parts: list[VerdictName]) -> None:
    assert worst([*parts, "blocked"]) == "blocked"
    assert worst([*parts, "best"]) == worst(parts)
