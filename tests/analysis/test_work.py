"""What one token's attention reads and computes in one layer, by hand from the mixer's dimensions."""

from msgspec.structs import replace

from serveright.analysis.work import INDEX_ITEMSIZE, UNBOUNDED, mixer_rows
from serveright.types.model import Attention, Indexer, Latent, Recurrent

FULL = Attention(kind="full", query_heads=32, kv_heads=8, head_dim=192, v_head_dim=128)
MLA = Latent(kind="mla", query_heads=128, kv_lora_rank=512, rope_dim=64, nope_dim=128, v_head_dim=128)
INDEXER = Indexer(heads=64, dim=128, topk=2048)


def test_full_attention_reads_k_and_v_of_every_token() -> None:
    """Two operations per query head and element: one product with K, one with V."""
    (rows,) = mixer_rows(FULL)
    assert (rows.heads, rows.width, rows.per_token, rows.cap, rows.window) == (8, 8 * (192 + 128), 1, UNBOUNDED, False)
    assert rows.decode_flops == rows.prefill_flops == 2 * 32 * (192 + 128)


def test_windows_cap_what_is_read_and_chunks_are_half_full_on_average() -> None:
    (window,) = mixer_rows(replace(FULL, kind="sliding", window_tokens=1024))
    assert (window.cap, window.window) == (1024, True)
    (chunk,) = mixer_rows(replace(FULL, kind="chunked", chunk_tokens=8192))
    assert (chunk.cap, chunk.window) == (4096, False)


def test_an_indexer_reads_all_its_keys_and_the_attention_only_what_it_picks() -> None:
    rows, keys = mixer_rows(replace(FULL, indexer=INDEXER, sparse_block_tokens=4))
    assert (rows.cap, rows.window) == (4 * 2048, False)
    assert (keys.width, keys.per_token, keys.cap, keys.itemsize) == (128, 1, UNBOUNDED, INDEX_ITEMSIZE)
    assert keys.decode_flops == 2 * 64 * 128
    assert len(mixer_rows(replace(FULL, indexer=replace(INDEXER, owns_keys=False)))) == 1


def test_latent_attention_multiplies_the_latent_in_decode_and_whole_heads_in_prefill() -> None:
    (rows,) = mixer_rows(MLA)
    assert (rows.heads, rows.width, rows.cap) == (1, 576, UNBOUNDED)
    assert rows.decode_flops == 2 * 128 * (576 + 512)
    assert rows.prefill_flops == 2 * 128 * (128 + 64 + 128)
    sparse, _ = mixer_rows(replace(MLA, indexer=INDEXER))
    assert (sparse.cap, sparse.prefill_flops) == (2048, sparse.decode_flops)


def test_pooled_latent_rows_stand_beside_an_unpooled_window() -> None:
    pooled, window = mixer_rows(replace(MLA, kind="hca", compress_ratio=128, window_tokens=128))
    assert (pooled.per_token, pooled.cap, pooled.window) == (1 / 128, UNBOUNDED, False)
    assert (window.per_token, window.cap, window.window) == (1, 128, True)
    (alone,) = mixer_rows(replace(MLA, kind="sliding_mla", window_tokens=128))
    assert (alone.per_token, alone.cap, alone.window) == (1, 128, True)


def test_a_state_is_no_row() -> None:
    assert mixer_rows(Recurrent(kind="gated_deltanet", state_heads=1, state_shape=(1, 2, 3), conv_channels=4, conv_rows=3)) == []
