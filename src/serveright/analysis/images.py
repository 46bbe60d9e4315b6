"""How many tokens an image is, from the model's own processor geometry, and what images do to prefill."""

import math

from msgspec import Struct

from serveright.types.model import ImageGeometry, ModelShape, Tower


class Amplification(Struct, frozen=True, kw_only=True):
    """Prompt tokens with and without images of one request."""

    text_tokens: int
    image_tokens: int
    total_tokens: int
    factor: float
    """total / text."""


def image_tokens(geometry: ImageGeometry, width: int, height: int) -> int:
    """Tokens of one image of `width` x `height` pixels.

    Fixed-size processors answer `tokens_per_image` (per tile where tiles are cut, plus one overview tile when there are several); the others resize
    into [`min_pixels`, `max_pixels`] keeping the aspect ratio, cut patches and merge `merge` x `merge` of them.
    """
    if geometry.tokens_per_image is not None:
        if not geometry.tile_pixels:
            return geometry.tokens_per_image
        tiles = math.ceil(width / geometry.tile_pixels) * math.ceil(height / geometry.tile_pixels)
        tokens = geometry.tokens_per_image * (tiles + (1 if tiles > 1 else 0))
        return min(tokens, geometry.max_tokens) if geometry.max_tokens else tokens
    wide, high = resized(geometry, width, height)
    side = geometry.patch_pixels * geometry.merge
    tokens = (wide // side) * (high // side)
    return min(tokens, geometry.max_tokens) if geometry.max_tokens else tokens


def resized(geometry: ImageGeometry, width: int, height: int) -> tuple[int, int]:
    """Pixels after the processor's own resizing: multiples of one merged patch, area within the bounds (the rule Qwen's processors publish)."""
    side = geometry.patch_pixels * geometry.merge
    wide, high = max(side, round(width / side) * side), max(side, round(height / side) * side)
    if geometry.max_pixels and wide * high > geometry.max_pixels:
        shrink = math.sqrt(width * height / geometry.max_pixels)
        return max(side, math.floor(width / shrink / side) * side), max(side, math.floor(height / shrink / side) * side)
    if geometry.min_pixels and wide * high < geometry.min_pixels:
        grow = math.sqrt(geometry.min_pixels / (width * height))
        return math.ceil(width * grow / side) * side, math.ceil(height * grow / side) * side
    return wide, high


def amplification(text_tokens: int, images: float, tokens_per_image: int) -> Amplification:
    """500 text tokens + 3 images x 1,500 tokens = 5,000 prefill tokens, ten times the text."""
    image = round(images * tokens_per_image)
    total = text_tokens + image
    return Amplification(text_tokens=text_tokens, image_tokens=image, total_tokens=total, factor=total / text_tokens)


def vision(shape: ModelShape) -> Tower | None:
    """The model's vision tower with a known geometry, None for text models."""
    return next((tower for tower in shape.towers if tower.kind == "vision" and tower.image is not None), None)


def encoder_flops(tower: Tower, width: int, height: int) -> float:
    """FLOPs of one image through the encoder: every patch (before merging) passes all layers, attention over the whole image."""
    if tower.image is None:
        return 0.0
    side = tower.image.patch_pixels
    if tower.image.tokens_per_image is not None:
        patches = tower.image.tokens_per_image * tower.image.merge**2
    else:
        wide, high = resized(tower.image, width, height)
        patches = (wide // side) * (high // side)
    intermediate = tower.intermediate or 4 * tower.hidden
    dense = 2 * patches * (4 * tower.hidden**2 + 2 * tower.hidden * intermediate)
    return tower.layers * (dense + 4 * patches**2 * tower.hidden)
