"""Container image -> engine and version; a tag that names no engine version gives None, never a guess."""

import re

from msgspec import Struct

from serveright.types.engine_table import EngineName

_VERSION = re.compile(r"^v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?![\d.])")
_INNER_VERSION = re.compile(r"(vllm|sglang)[-_]?v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)")
_LLM_D = re.compile(r"llm-d(-(dev|debug|cuda|rocm|amd|xpu|hpu|tpu|cpu|aws|gke|efa|rhel|ubuntu|nightly|[\d.]+))*$")
"""The engine images of llm-d; its other images (sidecar, scheduler, router, simulator) serve no model."""
_BESIDE = re.compile(r"(^|-)(router|routing|gateway|sidecar|proxy|scheduler|sim|simulator|exporter|bench|benchmark|frontend|operator|controller)(-|$)")
"""Words of images that stand beside an engine and carry its name."""
_FOREIGN = frozenset({"nvidia", "ai-dynamo", "llm-d", "production-stack", "lmcache", "kserve", "ray-project", "rayproject"})
"""Namespaces whose tags count their own releases, not the engine's."""


class Image(Struct, frozen=True):
    """What an image name says."""

    engine: EngineName | None
    version: str | None
    tag: str | None
    serves: bool
    """The image's own entry point is the engine's server, so that arguments alone are flags."""


def read_image(text: str) -> Image:
    """`vllm/vllm-openai:v0.33.0-cu129` -> vllm 0.33.0; `lmsysorg/sglang:latest` -> sglang, version None."""
    name, _, _digest = text.partition("@")
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        head, tag = name, ""
    parts = head.lower().split("/")
    base = parts[-1]
    if _BESIDE.search(base):
        return Image(None, None, tag or None, serves=False)
    engine: EngineName | None = "vllm" if "vllm" in base else "sglang" if "sglang" in base else None
    inner = _INNER_VERSION.search(tag.lower())
    if engine is None and inner:
        engine = "vllm" if inner[1] == "vllm" else "sglang"
    if engine is None and _LLM_D.fullmatch(base):
        engine = "vllm"
    version = None
    if inner:
        version = inner[2]
    elif engine and not _FOREIGN.intersection(parts):
        match = _VERSION.match(tag)
        version = match[1] if match else None
    return Image(engine, version, tag or None, serves=base.startswith("vllm-openai"))
