"""TRAFFIC, PARALLEL and ENGINE options -> typed values."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from serveright import units
from serveright.cli.options import say
from serveright.errors import UsageError
from serveright.types.engine import Parallel, Settings
from serveright.types.text import msg
from serveright.types.traffic import Traffic

if TYPE_CHECKING:
    _Number, _Pair = click.ParamType[int], click.ParamType[tuple[int, int]]
else:
    # click before 8.4 knows no type of a type
    _Number = _Pair = click.ParamType


class Count(_Number):
    """A token count: 32768, 32k (= 32 x 1024), 1M."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; click's own usage error where it is none."""
        if isinstance(value, int):
            return value
        try:
            return units.parse_count(str(value))
        except ValueError:
            self.fail(say(msg("{value} is not a count such as 32768, 32k or 1M", value=str(value))), param, ctx)


class Spread(_Pair):
    """`2048`, or `2048/8192` for median and p95."""

    name = "count[/count]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """(median, p95); one number serves as both."""
        if isinstance(value, tuple):
            return value  # pyright: ignore[reportUnknownVariableType]
        parts = [Count().convert(part, param, ctx) for part in str(value).split("/")]
        if not 1 <= len(parts) <= 2 or parts[0] > parts[-1] or parts[0] < 1:
            self.fail(say(msg("{value} is not a median/p95 pair such as 2048/8192", value=str(value))), param, ctx)
        return parts[0], parts[-1]


class Pixels(_Pair):
    """`1024x768`, width by height."""

    name = "WxH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """(width, height)."""
        if isinstance(value, tuple):
            return value  # pyright: ignore[reportUnknownVariableType]
        parts = [units.parse_whole(part) or 0 for part in str(value).lower().split("x")]
        if len(parts) != 2 or not all(0 < part <= 100_000 for part in parts):
            self.fail(say(msg("{value} is not an image size such as 1024x768", value=str(value))), param, ctx)
        return parts[0], parts[1]


def engine_option(function: Callable[..., None]) -> Callable[..., None]:
    """--engine."""
    return click.option(
        "--engine", default="both", metavar="vllm|sglang|both[@VERSION]", help=say(msg("Engine, with @VERSION where it is not the newest known."))
    )(function)


def settings_options(function: Callable[..., None]) -> Callable[..., None]:
    """PARALLEL and memory settings; the command receives `settings: Settings`."""

    @click.option("--tp", type=click.IntRange(1), default=None, help=say(msg("Attention shards of one data-parallel rank.")))
    @click.option("--pp", type=click.IntRange(1), default=1, help=say(msg("Pipeline stages.")))
    @click.option("--dp", type=click.IntRange(1), default=1, help=say(msg("Data-parallel (attention) ranks of one deployment.")))
    @click.option("--ep/--no-ep", default=False, help=say(msg("Whole experts on each GPU instead of a slice of every expert.")))
    @click.option("--dcp", type=click.IntRange(1), default=1, help=say(msg("Decode context parallel size.")))
    @click.option("--replicas", type=click.IntRange(1), default=1, help=say(msg("Independent copies of the deployment.")))
    @click.option("--kv-dtype", metavar="DTYPE", help=say(msg("KV cache precision: auto, bf16, fp8, ... in the engine's words.")))
    @click.option("--max-num-seqs", type=click.IntRange(1), help=say(msg("Most requests in one batch.")))
    @click.option("--token-budget", type=Count(), help=say(msg("Tokens of one step (vLLM max_num_batched_tokens, SGLang chunked_prefill_size).")))
    @click.option("--mem-fraction", type=click.FloatRange(0.05, 1.0), help=say(msg("vLLM gpu_memory_utilization, SGLang mem_fraction_static.")))
    @click.option("--block-size", "block_tokens", type=click.IntRange(1), help=say(msg("Tokens of one cache block, where the engine lets you choose.")))
    @click.option("--prefix-caching/--no-prefix-caching", default=None, help=say(msg("Reuse the cache of equal prompt beginnings.")))
    @click.option("--spec-tokens", "speculative_tokens", type=click.IntRange(0), default=0, help=say(msg("Tokens drafted by the model's own MTP layers.")))
    @click.option("--draft-model", metavar="MODEL", help=say(msg("A draft model of its own: a local path or a model of the catalogue; with --spec-tokens.")))
    @click.option(
        "--draft-method", type=click.Choice(("draft_model", "eagle", "eagle3", "dflash")), help=say(msg("What the draft model is: a whole model, or a head."))
    )
    @click.option("--language-only", is_flag=True, help=say(msg("Leave vision and audio towers out.")))
    @functools.wraps(function)
    def command(
        *,
        tp: int | None,
        pp: int,
        dp: int,
        ep: bool,
        dcp: int,
        replicas: int,
        speculative_tokens: int,
        draft_model: str | None,
        draft_method: str | None,
        **rest: Any,
    ) -> None:
        keys = ("kv_dtype", "max_num_seqs", "token_budget", "mem_fraction", "block_tokens", "prefix_caching", "language_only")
        values = {key: rest.pop(key) for key in keys}
        size = tp if tp is not None else 0
        parallel = Parallel(tp=size, pp=pp, dp=dp, ep=0 if ep else 1, dcp=dcp, replicas=replicas)
        drafting = draft_settings(draft_model, draft_method, speculative_tokens)
        function(settings=Settings(parallel=parallel, **drafting, **values), **rest)

    return command


def draft_settings(model: str | None, method: str | None, tokens: int) -> dict[str, Any]:
    """Speculation in the words of `Settings`: by the model's own layers, or by a draft model named in both engines' words. Raises UsageError."""
    if model is None:
        if method is not None:
            raise UsageError(
                msg("--draft-method {method}: no draft model is named", method=method), msg("Give --draft-model MODEL, or leave --draft-method out.")
            )
        return {"speculative_method": "mtp" if tokens else None, "speculative_tokens": tokens}
    if not tokens:
        raise UsageError(
            msg("--draft-model {model}: how many tokens it drafts is not said", model=model), msg("Give --spec-tokens, for instance --spec-tokens 3.")
        )
    names = {"speculative-model": model, "speculative-draft-model-path": model}
    return {"speculative_method": method or "draft_model", "speculative_tokens": tokens, "extra": names}


def traffic_options(function: Callable[..., None]) -> Callable[..., None]:
    """TRAFFIC; the command receives `traffic: Traffic`."""

    @click.option("--traffic", "preset", metavar="PRESET|FILE", help=say(msg("chat, long-document, agent, rag, batch, offline, evaluation, or a TOML file.")))
    @click.option("--concurrency", type=click.IntRange(1), help=say(msg("Requests being served at once.")))
    @click.option("--rate", "rate_per_s", type=click.FloatRange(0, min_open=True), help=say(msg("Requests arriving per second.")))
    @click.option("--input-tokens", type=Spread(), help=say(msg("Prompt length, or median/p95.")))
    @click.option("--output-tokens", type=Spread(), help=say(msg("Answer length, or median/p95.")))
    @click.option("--context", "context_tokens", type=Count(), help=say(msg("Longest request that must be served, prompt and answer together.")))
    @click.option("--images-per-request", type=click.FloatRange(0), help=say(msg("Images in a request.")))
    @click.option("--image-size", "image_pixels", type=Pixels(), help=say(msg("Width x height of an image.")))
    @click.option("--shared-prefix", "shared_prefix_tokens", type=Count(), help=say(msg("Tokens every prompt begins with.")))
    @click.option("--reproducible", is_flag=True, default=None, help=say(msg("Outputs must not depend on cache or batch.")))
    @click.option("--ttft", "ttft_target_s", type=click.FloatRange(0, min_open=True), help=say(msg("Target time to first token, seconds.")))
    @click.option("--tpot", "tpot_target_s", type=click.FloatRange(0, min_open=True), help=say(msg("Target time per output token, seconds.")))
    @functools.wraps(function)
    def command(*, preset: str | None, **rest: Any) -> None:
        keys = [k for k in Traffic.__struct_fields__ if k != "preset"]
        given = {key: value for key in keys if (value := rest.pop(key, None)) is not None}
        from serveright.api.asking import traffic_of

        function(traffic=traffic_of(preset, given), **rest)

    return command
