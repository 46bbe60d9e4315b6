from hypothesis import given
from hypothesis import strategies as st

from serveright.analysis.images import amplification, encoder_flops, image_tokens
from serveright.types.model import ImageGeometry, Tower

QWEN = ImageGeometry(patch_pixels=16, merge=2, min_pixels=65536, max_pixels=16777216)


def test_the_published_amplification() -> None:
    answer = amplification(500, 3, 1500)
    assert (answer.total_tokens, answer.factor) == (5000, 10.0)


def test_patches_of_a_square_image() -> None:
    assert image_tokens(QWEN, 1024, 1024) == 32 * 32
    assert image_tokens(ImageGeometry(patch_pixels=14, merge=2, min_pixels=3136, max_pixels=12845056), 1092, 1092) == 39 * 39


def test_fixed_and_tiled_processors() -> None:
    assert image_tokens(ImageGeometry(patch_pixels=14, tokens_per_image=256), 4000, 3000) == 256
    tiled = ImageGeometry(patch_pixels=14, tokens_per_image=144, tile_pixels=336)
    assert image_tokens(tiled, 336, 336) == 144
    assert image_tokens(tiled, 672, 672) == 5 * 144


@given(st.integers(16, 8000), st.integers(16, 8000))
def test_tokens_stay_within_the_processor_bounds(width: int, height: int) -> None:
    side = QWEN.patch_pixels * QWEN.merge
    tokens = image_tokens(QWEN, width, height)
    assert 1 <= tokens <= QWEN.max_pixels / side**2 + 1  # type: ignore[operator]


def test_encoder_work_grows_with_the_image() -> None:
    tower = Tower(kind="vision", layers=27, hidden=1152, heads=16, intermediate=4304, image=QWEN)
    assert encoder_flops(tower, 2048, 2048) > 4 * encoder_flops(tower, 1024, 1024) > 0


def test_encoder_work_by_hand() -> None:
    """Each of 4,096 patches: four square projections, two of the width of the feed-forward, and attention over all patches of the image, two operations a weight."""
    tower = Tower(kind="vision", layers=3, hidden=64, heads=4, intermediate=256, image=QWEN)
    a_patch = 2 * (4 * 64 * 64 + 2 * 64 * 256) + 2 * 2 * 4096 * 64
    assert encoder_flops(tower, 1024, 1024) == 3 * 4096 * a_patch


def test_a_limit_of_tokens_holds_for_both_kinds_of_processors() -> None:
    tiled = ImageGeometry(patch_pixels=14, tokens_per_image=144, tile_pixels=336, max_tokens=700)
    assert (image_tokens(tiled, 672, 672), image_tokens(tiled, 336, 672)) == (700, 3 * 144)
    assert image_tokens(ImageGeometry(patch_pixels=16, merge=2, max_tokens=100), 1024, 1024) == 100


def test_a_small_image_is_enlarged_to_whole_patches() -> None:
    """50 x 30 pixels grow by sqrt(65536 / 1500) = 6.61 to 330 x 198, rounded up to 11 x 7 merged patches."""
    assert image_tokens(QWEN, 50, 30) == 11 * 7
