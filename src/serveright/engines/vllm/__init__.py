"""vLLM: what it chooses, allocates, holds and refuses for a model on a GPU, byte for byte, and its launch words. Pure; facts are handed in.

`size` is the way in; `resolve` answers without memory; `launch_flags` and `settings_from_flags` translate commands.
"""

from serveright.engines.vllm.flags import launch_flags, settings_from_flags
from serveright.engines.vllm.rounding import expert_growth
from serveright.engines.vllm.sizing import resolve, size

__all__ = ["expert_growth", "launch_flags", "resolve", "settings_from_flags", "size"]
