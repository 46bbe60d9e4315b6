"""Words for the codes that reports carry: a code is for programs, readers get its word in their language."""

from collections.abc import Sequence

from serveright.types.design import VerdictName
from serveright.types.document import Style
from serveright.types.report import Severity
from serveright.types.text import Msg, msg

SEVERITIES: dict[Severity, tuple[Msg, Style]] = {"error": (msg("error"), "bad"), "warning": (msg("warning"), "warn"), "note": (msg("note"), "plain")}
VERDICTS: dict[VerdictName, tuple[Msg, Style]] = {
    "best": (msg("runs on the best path"), "good"),
    "degraded": (msg("runs, but not on the best path"), "warn"),
    "unknown": (msg("no source says for sure"), "warn"),
    "blocked": (msg("does not run"), "bad"),
}
SHORT: dict[VerdictName, Msg] = {"best": msg("best path"), "degraded": msg("slower path"), "unknown": msg("no source says"), "blocked": msg("blocked")}
EFFECTS: dict[str, Msg] = {
    "crash": msg("does not start or stops"),
    "wrong_output": msg("wrong answers"),
    "slow": msg("slow"),
    "capacity": msg("fewer users"),
    "cost": msg("costs more"),
    "security": msg("insecure"),
    "dead_flag": msg("a flag without effect"),
}
CONFIDENCES: dict[str, Msg] = {"certain": msg("certain"), "likely": msg("likely"), "possible": msg("possible")}
STEPS: dict[str, Msg] = {
    "shape": msg("shape"),
    "hardware": msg("hardware"),
    "workload": msg("workload"),
    "needs": msg("needs"),
    "quality": msg("quality"),
}
FEED_FORWARD: dict[str, Msg] = {
    "dense": msg("dense"),
    "moe": msg("mixture of experts"),
    "mixed": msg("dense layers and mixtures of experts"),
    "none": msg("none"),
}
MODALITIES: dict[str, Msg] = {"text": msg("text"), "image": msg("images"), "video": msg("video"), "audio": msg("audio")}
FORMATS: dict[str, Msg] = {"mixed": msg("several formats")}
"""Number formats are called as engineers call them; only the word for a mixture is ours."""
QUALITIES: dict[str, Msg] = {
    "copy": msg("a copy of its config"),
    "mirror": msg("a mirror's copy of its config"),
    "retyped": msg("its config, typed from a page"),
    "quoted": msg("its config as quoted on a page"),
    "sibling": msg("the config of a sibling checkpoint"),
    "trimmed": msg("its config without the longest fields"),
    "reconstructed": msg("a config put together from published dimensions"),
    "class-default": msg("dimensions by the defaults of its class"),
}
ORIGINS: dict[str, Msg] = {f"catalogue ({quality})": msg("catalogue: {what}", what=what) for quality, what in QUALITIES.items()}
PARTS: dict[str, Msg] = {
    "embed": msg("input embedding"),
    "head": msg("output head"),
    "attention": msg("attention"),
    "indexer": msg("indexer"),
    "recurrent": msg("recurrent layers"),
    "norm": msg("norms"),
    "mlp": msg("dense feed-forward"),
    "router": msg("routers"),
    "experts": msg("routed experts"),
    "shared_experts": msg("shared experts"),
    "ngram": msg("n-gram tables"),
    "residual": msg("residual mixing"),
    "vision": msg("vision tower"),
    "audio": msg("audio tower"),
    "mtp": msg("prediction layers (MTP)"),
    "draft": msg("draft model"),
    "other": msg("other"),
}
CHANGES: dict[str, Msg] = {
    "added": msg("added"),
    "removed": msg("removed"),
    "renamed": msg("renamed"),
    "default": msg("other default or requirement"),
    "choices": msg("other choices"),
    "deprecated": msg("deprecated"),
}
AREAS: dict[str, Msg] = {
    "flag": msg("flag"),
    "architecture": msg("architecture"),
    "requires": msg("requirement"),
    "tool_parser": msg("tool parser"),
    "reasoning_parser": msg("reasoning parser"),
    "kv_dtype": msg("KV precision"),
    "quantization": msg("quantisation method"),
    "speculative_method": msg("speculation"),
    "backend": msg("attention backend"),
    "all2all_backend": msg("all-to-all backend"),
    "environment": msg("environment variable"),
}
CACHES: dict[str, Msg] = {
    "kv": msg("K and V rows"),
    "latent": msg("latent rows"),
    "index_key": msg("index keys"),
    "compressed": msg("compressed rows"),
    "compressor_state": msg("compressor states"),
    "window": msg("windows"),
    "state": msg("states"),
}
ORIGIN_KINDS: dict[str, Msg] = {
    "datasheet": msg("data sheet"),
    "config": msg("config"),
    "class-default": msg("class default"),
    "engine-source": msg("engine source"),
    "log": msg("log"),
    "measured": msg("measured"),
    "assumed": msg("assumed"),
    "memory": msg("from memory"),
    "derived": msg("derived"),
}


def word(words: dict[str, Msg], code: str) -> Msg | str:
    """The word for a code; the code itself where a newer fact brings one nobody named."""
    return words.get(code, code)


def listed(items: Sequence[Msg | str]) -> Msg | str:
    """`a, b, c` of words in any language."""
    if not items:
        return ""
    text = items[0]
    for item in items[1:]:
        text = msg("{a}, {b}", a=text, b=item)
    return text
