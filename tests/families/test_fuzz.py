"""Broken configs: whatever is cut out, swapped or absurd, the reader gives a shape or one UserError, never another exception."""

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serveright.errors import UserError
from serveright.families.verdict import family
from tests.budget import examples
from tests.families.published import NAMES, load, read, total

JUNK: list[Any] = [
    None,
    0,
    -1,
    1,
    3,
    7,
    10**9,
    10**30,
    1.5,
    float("inf"),
    float("nan"),
    True,
    False,
    "",
    "abc",
    "1,2,x",
    [],
    [1],
    [0, 0],
    ["x"],
    [None],
    {},
    {"a": 1},
]
EXTRA = [
    "kv_lora_rank",
    "index_topk",
    "sliding_window",
    "layer_types",
    "num_experts",
    "block_configs",
    "compress_ratios",
    "linear_attn_config",
    "vision_config",
    "text_config",
    "hybrid_layer_pattern",
    "num_kv_shared_layers",
    "sparse_attention_config",
    "is_encoder_decoder",
    "mamba_d_state",
]


def paths(config: dict[str, Any], prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for key, value in config.items():
        found.append((*prefix, key))
        if isinstance(value, dict):
            found += paths(value, (*prefix, key))
    return found


@st.composite
def broken(draw: st.DrawFn) -> dict[str, Any]:
    config = copy.deepcopy(load(draw(st.sampled_from(NAMES)))["config"])
    if draw(st.booleans()):
        config["architectures"] = draw(st.sampled_from([["NobodyKnowsForCausalLM"], [], None, "x", [1], {}]))
    for _ in range(draw(st.integers(1, 4))):
        known = paths(config)
        if not known:
            break
        *parents, key = draw(st.sampled_from(known))
        inner = config
        for parent in parents:
            inner = inner[parent]
        action = draw(st.sampled_from(["drop", "junk", "add", "cut"]))
        if action == "drop":
            del inner[key]
        elif action == "add":
            inner[draw(st.sampled_from(EXTRA))] = copy.deepcopy(draw(st.sampled_from(JUNK)))
        elif action == "cut" and isinstance(inner[key], list) and inner[key]:
            inner[key] = inner[key][: draw(st.integers(0, len(inner[key]) - 1))]
        else:
            inner[key] = copy.deepcopy(draw(st.sampled_from(JUNK)))
    return config


@settings(max_examples=examples(400), deadline=None, suppress_health_check=list(HealthCheck))
@given(broken())
def test_a_shape_or_one_message(config: dict[str, Any]) -> None:
    try:
        shape = read(config)
    except UserError:
        return
    assert family(shape).name
    assert total(shape) >= 0
