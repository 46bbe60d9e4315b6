"""Small models and GPUs for the performance tests, and a calibration with round factors."""

from serveright.analysis.work import ModelWork, model_work
from serveright.types.calibration import Calibration, ExpertKernel, Hardware, Scheduling
from serveright.types.engine import Capacity, EngineLayout, MemorySplit, Resolved, Settings, Sized
from serveright.types.hardware import Gpu, Interconnect
from serveright.types.model import Attention, Ffn, Latent, Layer, ModelShape, NumberFormat, Weight

BF16 = NumberFormat(name="bf16", bits=16)
FP8 = NumberFormat(name="fp8", bits=8, activation_bits=8)
HARDWARE = Hardware(
    dense_bandwidth=0.88, expert_bandwidth=1.0, expert_floor=0.6, cache_bandwidth=0.75, dense_compute=0.9, expert_compute=1.0, attention_compute=0.35,
    routing_spread=0.88, kernel_s=4.5e-6, kernel_width=0.5, latent_kernel=1.0, recurrent_kernel=1.2, expert_kernel=1.0, step_s=4e-4, sequence_s=3e-6,
    collective_latency=0.6, collective_bandwidth=0.6, exchange_bandwidth=0.6, prefill_fixed=0.4, overlap=0.9, queue=0.7,
)  # fmt: skip
FORMATS = {"bf16": 16, "fp8": 8, "int4": 16, "mxfp4": 8, "nvfp4": 4, "mxfp4-unpacked": 16, "nvfp4-unpacked": 16}
EXPERT_KERNELS = {f"*/*/{name}": ExpertKernel(floor_s=3e-5, bandwidth=0.75, compute=0.25, bits=bits) for name, bits in FORMATS.items()}
INTERVALS = {f"{name}{tail}": (0.7, 1.4) for name in ("tpot", "throughput", "ttft_mean", "ttft_median") for tail in ("", "/unseen")}
CALIBRATION = Calibration(
    source="test", as_of="2026-11-29", rows=0, hardware=HARDWARE, gemm={"bf16": 0.76, "fp16": 0.76, "fp8": 0.56, "int8": 0.56, "fp4": 0.4},
    collective_s={"nvlink": 5e-6, "xgmi": 1e-5, "pcie": 2.5e-5, "network": 2.5e-5}, expert_kernels=EXPERT_KERNELS,
    scheduling={"*/*": Scheduling(request_s=0.03, poll_steps=3)}, interval=INTERVALS,
)  # fmt: skip


def gpu(bandwidth: float = 4.8e12, *, linked: bool = True, memory: float = 150e9, flops: float = 1e15) -> Gpu:
    return Gpu(
        key="test", name="Test", vendor="NVIDIA", architecture="Hopper", capability=(9, 0), memory_bytes=int(memory), memory_marketing_bytes=int(memory),
        bandwidth_bytes_per_s=bandwidth, flops={"bf16": flops, "fp8": 2 * flops},
        interconnect=Interconnect(kind="NVLink4", bus_bytes_per_s=450e9 if linked else None, pcie_bytes_per_s=64e9, domain_gpus=8 if linked else 1),
        gpus_per_node=8, price_usd_per_hour=4.0,
    )  # fmt: skip


def _weight(path: str, part: str, shape: tuple[int, ...], shard: str, layer: int | None = None, copies: int = 1) -> Weight:
    return Weight(path=path, part=part, shape=shape, shard=shard, layer=layer, copies=copies)  # type: ignore[arg-type]


def dense(layers: int = 32, hidden: int = 4096) -> ModelShape:
    """A Llama-8B-like model: 32 query heads, 8 KV heads of 128."""
    mixer = Attention(kind="full", query_heads=32, kv_heads=8, head_dim=128, v_head_dim=128)
    block = tuple(Layer(index=i, mixers=(mixer,), ffns=(Ffn(kind="dense", intermediate=14336),)) for i in range(layers))
    weights = [_weight("lm_head", "head", (128256, hidden), "vocab")]
    for i in range(layers):
        weights.append(_weight(f"l.{i}.qkvo", "attention", (10240, hidden), "column", i))
        weights.append(_weight(f"l.{i}.mlp", "mlp", (3 * 14336, hidden), "column", i))
    return _shape("dense", hidden, block, weights)


def latent(layers: int = 61, hidden: int = 7168) -> ModelShape:
    """A DeepSeek-R1-like model: latent attention, 256 experts of which 8 are visited, one shared."""
    mixer = Latent(kind="mla", query_heads=128, kv_lora_rank=512, rope_dim=64, nope_dim=128, v_head_dim=128, q_lora_rank=1536)
    moe = Ffn(kind="moe", intermediate=2048, experts=256, experts_per_token=8, shared_experts=1, shared_intermediate=2048)
    block = tuple(Layer(index=i, mixers=(mixer,), ffns=(moe if i > 2 else Ffn(kind="dense", intermediate=18432),)) for i in range(layers))
    weights = [_weight("lm_head", "head", (129280, hidden), "vocab")]
    for i in range(layers):
        weights.append(_weight(f"l.{i}.attention", "attention", (26100, hidden), "column", i))
        if i > 2:
            weights.append(_weight(f"l.{i}.experts.*", "experts", (3 * 2048, hidden), "experts", i, copies=256))
            weights.append(_weight(f"l.{i}.shared", "shared_experts", (3 * 2048, hidden), "column", i))
        else:
            weights.append(_weight(f"l.{i}.mlp", "mlp", (3 * 18432, hidden), "column", i))
    return _shape("latent", hidden, block, weights)


def _shape(name: str, hidden: int, layers: tuple[Layer, ...], weights: list[Weight]) -> ModelShape:
    return ModelShape(id=name, architecture=name, model_type=name, dialect="test", hidden=hidden, vocab=128256, layers=layers, weights=tuple(weights))


def work(shape: ModelShape, form: NumberFormat = FP8) -> ModelWork:
    return model_work(shape, lambda weight: form)


def sized(settings: Settings, tokens: int = 400_000, *, engine: str = "vllm") -> Sized:
    """A deployment whose cache holds `tokens` per rank; negative: weights do not fit."""
    dp = settings.parallel.dp
    held = max(tokens, 0)
    return Sized(
        resolved=Resolved(
            engine=engine, version="0", attention_prefill="", attention_decode="", kv_dtype="bf16", kv_itemsize=2.0, block_tokens=16, mem_fraction=0.9,  # type: ignore[arg-type]
            token_budget=8192, max_num_seqs=1024,
        ),
        settings=settings,
        layout=EngineLayout(
            name="test", block_tokens=16, groups=(), stored_bytes_per_token=1, padded_bytes_per_token=1, pool_bytes_per_token=1, pool_bytes_per_block=1,
            fixed_bytes_per_sequence=0,
        ),
        memory=MemorySplit(device_bytes=1, budget_bytes=1, weights_bytes=1, overhead_bytes=0, kv_pool_bytes=held),
        capacity=Capacity(
            context_tokens=9216, tokens=held * dp, max_concurrency=held * dp / 9216, per_rank_tokens=held, per_rank_concurrency=held / 9216, request_bytes=9216,
        ),
    )  # fmt: skip
