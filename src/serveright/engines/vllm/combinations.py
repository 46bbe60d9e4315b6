"""Limits of attention backends that join several facts: FlashAttention's version by device and head, FlashInfer's nvfp4, sparse kernels by geometry.

Each function answers for one backend in the engine's own words. Follows `v1/attention/backends/` of the engine.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from serveright.engines.vllm.words import quantised
from serveright.types.vllm import BackendRule

_COMPOSITES = {"TRITON_FLASH_ATTN": "FLASH_ATTN", "TRITON_FLASHINFER": "FLASHINFER"}
_FLASH = ("FLASH_ATTN", "FLASH_ATTN_DIFFKV", "TRITON_FLASH_ATTN")
PLATFORMS = ("nvidia", "amd")
"""Vendors whose attention kernels vLLM's own packages hold."""


class Device(Struct, frozen=True, kw_only=True):
    """A device as the engine asks for it; `sm` is 0 off CUDA."""

    sm: int
    name: str
    vendor: str = "nvidia"
    aiter: bool = False
    """AMD's AITER kernels are switched on."""

    @property
    def major(self) -> int:
        """9 for sm_90, 12 for sm_121."""
        return self.sm // 10

    @property
    def version(self) -> str:
        """`9.0`."""
        return f"{self.sm // 10}.{self.sm % 10}"


class Ask(Struct, frozen=True, kw_only=True):
    """One attention layer's demand on a backend; `block` 0 where the user set none."""

    kind: str
    """dense | latent | sparse_latent."""
    head_size: int
    head_size_v: int
    dtype: str
    kv_dtype: str
    heads: int
    kv_heads: int = 1
    block: int = 0
    sinks: bool = False
    mm_prefix: bool = False
    sliding: bool = False
    dcp: bool = False
    forced_fa: int = 0
    """FlashAttention version that the model's own hook sets; 0: none."""
    model_head_size: int = 0
    """Head size of the model as a whole, which some checks ask for instead of the layer's."""
    nope_dim: int = 0
    rope_dim: int = 0
    v_head_dim: int = 0
    lora_rank: int = 0
    topk: int = 0
    dcp_size: int = 1


def has_fa4(device: Device) -> bool:
    """FlashAttention 4 runs on sm_9x, 10x and 11x."""
    return device.major in (9, 10, 11)


def flash_version(ask: Ask, device: Device, *, whole_model: bool = False, hd256: bool = False) -> int:
    """The FlashAttention version for a layer, 0 where none runs; `whole_model` asks without a head size."""
    if device.sm < 80:
        return 0
    head = 0 if whole_model else ask.head_size
    version = {9: 3, 10: 4}.get(device.major, 2)
    if ask.forced_fa:
        version = ask.forced_fa
    if device.major >= 10 and version == 3:
        version = 4 if has_fa4(device) else 2
    if version == 3 and (head > 256 or (ask.sinks and not whole_model and head != ask.head_size_v)):
        version = 4
    if version == 4 and head == 256 and device.major in (10, 11) and (not hd256 or _hd256_blocked(ask)):
        version = 2
    wide = head > 128 and not (head == 256 and ask.head_size_v in (0, 256)) and not (head == 192 and ask.head_size_v == 128)
    if version == 4 and device.major >= 10 and wide:
        version = 2
    return version if version != 4 or has_fa4(device) else 0


def _hd256_blocked(ask: Ask) -> bool:
    return ask.sinks or quantised(ask.kv_dtype) or bool(ask.block % 128) or ask.mm_prefix or ask.dcp


def flash_takes_fp8(ask: Ask, device: Device, *, whole_model: bool = False) -> bool:
    """FlashAttention reads an fp8 cache: version 3 (or 4 with 512 wide heads) on sm_90, version 4 on sm_10x."""
    if ask.kv_dtype == "fp8_e5m2":
        return False
    version = flash_version(ask, device, whole_model=whole_model, hd256=True)
    if device.major == 9:
        return version == 3 or (version == 4 and (whole_model or ask.head_size == 512))
    return version == 4 and device.major == 10


def head_fits(rule: BackendRule, ask: Ask, device: Device) -> bool:
    """The head size is within the class's limits; FlashAttention's limit rises to 512 where version 4 runs."""
    head = ask.head_size
    if rule.name in ("FLASH_ATTN", "FLASH_ATTN_DIFFKV"):
        return head % rule.head_multiple == 0 and head <= (512 if has_fa4(device) else rule.max_head)
    if rule.head_sizes and head not in rule.head_sizes:
        return False
    return head % rule.head_multiple == 0 and head >= rule.min_head and (not rule.max_head or head <= rule.max_head)


def kv_fits(rule: BackendRule, ask: Ask, device: Device) -> bool:
    """The cache dtype is declared, and the device can serve it."""
    if ask.kv_dtype not in rule.kv_dtypes:
        return False
    if rule.name in _FLASH and quantised(ask.kv_dtype):
        return flash_takes_fp8(ask, device, whole_model=True)
    if rule.name == "FLASHINFER" and ask.kv_dtype.startswith("nvfp4"):
        return ask.kv_dtype == "nvfp4" if device.major in (8, 9, 12) else device.major == 10
    return True


