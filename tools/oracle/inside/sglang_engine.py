"""SGLang's own argument resolution and pool sizing with GPU facts faked; no weights, no tensors. Runs inside the oracle's environment."""
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false

import contextlib
import json
import os
import sys
from types import SimpleNamespace
from typing import Any

import stand_ins

REST_GIB = 40.0
"""Memory left after weights in the recorded pool: an amount, so that the rule is tested and not the split of memory."""

RESOLVED = (
    "attention_backend", "prefill_attention_backend", "decode_attention_backend", "kv_cache_dtype", "page_size", "mem_fraction_static", "chunked_prefill_size",
    "max_prefill_tokens", "max_running_requests", "moe_runner_backend", "moe_a2a_backend", "fp8_gemm_runner_backend", "dsa_prefill_backend", "dsa_decode_backend",
    "quantization", "disable_radix_cache", "disable_overlap_schedule", "mamba_radix_cache_strategy", "uses_mamba_radix_cache", "mamba_track_interval",
    "mamba_ssm_dtype", "mamba_full_memory_ratio", "linear_attn_backend", "linear_attn_decode_backend", "linear_attn_prefill_backend", "swa_full_tokens_ratio",
    "disable_hybrid_swa_memory", "ep_size", "attn_dp_size", "disable_shared_experts_fusion", "schedule_conservativeness", "enable_mixed_chunk",
    "speculative_algorithm", "speculative_num_draft_tokens",
)  # fmt: skip
POOL_TERMS = (
    "_full_per_token", "_swa_per_token", "_full_layers_num", "_swa_layers_num", "_swa_full_tokens_ratio", "bytes_per_full_token", "bytes_per_swa_token",
    "kv_bytes", "indexer_bytes_per_token", "swa_ratio", "swa_cap_tokens", "ring_sizes", "num_layers_total",
)  # fmt: skip
CONFIGURED = (
    "max_total_num_tokens",
    "max_running_requests",
    "full_max_total_num_tokens",
    "swa_max_total_num_tokens",
    "c4_state_pool_size",
    "c128_state_pool_size",
)


def boot(setup: dict[str, Any]) -> None:
    """Imports the server's configuration code and fakes what it asks the GPU. Call once in a process."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    import transformers.audio_utils  # noqa: F401 - asks which packages are really there, before the stand-ins come
    from transformers import AutoConfig, AutoModel, AutoProcessor, AutoTokenizer, ProcessorMixin  # noqa: F401

    stand_ins.install(setup["absent"])
    import torch

    torch.version.cuda = torch.version.cuda or "13.0"
    import sglang.srt.layers.quantization as quantization
    import sglang.srt.mem_cache.kv_cache_configurator
    import sglang.srt.mem_cache.kv_cache_dtype
    import sglang.srt.model_executor.pool_configurator
    import sglang.srt.server_args  # noqa: F401
    from sglang.srt.runtime_context import override_platform

    # Registered on CUDA builds only, decided when the module is imported.
    for registry in (quantization.QUANTIZATION_METHODS, quantization.BASE_QUANTIZATION_METHODS):
        registry.setdefault("mxfp4", registry["fp8"])
    _answers(setup["gpu"])
    override_platform(**_platform(setup["gpu"]["capability"])).install()


def _platform(capability: list[int]) -> dict[str, Any]:
    major, minor = capability
    no = dict.fromkeys(("is_hip", "is_npu", "is_xpu", "is_musa", "is_mps", "has_amx"), False)
    return no | {
        "is_cuda": True, "is_sm90": major == 9, "is_sm100": major == 10, "is_sm100_or_sm110": major in (10, 11), "is_sm110": major == 11, "is_sm120": major == 12,
        "is_blackwell": major in (10, 12), "is_hopper_with_cuda_12_3": major == 9, "has_flashinfer": True, "device_sm": major * 10 + minor,
        "device_capability": (major, minor),
    }  # fmt: skip


def _answers(gpu: dict[str, Any]) -> None:
    """Every module that imported one of the engine's questions gets our answer."""
    import torch

    major = gpu["capability"][0]
    torch.cuda.get_device_capability = lambda *_, **__: tuple(gpu["capability"])
    answers = {
        "get_device_memory_capacity": gpu["mib"],
        "is_cuda": True,
        "is_sm90_supported": major == 9,
        "is_sm100_supported": major == 10,
        "is_sm120_supported": major == 12,
        "is_blackwell_supported": major in (10, 12),
    }
    for module in [m for name, m in sys.modules.items() if name.startswith("sglang")]:
        for name, value in answers.items():
            if callable(vars(module).get(name)):
                setattr(module, name, lambda *_, _value=value, **__: _value)
        if "_is_cuda" in vars(module):
            module._is_cuda = True


