"""SGLang: its automatic choices, cache layout, memory and capacity, and its flags both ways. Pure: facts come in as `types.sglang`."""

from serveright.engines.sglang.decide import resolve
from serveright.engines.sglang.flags import launch_flags, settings_from_flags
from serveright.engines.sglang.size import layout, size

__all__ = ["launch_flags", "layout", "resolve", "settings_from_flags", "size"]
