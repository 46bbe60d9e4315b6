"""Memory is reserved for images and videos nobody sends."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM03",
    title=msg("memory is reserved for images and videos nobody sends"),
    why=msg("the engine profiles the largest image and video of a multimodal checkpoint before it sizes the cache"),
    fix=(msg("Text only: --language-model-only. Images only: --limit-mm-per-prompt with video 0."),),
    effect="crash",
    speaks={
        "symptom:image_oom": 2.5,
        "log:mm_profile_short": 5,
        "symptom:multimodal": 1.3,
        "symptom:oom": 0.5,
        "log:cuda_oom": 0.8,
        "log:no_cache_blocks": 1,
        "symptom:kv_fills": 0.3,
    },
    against={
        "derived:started": 1.5,
    },
)
