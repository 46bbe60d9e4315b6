"""vLLM's own sizing code on the meta device: builds the model, aligns blocks, groups specs, asks what one request is charged. Runs inside the oracle's environment."""
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportIncompatibleVariableOverride=false

import importlib
import json
import math
import os
from types import SimpleNamespace
from typing import Any

import stand_ins

SPEC_KEYS = (
    "num_kv_heads", "head_size", "head_size_v", "sliding_window", "attention_chunk_size", "page_size_padded", "cache_dtype_str", "alignment", "shapes",
    "mamba_cache_mode", "num_speculative_blocks", "num_prefill_checkpoint_blocks", "prefill_checkpoint_alignment", "extra_retained_tokens",
)  # fmt: skip
HUGE = 1 << 28
"""Elements of a host tensor that is not made for real."""
SHARED_IMPORTS = (
    "vllm.engine.arg_utils", "vllm.model_executor.layers.attention", "vllm.v1.core.kv_cache_utils", "vllm.v1.core.kv_cache_planning",
    "vllm.compilation.passes.fusion.allreduce_rms_fusion", "vllm.model_executor.layers.fused_moe", "vllm.v1.worker.gpu.attn_utils",
    "vllm.v1.worker.worker_base", "vllm.v1.worker.workspace", "vllm.model_executor.models.qwen3_next", "vllm.model_executor.models.deepseek_v2",
)  # fmt: skip
"""What nearly every model imports: imported once before the children fork, which makes a case three times as fast."""