def size(job: dict[str, Any], setup: dict[str, Any]) -> dict[str, Any]:
    """One row. `job`: folder, tp, kv, mtp, flags (further ServerArgs fields)."""
    from sglang.srt.arg_groups.overrides import model_config_of, resolution_result
    from sglang.srt.runtime_context import SpawnRanks, publish
    from sglang.srt.server_args import ServerArgs

    options = {
        "model_path": job["folder"],
        "tp_size": job["tp"],
        "device": "cuda",
        "trust_remote_code": False,
        "load_format": "dummy",
        "kv_cache_dtype": job["kv"],
    }
    if job["mtp"]:
        options |= {
            "speculative_algorithm": "EAGLE",
            "speculative_num_steps": job["mtp"],
            "speculative_eagle_topk": 1,
            "speculative_num_draft_tokens": job["mtp"] + 1,
        }
    server = ServerArgs(**(options | job["flags"]))
    server.resolve_once()
    resolved: dict[str, Any] = {}
    for name in RESOLVED:
        with contextlib.suppress(AttributeError, KeyError):
            resolved[name] = resolution_result(server, name)
    graphs = resolution_result(server, "cuda_graph_config")
    resolved |= {"decode_graph_max_bs": graphs.decode.max_bs, "prefill_graph": str(graphs.prefill.backend), "prefill_graph_max_bs": graphs.prefill.max_bs}
    model = model_config_of(server)
    publish(server, role="scheduler", ranks=SpawnRanks(world_rank=0, gpu_id=0))
    row = {
        "status": "executed",
        "sglang": setup["version"],
        "architecture": model.hf_config.architectures[0],
        "attention_arch": str(model.attention_arch).rpartition(".")[2],
    }
    row["resolved"] = {k: v for k, v in resolved.items() if v is not None}
    return row | _pool(server, model, resolved, job)


