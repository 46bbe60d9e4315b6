"""This release cannot read a GPU named by its UUID."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX22",
    title=msg("this release cannot read a GPU named by its UUID"),
    why=msg("CUDA_VISIBLE_DEVICES holds a GPU- or MIG- identifier where the engine expects a number"),
    fix=(msg("Name the GPU by its number, or hand only that device to the container; newer vLLM has --device-ids."),),
    effect="crash",
    speaks={
        "log:device_uuid": 7,
    },
)