def boot(setup: dict[str, Any]) -> None:
    """Imports the engine with a faked CUDA platform. Call once in a process."""
    os.environ |= {"VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "VLLM_HAS_FLASHINFER_CUBIN": "1",
                   "VLLM_TARGET_DEVICE": "cuda", "CUDA_VISIBLE_DEVICES": "0", "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}  # fmt: skip
    from transformers import AutoConfig, AutoModel, AutoProcessor, AutoTokenizer  # noqa: F401 - asks which packages are really there, before the stand-ins come

    stand_ins.install(setup["absent"])
    import pretend_cuda

    pretend_cuda.pretend(setup["gpu"], ("_C", "_moe", "_rocm", "_qutlass", "_flashmla", "_vllm", "_deepselect", "_flashkda"))
    _platform(setup["gpu"])
    import vllm.model_executor.models.registry as registry
    import vllm.utils.import_utils as imports

    for name in [n for n in dir(imports) if n.startswith("has_") and n.removeprefix("has_") in setup["present"]]:
        setattr(imports, name, lambda *_, **__: True)
    # The registry inspects classes in a subprocess, which would not know our stand-ins.
    registry._LazyRegisteredModel.inspect_model_cls = lambda self: registry._ModelInfo.from_model_cls(self.load_model_cls())
    for name in SHARED_IMPORTS:
        importlib.import_module(name)


def _platform(gpu: dict[str, Any]) -> None:
    import vllm.platforms as platforms
    from vllm.platforms.cuda import CudaPlatformBase
    from vllm.platforms.interface import DeviceCapability

    major, minor = gpu["capability"]

    class Pretended(CudaPlatformBase):
        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> Any:
            return DeviceCapability(major, minor)

        @classmethod
        def has_device_capability(cls, capability: Any, device_id: int = 0) -> bool:
            wanted = capability[0] * 10 + capability[1] if isinstance(capability, tuple) else capability
            return major * 10 + minor >= wanted

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:
            return gpu["name"]

        @classmethod
        def get_device_uuid(cls, device_id: int = 0) -> str:
            return "GPU-0"

        @classmethod
        def get_device_total_memory(cls, device_id: int = 0) -> int:
            return gpu["bytes"]

        @classmethod
        def is_fully_connected(cls, ids: Any) -> bool:
            return True

        @classmethod
        def device_count(cls) -> int:
            return 8

        @classmethod
        def num_compute_units(cls, device_id: int = 0) -> int:
            return gpu["sm_count"]

        @classmethod
        def log_warnings(cls) -> None:
            return None

        @classmethod
        def import_kernels(cls) -> None:
            return None

    platforms._current_platform = platforms.current_platform = Pretended()


class Group:
    """A process group of `size` of which this process is rank 0."""

    device_communicator = mq_broadcaster = None
    use_device_communicator = use_custom_op_call = False
    rank = rank_in_group = local_rank = first_rank = next_rank = prev_rank = 0
    is_first_rank = is_last_rank = True

    def __init__(self, size: int, name: str) -> None:
        import torch

        self.world_size, self.unique_name, self.last_rank = size, name, size - 1
        self.ranks, self.device = list(range(size)), torch.device("cuda:0")
        self.device_group = self.cpu_group = SimpleNamespace(size=lambda: size, rank=lambda: 0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **_: given[0] if given else None


def _groups(tp: int) -> None:
    import torch.distributed
    import vllm.distributed.parallel_state as state

    sizes = {"_TP": tp, "_PP": 1, "_DP": 1, "_EP": tp, "_EPLB": tp, "_DCP": 1, "_PCP": 1, "_WORLD": tp, "_INNER_DP_WORLD": tp, "_ETP": tp}
    for name, size in sizes.items():
        setattr(state, name, Group(size, name))
    state._NODE_COUNT = 1
    torch.distributed.is_initialized = lambda: True
    torch.distributed.get_rank = lambda *_, **__: 0
    torch.distributed.get_world_size = lambda *_, **__: tp


def _shape(given: Any) -> Any:
    return given[0] if isinstance(given[0], (tuple, list)) else [n for n in given if isinstance(n, int)]


def _to_meta() -> Any:
    import torch
    from torch.overrides import TorchFunctionMode

    def moved(device: Any) -> Any:
        on_gpu = (isinstance(device, torch.device) and device.type == "cuda") or (isinstance(device, str) and device.startswith("cuda"))
        return torch.device("meta") if on_gpu else device

    class ToMeta(TorchFunctionMode):
        """Every tensor asked for on the GPU is made on the meta device."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = dict(kwargs or {})
            options.pop("pin_memory", None)
            if "device" in options:
                index = isinstance(options["device"], int) and not isinstance(options["device"], bool)
                options["device"] = torch.device("meta") if index else moved(options["device"])
            name = func.__name__ if hasattr(func, "__name__") else ""
            if name == "cuda" or (name in ("cpu", "numpy") and args[0].device.type == "meta"):
                return args[0].to("meta")
            if name == "item" and args[0].device.type == "meta":
                return 0.0  # a weight's value, which no size hangs on
            if name in ("empty", "zeros") and str(options.get("device", "cpu")) == "cpu" and args and math.prod(_shape(args)) > HUGE:
                options["device"] = torch.device("meta")  # look-up tables kept in the host's memory
            if name == "to":
                args = (args[0], *(moved(a) for a in args[1:]))
            return func(*args, **options)

    return ToMeta()


def size(job: dict[str, Any], setup: dict[str, Any]) -> dict[str, Any]:
    """One row. `job`: folder (holds config.json), tp, kv, mtp, lengths, flags (further EngineArgs fields)."""
    import torch
    from vllm.engine.arg_utils import EngineArgs
    from vllm.platforms import current_platform
    from vllm.usage.usage_lib import UsageContext

    _groups(job["tp"])
    longest = max(job["lengths"])
    options = {"model": job["folder"], "load_format": "dummy", "tensor_parallel_size": job["tp"], "kv_cache_dtype": job["kv"], "skip_tokenizer_init": True,
               "max_model_len": longest, "skip_mm_profiling": True, "distributed_executor_backend": "mp" if job["tp"] > 1 else None}  # fmt: skip
    if job["mtp"]:
        options["speculative_config"] = {"method": "mtp", "num_speculative_tokens": job["mtp"]}
    config = EngineArgs(**(options | job["flags"])).create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)
    built = _build(config, job, torch)
    current_platform.update_block_size_for_backend(config)
    return _described(config, job) | {"vllm": setup["version"], **built}


def _build(config: Any, job: dict[str, Any], torch: Any) -> dict[str, Any]:
    from vllm.config import set_current_vllm_config
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.v1.worker.workspace import init_workspace_manager

    init_workspace_manager(torch.device("meta"))
    with torch.device("meta"), _to_meta(), set_current_vllm_config(config):
        torch.set_default_dtype(config.model_config.dtype)
        model = initialize_model(config)
        asked = config.speculative_config
        if asked is not None and asked.draft_model_config is not None:
            from vllm.compilation.backends import set_model_tag

            with set_model_tag("drafter"):
                _draft(config, asked, initialize_model)
        torch.set_default_dtype(torch.float32)
    held = list(model.parameters())
    return {"moe_backends": _experts(model), "parameters_per_gpu": sum(p.numel() for p in held), "weight_bytes_per_gpu": sum(p.nbytes for p in held)}


def _draft(config: Any, asked: Any, initialize_model: Any) -> None:
    """The draft's layers beside the target's: heads of all kinds under the target's configuration, a whole model under one of its own."""
    if asked.uses_draft_model():
        from vllm.config import replace

        own = replace(config, model_config=asked.draft_model_config, quant_config=None, parallel_config=replace(asked.draft_parallel_config, rank=0))
        initialize_model(own, prefix="draft_model")
    else:
        initialize_model(config, model_config=asked.draft_model_config)


def _experts(model: Any) -> list[str]:
    """Kernels of the routed experts, as their quantisation methods chose them."""
    methods = [m.quant_method for m in model.modules() if hasattr(m, "quant_method")]
    return sorted({str(value.name) for m in methods for name, value in vars(m).items() if name.endswith("_backend") and hasattr(value, "name")})


def _described(config: Any, job: dict[str, Any]) -> dict[str, Any]:
    import vllm.v1.kv_cache_interface as kinds
    from vllm.config import set_current_vllm_config
    from vllm.v1.attention.backends.utils import resolve_kv_cache_layout
    from vllm.v1.core import kv_cache_planning as planning
    from vllm.v1.core.kv_cache_config_builder import get_kv_cache_config_builder
    from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec
    from vllm.v1.worker.worker_base import get_current_attn_backends, get_supported_kv_cache_layouts

    with set_current_vllm_config(config):
        specs = get_kv_cache_spec(config)
        backends = get_current_attn_backends(config)
        layout = resolve_kv_cache_layout(config, [[x.name for x in get_supported_kv_cache_layouts(backends)]], list(specs.values()))
        groups = planning.get_global_kv_cache_groups(config, [specs])
        builder = get_kv_cache_config_builder(config)
        per_block = planning._pool_bytes_per_block_from_builder(builder, config, groups) if groups else 0
        request, blocks = {}, {}
        for length in job["lengths"]:
            config.model_config.max_model_len = length
            request[str(length)] = planning._max_memory_usage_bytes_from_groups(builder, config, groups)
            blocks[str(length)] = [_blocks(g.kv_cache_spec, config, kinds) for g in groups]
    cache, schedule = config.cache_config, config.scheduler_config
    return {
        "architecture": config.model_config.architectures, "how": "executed", "resolved_cache_dtype": cache.cache_dtype,
        "model_dtype": str(config.model_config.dtype), "block_size": cache.block_size, "mamba_block_size": cache.mamba_block_size,
        "mamba_page_size_padded": cache.mamba_page_size_padded, "mamba_cache_mode": cache.mamba_cache_mode, "mamba_ssm_cache_dtype": cache.mamba_ssm_cache_dtype,
        "enable_prefix_caching": cache.enable_prefix_caching, "kv_layout": layout.name, "attn_backends": sorted({b.get_name() for b in backends}),
        "max_num_batched_tokens": schedule.max_num_batched_tokens, "max_num_seqs": schedule.max_num_seqs, "max_in_flight_tokens": config.max_in_flight_tokens,
        "async_scheduling": schedule.async_scheduling, "chunked_prefill": schedule.enable_chunked_prefill,
        "disable_hybrid_kv_cache_manager": schedule.disable_hybrid_kv_cache_manager, "per_layer_specs": _layers(specs, kinds), "num_cache_layers": len(specs),
        "num_groups": len(groups), "groups": [_group(g, kinds) for g in groups], "pool_bytes_per_block": per_block, **_totals(specs, kinds),
        "bytes_for_one_request": request, "blocks_for_one_request_per_group": blocks, "num_speculative_tokens": job["mtp"],
    }  # fmt: skip


def _blocks(spec: Any, config: Any, kinds: Any) -> int:
    if isinstance(spec, kinds.UniformTypeKVCacheSpecs):
        return spec.max_memory_usage_pages(config)
    return -(-spec.max_memory_usage_bytes(config) // spec.page_size_bytes)


def _totals(specs: dict[str, Any], kinds: Any) -> dict[str, Any]:
    bounded = (kinds.SlidingWindowSpec, kinds.ChunkedLocalAttentionSpec, kinds.CircularBufferSpec)
    growing = [s for s in specs.values() if isinstance(s, kinds.AttentionSpec) and not isinstance(s, bounded)]
    windows = [s for s in specs.values() if isinstance(s, bounded[:2])]
    states = [s for s in specs.values() if isinstance(s, kinds.MambaSpec)]
    return {
        "bytes_per_token_total_per_gpu": sum(s.unpadded_page_size_bytes / s.block_size for s in growing),
        "bytes_per_token_full_attn_padded_pages": sum(s.page_size_bytes / s.block_size for s in growing),
        "bytes_per_token_window_layers_per_gpu": sum(s.unpadded_page_size_bytes / s.block_size for s in windows),
        "state_bytes_per_seq_per_gpu": sum(s.state_content_size_bytes for s in states),
        "state_bytes_per_block_padded_per_gpu": sum(s.page_size_bytes for s in states),
    }


def _group(group: Any, kinds: Any) -> dict[str, Any]:
    spec = group.kv_cache_spec
    uniform = isinstance(spec, kinds.UniformTypeKVCacheSpecs)
    pages = [(spec.kv_cache_specs[n] if uniform else spec).page_size_bytes for n in group.layer_names]
    first = spec.first_spec if uniform else spec
    return {
        "kind": kinds.get_kv_cache_spec_kind(spec).value,
        "uniform_wrapper": uniform,
        "num_layers": len(group.layer_names),
        "block_size": spec.block_size,
        "page_size_bytes": None if uniform else spec.page_size_bytes,
        "sum_page_bytes": sum(pages),
        "sliding_window": first.sliding_window if hasattr(first, "sliding_window") else None,
    }


def _layers(specs: dict[str, Any], kinds: Any) -> list[dict[str, Any]]:
    alike: dict[str, list[str]] = {}
    for name, spec in specs.items():
        alike.setdefault(json.dumps(_spec(spec, kinds), default=str, sort_keys=True), []).append(name)
    return [json.loads(text) | {"num_layers": len(names), "layers_example": [names[0], names[-1]]} for text, names in alike.items()]


def _spec(spec: Any, kinds: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"type": type(spec).__name__, "block_size": spec.block_size, "page_size_bytes": spec.page_size_bytes}
    row |= {k: v for k in SPEC_KEYS if hasattr(spec, k) and (v := getattr(spec, k)) is not None and v is not False}
    if hasattr(spec, "dtype"):
        row["dtype"] = str(spec.dtype).removeprefix("torch.")
    if hasattr(spec, "dtypes"):
        row["dtypes"] = [str(d).removeprefix("torch.") for d in spec.dtypes]
    if isinstance(spec, kinds.MambaSpec):
        row["state_bytes_unpadded"] = spec.state_content_size_bytes
    elif hasattr(spec, "unpadded_page_size_bytes"):
        row |= {"unpadded_page_size_bytes": spec.unpadded_page_size_bytes, "bytes_per_token": spec.unpadded_page_size_bytes / spec.block_size}
    return row
