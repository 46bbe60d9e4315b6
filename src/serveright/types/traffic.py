"""What users send."""

from msgspec import Struct


class Traffic(Struct, frozen=True, kw_only=True):
    """Tokens per request as (median, p95); `concurrency` requests at once (closed loop) or `rate_per_s` arrivals (open loop), one of the two.

    `context_tokens` is the longest request that must be served. Targets are seconds (None: no target).
    """

    concurrency: int | None = None
    rate_per_s: float | None = None
    input_tokens: tuple[int, int] = (2048, 2048)
    output_tokens: tuple[int, int] = (512, 512)
    context_tokens: int | None = None
    images_per_request: float = 0
    image_pixels: tuple[int, int] = (1024, 1024)
    shared_prefix_tokens: int = 0
    reproducible: bool = False
    ttft_target_s: float | None = None
    tpot_target_s: float | None = None
    preset: str | None = None
