"""One request of the maximum length does not fit the KV cache."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="MEM02",
    title=msg("one request of the maximum length does not fit the KV cache"),
    why=msg("max_model_len defaults to the model's native context, and the pool left after the weights is smaller"),
    fix=(msg("Set --max-model-len (SGLang: --context-length) to what is needed and fits."),),
    effect="crash",
    speaks={
        "symptom:beyond_cache": 3,
        "derived:pool_below_window": 6,
        "symptom:window_does_not_fit": 2.8,
        "log:kv_one_request": 6,
        "symptom:length_over_capacity": 2,
    },
)
