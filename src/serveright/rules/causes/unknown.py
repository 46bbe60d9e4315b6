"""When no known cause is likely: the engine's own last error, with what its words are about."""

import re
from collections.abc import Iterator, Sequence

from serveright.types.diagnosis import Cause, Evidence, LogReading, Sign
from serveright.types.text import Msg, msg

_CHAIN = re.compile(
    r"Engine core initialization failed|EngineDeadError|EngineCore encountered|Worker failed with error|Internal Server Error|See (the )?root cause|WorkerProc"
)
"""Errors that only pass another one on."""
_WARNING = re.compile(r"\bWARN(ING)?\b")
PREFIX = 80
"""Characters of a line in which its level stands."""
_TOPICS: tuple[tuple[str, Msg, Msg], ...] = (
    (r"divisible|divide", msg("a size that does not divide"), msg("Change the parallel sizes, then ask `size` and `audit` again.")),
    (
        r"capability|\bsm_?\d{2,3}|compute|unsupported arch|kernel|not supported on",
        msg("a kernel this GPU does not have"),
        msg("Remove forced backends; `check` tells what the GPU can do."),
    ),
    (r"memory|alloc|OOM|KV cache", msg("memory"), msg("Compare `size` with the memory lines of the log.")),
    (r"dtype|quant|fp8|nvfp4|mxfp4|awq|gptq", msg("a number format"), msg("Leave --dtype, --quantization and --kv-cache-dtype to the engine.")),
    (r"template|tokenizer|chat", msg("tokenizer or chat template"), msg("Check the files beside config.json.")),
    (r"tool|parser|reasoning", msg("a parser"), msg("`check` names the parsers of this model.")),
    (r"argument|option|invalid choice|usage:", msg("the command line"), msg("`audit` checks every flag against this release.")),
    (r"nccl|gloo|connect|socket|timeout|distributed", msg("communication between the ranks"), msg("Run again with NCCL_DEBUG=INFO.")),
    (
        r"No such file|not found|repository|download|safetensors|checkpoint|weight",
        msg("files of the checkpoint"),
        msg("Check that the checkpoint is complete and readable."),
    ),
)


def unknown_error(logs: Sequence[LogReading], known: Sequence[Cause]) -> Iterator[Cause]:
    """One cause in the engine's own words; nothing where no log ends in an error."""
    explained = {(line.source, line.line) for cause in known for line in cause.evidence}
    explained |= {(sign.source, sign.line) for log in logs for sign in log.signs if sign.key.startswith("log:refused_")}
    for log in logs:
        roots = [error for error in log.errors if (error.source, error.line) not in explained and own_error(str(error.text))]
        if not roots:
            continue
        left = max(0.05, 1 - sum(cause.likelihood for cause in known))
        yield _cause(log, roots[-1], round(left, 3))
        return


def own_error(text: str) -> bool:
    """An error by its name that neither passes another one on nor is quoted in a warning."""
    return not _CHAIN.search(text) and not _WARNING.search(text[:PREFIX]) and re.search(r"\w(Error|Exception)\b", text) is not None


def missing_root(logs: Sequence[LogReading]) -> Iterator[Msg]:
    """What to look for where a log holds only errors that pass another one on."""
    for log in logs:
        if log.errors and all(_CHAIN.search(str(error.text)) for error in log.errors):
            yield msg(
                "{source} holds only the echo of an error: give the log from its first line on and of every process; "
                "the first Traceback of an EngineCore, worker or scheduler names the cause",
                source=log.source,
            )


def _cause(log: LogReading, root: Sign, share: float) -> Cause:
    text = str(root.text)
    words = text[re.search(r"[\w.]*(Error|Exception)\b", text).start() :] if re.search(r"[\w.]*(Error|Exception)\b", text) else text  # pyright: ignore[reportOptionalMemberAccess]
    topic = next(((about, fix) for pattern, about, fix in _TOPICS if re.search(pattern, words, re.IGNORECASE)), None)
    return Cause(
        code="GEN01",
        title=msg("an error nobody has written a rule for: {words}", words=words[:200])
        if topic is None
        else msg("an error nobody has written a rule for, about {topic}: {words}", topic=topic[0], words=words[:200]),
        likelihood=share,
        evidence=(Evidence(source=log.source, line=root.line, text=text),),
        against=(),
        why=msg("it is the last error of the log that does not merely pass on another"),
        fix=(topic[1],) if topic else (msg("Search the engine's issues for these words, without the numbers."),),
    )
