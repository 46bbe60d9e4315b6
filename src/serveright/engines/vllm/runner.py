"""Which of vLLM's two model runners serves, and what that runner reserves before anything is profiled.

The second runner keeps counts of every token of the vocabulary for every running request (v1/worker/gpu/sample/penalties.py).
"""

from serveright.engines.vllm.scheduling import V1_ONLY_METHODS, Schedule
from serveright.types.engine import Settings
from serveright.types.hardware import Gpu
from serveright.types.model import Checkpoint, ModelShape, Recurrent
from serveright.types.vllm import VllmBehaviour

V2_ONLY_METHODS = ("dspark",)
_COUNT_BYTES, _MASK_BITS = 4, 32


def second_runner(shape: ModelShape, checkpoint: Checkpoint, behaviour: VllmBehaviour, settings: Settings) -> bool:
    """Whether the version's rule takes the second runner for this model (config/vllm.py use_v2_model_runner)."""
    rule, method = behaviour.runner_rule, settings.speculative_method
    if rule == "first":
        return False
    if method in V2_ONLY_METHODS:
        return True
    if method in V1_ONLY_METHODS:
        return False
    if rule == "second":
        return True
    listed = shape.architecture in behaviour.runner_listed
    experts = any(ffn.kind == "moe" for layer in shape.layers for ffn in layer.ffns)
    if rule == "listed_plain":
        return listed and not experts and checkpoint.method == "none"
    if rule == "listed":
        return listed
    recurrent = any(isinstance(mixer, Recurrent) for layer in shape.layers for mixer in layer.mixers)
    return listed or not (experts or recurrent)


def request_tables(shape: ModelShape, times: Schedule, *, second: bool) -> int:
    """Bytes the second runner keeps on the device for every request it may run: a count and a bit per entry of the vocabulary."""
    return times.max_num_seqs * (shape.vocab * _COUNT_BYTES + -(-shape.vocab // _MASK_BITS) * _COUNT_BYTES) if second else 0


def graphs_counted(gpu: Gpu, behaviour: VllmBehaviour, settings: Settings, *, second: bool) -> bool:
    """Whether the memory of graphs is estimated and taken from the cache's share: by version, maker of the GPU, and runner."""
    if settings.eager or not behaviour.graphs_counted or (second and not behaviour.graphs_counted_second):
        return False
    return gpu.vendor.lower() in behaviour.graphs_vendors
