"""The start takes longer than engine or probe waits."""

from serveright.rules.causes.base import CauseRule
from serveright.types.text import msg

CAUSE = CauseRule(
    code="DX27",
    title=msg("the start takes longer than engine or probe waits"),
    why=msg("loading or compiling is slow, from a network disk for instance; nothing else is wrong"),
    fix=(
        msg("Raise the limit the message names (vLLM: VLLM_ENGINE_READY_TIMEOUT_S; SGLang: --dist-timeout), or load from a local disk."),
        msg("Kubernetes: a startupProbe whose failureThreshold x periodSeconds outlasts the longest start; liveness counts only after it."),
    ),
    effect="crash",
    speaks={
        "log:start_timeout": 5.5,
        "log:start_probe": 3.5,
        "log:live_probe": 1.5,
    },
)
