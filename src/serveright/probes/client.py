"""A running server through the `openai` client: few calls, bounded in time, every failure a value or one message."""

import itertools
import threading
import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from serveright.errors import NetworkError, UsageError
from serveright.types.text import msg

if TYPE_CHECKING:
    from openai import OpenAI

REQUEST_S = 120.0


class Answer(Struct, frozen=True, kw_only=True):
    """What came back. `status` 200, or the HTTP status of a refusal, 0 where there was no answer; times are seconds from sending."""

    status: int
    text: str = ""
    reasoning: str = ""
    tool_calls: int = 0
    finish: str | None = None
    prompt_tokens: int = 0
    cached_tokens: int | None = None
    output_tokens: int = 0
    first_s: float = 0.0
    total_s: float = 0.0
    gaps_s: tuple[float, ...] = ()
    error: str = ""


class Server:
    """One server and the model it serves. Raises NetworkError when nothing answers, UsageError when the client library is missing."""

    def __init__(self, base_url: str, key: str = "none") -> None:
        try:
            import openai
        except ImportError as error:
            raise UsageError(msg("probing and measuring need the openai package"), msg("pip install 'serveright[live]'")) from error
        self.base = base_url.rstrip("/").removesuffix("/v1")
        self._errors = openai
        self.client: OpenAI = openai.OpenAI(base_url=f"{self.base}/v1", api_key=key, timeout=REQUEST_S, max_retries=0)
        try:
            served = self.client.with_options(timeout=10).models.list().data
        except openai.OpenAIError as error:
            raise NetworkError(
                msg("{url} did not answer ({why})", url=self.base, why=str(error)[:200]), msg("Is it an OpenAI-compatible server, and is it up?")
            ) from error
        if not served:
            raise NetworkError(msg("{url} serves no model", url=self.base), None)
        self.model = served[0].id
        extra: dict[str, Any] = served[0].model_extra or {}
        longest = extra.get("max_model_len")
        self.max_tokens: int | None = longest if isinstance(longest, int) else None

    def chat(self, messages: list[dict[str, Any]], max_tokens: int = 128, **more: Any) -> Answer:
        """One chat request."""
        start = time.monotonic()
        try:
            create: Any = self.client.chat.completions.create
            reply: Any = create(model=self.model, messages=messages, max_tokens=max_tokens, temperature=0, **more)
        except self._errors.OpenAIError as error:
            return self._refused(error)
        choice: Any = reply.choices[0]
        extra: dict[str, Any] = choice.message.model_extra or {}
        return Answer(
            status=200,
            text=choice.message.content or "",
            reasoning=str(extra.get("reasoning_content") or extra.get("reasoning") or ""),
            tool_calls=len(choice.message.tool_calls or ()),
            finish=choice.finish_reason,
            total_s=time.monotonic() - start,
            **_usage(reply.usage),
        )

    def complete(self, prompt: str | list[int], max_tokens: int, stop: threading.Event | None = None, **more: Any) -> Answer:
        """One streamed completion; `prompt` may be token ids. `stop` closes it early."""
        start = time.monotonic()
        arrived: list[float] = []
        words: list[str] = []
        usage: Any = None
        try:
            stream: Any = self.client.completions.create(
                model=self.model, prompt=prompt, max_tokens=max_tokens, temperature=0, stream=True, stream_options={"include_usage": True}, **more
            )  # fmt: skip
            with stream:
                for piece in stream:
                    if piece.usage is not None:
                        usage = piece.usage
                    if piece.choices:
                        arrived.append(time.monotonic() - start)
                        words.append(piece.choices[0].text or "")
                    if stop is not None and stop.is_set():
                        break
        except self._errors.OpenAIError as error:
            return self._refused(error)
        gaps = tuple(after - before for before, after in itertools.pairwise(arrived))
        first = arrived[0] if arrived else 0.0
        return Answer(status=200, text="".join(words), first_s=first, total_s=arrived[-1] if arrived else 0.0, gaps_s=gaps, **_usage(usage))

    def _refused(self, error: Exception) -> Answer:
        status = error.status_code if isinstance(error, self._errors.APIStatusError) else 0
        return Answer(status=status, error=str(error)[:500])


def _usage(usage: Any) -> dict[str, Any]:
    if usage is None:
        return {}
    details = usage.prompt_tokens_details
    return {
        "prompt_tokens": usage.prompt_tokens or 0,
        "output_tokens": usage.completion_tokens or 0,
        "cached_tokens": None if details is None else details.cached_tokens,
    }
