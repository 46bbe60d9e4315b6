"""Hand-built shapes for tests."""

from hypothesis import strategies as st
from msgspec.structs import replace

from serveright.types.model import Attention, Checkpoint, Ffn, Latent, Layer, Mixer, ModelShape, Recurrent

PLAIN = Checkpoint(method="none", format="bf16", dtype="bfloat16")


def full(kv: int = 8, query: int = 32, head: int = 128, window: int | None = None) -> Attention:
    kind = "sliding" if window else "full"
    return Attention(kind=kind, query_heads=query, kv_heads=kv, head_dim=head, v_head_dim=head, window_tokens=window)


def latent(heads: int = 128) -> Latent:
    return Latent(kind="mla", query_heads=heads, kv_lora_rank=512, rope_dim=64, nope_dim=128, v_head_dim=128)


def delta(heads: int = 32) -> Recurrent:
    return Recurrent(
        kind="gated_deltanet",
        state_heads=heads,
        state_shape=(heads, 128, 128),
        conv_channels=2 * 16 * 128 + heads * 128,
        conv_rows=3,
        groups=16,
        key_dim=128,
        value_dim=128,
        state_dtype="float32",
    )


def model(*mixers: Mixer, architecture: str = "LlamaForCausalLM", context: int = 131072) -> ModelShape:
    dense = Ffn(kind="dense", intermediate=14336)
    return ModelShape(
        id="m",
        architecture=architecture,
        model_type="m",
        dialect="test",
        hidden=4096,
        vocab=128256,
        layers=tuple(Layer(index=i, mixers=(m,), ffns=(dense,)) for i, m in enumerate(mixers)),
        max_context_tokens=context,
    )


def renamed(shape: ModelShape, architecture: str) -> ModelShape:
    return replace(shape, architecture=architecture)


def shapes() -> st.SearchStrategy[ModelShape]:
    """Models of every pool: plain rows, windows between full layers, states between full layers, latent rows."""
    heads, count = st.sampled_from([1, 2, 4, 8]), st.integers(1, 12)
    plain = st.builds(lambda n, kv: model(*[full(kv)] * n), count, heads)
    windows = st.builds(
        lambda n, every, kv, w: model(*[full(kv, window=None if i % every == 0 else w) for i in range(n)], architecture="GptOssForCausalLM"),
        count,
        st.integers(2, 6),
        heads,
        st.sampled_from([128, 1024]),
    )
    states = st.builds(
        lambda n, kv: model(*[full(kv) if i % 4 == 3 else delta() for i in range(4 * n)], architecture="Qwen3NextForCausalLM"), st.integers(1, 4), heads
    )
    latents = st.builds(lambda n: model(*[latent()] * n, architecture="DeepseekV3ForCausalLM"), count)
    return st.one_of(plain, windows, states, latents)