def mm_prefix_fits(rule: BackendRule, device: Device) -> bool:
    """Image tokens may attend both ways."""
    return has_fa4(device) if rule.name in ("FLASH_ATTN", "FLASH_ATTN_DIFFKV") else rule.mm_prefix


def sinks_fit(rule: BackendRule, device: Device) -> bool:
    """Attention sinks are served."""
    if rule.name in ("FLASH_ATTN", "FLASH_ATTN_DIFFKV"):
        return device.major in (9, 10)
    if rule.name == "FLASHINFER":
        return device.sm == 90 or device.major in (10, 12)
    return rule.sinks


def special_blocks(rule: BackendRule, ask: Ask, device: Device) -> tuple[tuple[int, ...], int]:
    """(exact sizes, multiple): the class's own sizes, or those a wide head, a quantised cache or a large-page kernel asks for."""
    if rule.name in _FLASH:
        special = flash_block(rule, ask, device)
        return ((special,), 0) if special else ((), rule.block_multiple)
    if rule.name == "FLASHINFER" and device.major == 10 and ask.kv_heads and ask.heads // ask.kv_heads > 1 and ask.heads % ask.kv_heads == 0:
        return (16, 32, 64, 128, 256, 512, 1024), 0
    if rule.name == "FLASHMLA_SPARSE" and device.major == 10 and quantised(ask.kv_dtype):
        return (64,), 0
    return rule.blocks, rule.block_multiple


def flash_block(rule: BackendRule, ask: Ask, device: Device) -> int:
    """The page FlashAttention's wide-head kernels demand, 0 where none does."""
    if device.major == 9 and ask.kv_dtype in ("fp8", "fp8_e4m3") and ask.head_size == 512 and flash_version(ask, device) == 4:
        return 64
    if ask.head_size == 256 and device.major in (10, 11) and ask.head_size_v in (0, 256) and flash_version(ask, device, hd256=True) == 4:
        return 128
    return 0


def reason(name: str, ask: Ask, device: Device) -> str | None:
    """Why the facts taken together turn the backend down, in the engine's words."""
    inner = _COMPOSITES.get(name)
    if inner is not None:
        return _composite(name, inner, ask, device)
    check = _CHECKS.get(name)
    return check(ask, device) if check else None


def _composite(name: str, inner: str, ask: Ask, device: Device) -> str | None:
    plain = replace(ask, mm_prefix=False)
    found = _CHECKS[inner](plain, device)
    if found is None and name == "TRITON_FLASH_ATTN" and flash_version(ask, device, hd256=True) not in (3, 4):
        found = "causal route requires FlashAttention v3 or v4"
    return f"{inner}: {found}" if found else None


def _flash(ask: Ask, device: Device) -> str | None:
    if ask.sinks and device.sm < 90:
        return "sink not supported on compute capability < 9.0"
    if ask.mm_prefix and quantised(ask.kv_dtype) and device.sm == 90:
        return "SM90 FP8 KV with mm_prefix requires Triton"
    if quantised(ask.kv_dtype) and not flash_takes_fp8(ask, device):
        return "FP8 KV cache requires FA3 on SM90, FA4 with head_size=512 on SM90, or FA4 on SM100"
    if ask.mm_prefix and flash_version(ask, device, hd256=True) != 4:
        return "mm_prefix (PrefixLM bidirectional attention) requires FlashAttention v4, which does not resolve for this head_size"
    return None


def _flashinfer(ask: Ask, device: Device) -> str | None:
    if ask.kv_dtype.startswith("nvfp4") and device.major in (8, 9, 12):
        if ask.head_size == 64:
            return "fa2 prefill misreads an NVFP4 KV cache at head_size 64"
        if ask.sinks:
            return "the sink prefill wrapper cannot read an NVFP4 KV cache"
    return None


def _flash_mla(_: Ask, device: Device) -> str | None:
    return None if device.major == 9 else "FlashAttention MLA not supported on this device"


def _flashmla(ask: Ask, device: Device) -> str | None:
    if ask.kind == "sparse_latent":
        return None if device.major in (9, 10) else "FlashMLA Sparse is only supported on Hopper and Blackwell DC devices."
    return None if device.major == 9 else "FlashMLA Dense is only supported on Hopper devices."


def _flashinfer_mla(ask: Ask, _: Device) -> str | None:
    if ask.nope_dim not in (64, 128, 192):
        return f"FlashInfer MLA kernel requires qk_nope_head_dim in [64, 128, 192], but got {ask.nope_dim}"
    return None


def _tokenspeed(ask: Ask, _: Device) -> str | None:
    dims = (ask.nope_dim, ask.rope_dim, ask.v_head_dim)
    if dims != (128, 64, 128):
        wanted = "(qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128)"
        return f"tokenspeed_mla requires DeepSeek R1 MLA dimensions {wanted}, got {dims}"
    return None


