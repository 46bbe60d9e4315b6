"""The tensors of the checkpoint are not those the loader of this release expects."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX21",
    title=msg("the tensors of the checkpoint are not those the loader of this release expects"),
    why=msg("names, shapes or scales differ: another quantisation tool, another layout of files, or a release that is too old for it"),
    fix=(msg("Use a checkpoint in a format the release documents for this model, or a newer release; leave --quantization and --load-format to the engine."),),
    effect="crash",
    speaks={
        "log:weights_unknown": 5,
        "log:refused_checkpoint": 4,
    },
    next_check=msg("Compare the tensor named in the error with the names in model.safetensors.index.json."),
)