def _pool(server: Any, model: Any, resolved: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    from sglang.srt.mem_cache.kv_cache_dtype import configure_kv_cache_dtype
    from sglang.srt.model_executor.pool_configurator import create_memory_pool_configurator
    from sglang.srt.runtime_context import get_parallel

    stored = kv_algorithm(job["folder"])
    text, dtype = configure_kv_cache_dtype(
        server_args_kv_cache_dtype=resolved["kv_cache_dtype"],
        model=SimpleNamespace(quant_config=SimpleNamespace(kv_cache_quant_algo=stored)),
        model_dtype=model.dtype,
        is_draft_worker=False,
        is_dflash=False,
        speculative_draft_attention_backend=None,
    )
    configurator = _configurator(server, model, resolved, dtype, text or resolved["kv_cache_dtype"])
    pool = create_memory_pool_configurator(configurator)
    terms = {name.lstrip("_"): getattr(pool, name) for name in POOL_TERMS if hasattr(pool, name)}
    shards = get_parallel().attn_tp_size
    per_token = terms.get("bytes_per_full_token", pool._cell_size if hasattr(pool, "_cell_size") else None)
    row = {"configurator": type(pool).__name__, "kv_dtype": str(dtype).removeprefix("torch."), "ckpt_kv_quant_algo": stored, "kv_bytes_per_token_per_gpu": per_token,
           "kv_heads_per_gpu": model.get_num_kv_heads(shards), "attn_tp_size": shards}  # fmt: skip
    row |= {"pool_terms": terms} if terms else {}
    return row | _state(configurator) | {"pool_at_40GiB_rest_memory": _configured(configurator, create_memory_pool_configurator)}


def _configurator(server: Any, model: Any, resolved: dict[str, Any], dtype: Any, dtype_text: str) -> Any:
    from sglang.srt.configs.model_config import AttentionArch
    from sglang.srt.mem_cache.kv_cache_configurator import KVCacheConfigurator
    from sglang.srt.model_executor.model_runner_components.layer_setup import resolve_layer_indices
    from sglang.srt.model_executor.model_runner_components.spec_aux_hidden_state import resolve_spec_aux_hidden_state_config
    from sglang.srt.runtime_context import get_parallel
    from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

    bare = SimpleNamespace()
    algorithm = SpeculativeAlgorithm.from_string(resolved.get("speculative_algorithm"))
    window = model.sliding_window_size if hasattr(model, "sliding_window_size") and model.sliding_window_size else None
    if window is None and hasattr(model.hf_text_config, "sliding_window"):
        window = model.hf_text_config.sliding_window
    given = {
        "device": "cuda", "gpu_id": 0, "attn_dp_size": get_parallel().attn_dp_size, "pp_size": 1, "pp_group": None, "model": bare, "model_config": model,
        "server_args": server, "kv_cache_dtype": dtype, "kv_cache_dtype_str": dtype_text, "model_dtype": model.dtype, "page_size": resolved["page_size"],
        "sliding_window_size": window, "spec_algorithm": algorithm, "is_draft_worker": False, "post_capture_kv_active": False,
        "spec_aux_config": resolve_spec_aux_hidden_state_config(server_args=server, model_config=model, spec_algorithm=algorithm, is_draft_worker=False),
        "is_hybrid_swa": model.is_hybrid_swa, "is_hybrid_swa_compress": model.is_hybrid_swa_compress, "use_mla_backend": model.attention_arch == AttentionArch.MLA,
        "layer_info": resolve_layer_indices(model=bare, model_config=model, is_draft_worker=False), "forward_stream": None, "req_to_token_pool": None,
        "token_to_kv_pool_allocator": None, "memory_pool_config": None,
    }  # fmt: skip
    return KVCacheConfigurator(**given)


def _state(configurator: Any) -> dict[str, Any]:
    mixer = configurator.mambaish_config
    if mixer is None:
        return {}
    cache = mixer.mamba2_cache_params
    return {
        "state": {
            "cls": type(cache).__name__, "layers": len(cache.layers), "full_attn_layers": len(mixer.full_attention_layer_ids),
            "conv_shape": [[int(n) for n in shape] for shape in cache.shape.conv], "temporal_shape": [int(n) for n in cache.shape.temporal],
            "conv_dtype": str(cache.dtype.conv), "ssm_dtype": str(cache.dtype.temporal), "bytes_per_slot": int(cache.mamba_cache_per_req),
            "slots_per_request": configurator._calculate_mamba_ratio(),
        }
    }  # fmt: skip


def _configured(configurator: Any, create: Any) -> dict[str, Any]:
    from sglang.srt.runtime_context import get_schedule

    rest = REST_GIB
    if configurator.mambaish_config is not None:
        rest = configurator._handle_max_mamba_cache(rest)
    config = configurator.config_from_budget(int(rest * (1 << 30)))
    config.max_running_requests = configurator.resolve_max_num_reqs(config.max_total_num_tokens)
    config = create(configurator).finalize_with_max_running_requests(config)
    row = {k: getattr(config, k) for k in CONFIGURED if getattr(config, k) is not None} | {"rest_after_mamba_gib": round(rest, 3)}
    if configurator.mambaish_config is not None:
        row["max_mamba_cache_size"] = get_schedule().max_mamba_cache_size
    return row


def kv_algorithm(folder: str) -> str | None:
    """The KV format a ModelOpt checkpoint declares; the engine reads it from the quantisation object it builds with the weights."""
    with open(f"{folder}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    quant = config.get("quantization_config") or (config.get("text_config") or {}).get("quantization_config") or {}
    side = f"{folder}/hf_quant_config.json"
    if os.path.exists(side):
        with open(side, encoding="utf-8") as file:
            quant = (json.load(file).get("quantization") or {}) | quant
    scheme = quant.get("kv_cache_scheme") or {}
    if (
        not quant.get("kv_cache_quant_algo")
        and scheme.get("type") == "float"
        and scheme.get("num_bits") == 8
        and str(quant.get("quant_method", "")).startswith("modelopt")
    ):
        return "FP8"
    return quant.get("kv_cache_quant_algo")