def _flash_sparse(ask: Ask, device: Device) -> str | None:
    if ask.kv_dtype not in ("auto", "float16", "bfloat16"):
        return "FlashAttention MLA Sparse currently supports only FP16/BF16 KV cache"
    if device.major != 9:
        return "FlashAttention MLA not supported on this device"
    return "FlashAttention MLA Sparse does not support DCP for now" if ask.dcp else None


def _flash_sparse_fa4(ask: Ask, device: Device) -> str | None:
    if ask.topk % 128:
        return f"FA4 sparse MLA requires index_topk % 128 == 0, got {ask.topk}"
    if (ask.lora_rank, ask.rope_dim) != (512, 64):
        return f"FA4 sparse MLA requires (kv_lora_rank, qk_rope_head_dim) == (512, 64), got {(ask.lora_rank, ask.rope_dim)}"
    counts = (8, 16, 32, 64) if ask.dcp_size > 1 else (8, 16, 32, 64, 128)
    if ask.heads * ask.dcp_size not in counts:
        return f"FA4 sparse MLA requires {counts} gathered query heads, got num_heads={ask.heads} * dcp_size={ask.dcp_size}"
    return _flashinfer_sparse(ask, device)


def _flashmla_sparse(ask: Ask, device: Device) -> str | None:
    if ask.head_size == 512:
        if ask.kv_dtype not in ("auto", "bfloat16", "float16", "fp8_ds_mla") or device.major != 9:
            return (
                "FLASHMLA_SPARSE supports head_size 512 only with bf16 or fp8_ds_mla kv-cache on SM90 (NoPE), "
                f"got kv_cache_dtype={ask.kv_dtype}, capability=DeviceCapability(major={device.major}, minor={device.sm % 10})"
            )
        if ask.rope_dim:
            return "FLASHMLA_SPARSE supports head_size 512 only for rope-free (NoPE) models"
    if ask.kv_dtype == "nvfp4_ds_mla" and device.major != 10:
        return f"FLASHMLA_SPARSE only supports the {ask.kv_dtype} kv-cache dtype on SM100 (Blackwell)"
    return None


def _flashinfer_sparse(ask: Ask, _: Device) -> str | None:
    if ask.kv_dtype == "fp8_ds_mla":
        return "FLASHINFER_MLA_SPARSE SM10 does not support fp8_ds_mla kv-cache dtype"
    if ask.rope_dim == 0:
        if (ask.nope_dim, ask.lora_rank) != (256, 512):
            wanted = "qk_nope_head_dim=256 and kv_lora_rank=512"
            return f"FlashInfer native no-rope MLA requires {wanted}, but got qk_nope_head_dim={ask.nope_dim}, kv_lora_rank={ask.lora_rank}"
    elif ask.nope_dim not in (128, 192):
        return f"FlashInfer MLA Sparse kernel requires qk_nope_head_dim in [128, 192], but got {ask.nope_dim}"
    return None


def _flashinfer_sparse_sm90(ask: Ask, _: Device) -> str | None:
    if ask.kind != "sparse_latent":
        return "FLASHINFER_MLA_SPARSE_SM90 requires sparse MLA"
    if ask.lora_rank != 512:
        return "FLASHINFER_MLA_SPARSE_SM90 requires kv_lora_rank=512"
    return None if ask.rope_dim in (0, 64) else "FLASHINFER_MLA_SPARSE_SM90 requires qk_rope_head_dim in (0, 64)"


def _flashinfer_sparse_sm120(ask: Ask, _: Device) -> str | None:
    if ask.dtype != "bfloat16":
        return "dtype not supported"
    if ask.kv_dtype not in ("auto", "fp8", "fp8_e4m3", "fp8_ds_mla"):
        return "kv_cache_dtype not supported"
    return None if ask.topk == 2048 else f"FLASHINFER_MLA_SPARSE_SM120 requires index_topk=2048; got {ask.topk}"


_CHECKS: dict[str, Callable[[Ask, Device], str | None]] = {
    "FLASH_ATTN": _flash,
    "FLASHINFER": _flashinfer,
    "FLASH_ATTN_MLA": _flash_mla,
    "FLASHMLA": _flashmla,
    "FLASHINFER_MLA": _flashinfer_mla,
    "TOKENSPEED_MLA": _tokenspeed,
    "FLASH_ATTN_MLA_SPARSE": _flash_sparse,
    "FLASH_ATTN_MLA_SPARSE_FA4": _flash_sparse_fa4,
    "FLASHMLA_SPARSE": _flashmla_sparse,
    "FLASHINFER_MLA_SPARSE": _flashinfer_sparse,
    "FLASHINFER_MLA_SPARSE_SM90": _flashinfer_sparse_sm90,
    "FLASHINFER_MLA_SPARSE_SM120": _flashinfer_sparse_sm120,
}
