"""Settings <-> SGLang's own words, both ways, newest spelling. Each pair is the exact inverse of the other for every setting SGLang knows.

SGLang's --tp counts the GPUs of one stage: `--tp 8 --attn-dp-size 8` is tp 1, dp 8 here. Plain `--dp-size` without attention ranks is independent copies: `replicas`.
"""

from collections.abc import Mapping

from msgspec.structs import asdict, replace

from serveright.engines.sglang.args import KV_WORDS
from serveright.types.engine import Parallel, Settings

Flags = dict[str, str | None]
"""Flag -> value; None for a bare switch."""
_PLAIN_INT = {
    "--context-length": "context_tokens",
    "--max-running-requests": "max_num_seqs",
    "--chunked-prefill-size": "token_budget",
    "--page-size": "block_tokens",
    "--cuda-graph-max-bs-decode": "max_graph_batch",
}
_PLAIN_TEXT = {
    "--kv-cache-dtype": "kv_dtype",
    "--attention-backend": "attention_backend",
    "--moe-runner-backend": "moe_backend",
    "--moe-a2a-backend": "all2all_backend",
    "--mamba-ssm-dtype": "state_dtype",
}
_OFF = {"prefix_caching": "--disable-radix-cache", "async_scheduling": "--disable-overlap-schedule"}
_SWITCHES = {"eager": "--disable-cuda-graph", "language_only": "--language-only"}
_ALGORITHM = "--speculative-algorithm"
_STEPS, _TOPK, _DRAFTS = "--speculative-num-steps", "--speculative-eagle-topk", "--speculative-num-draft-tokens"
_WORDS = {"mtp": "EAGLE", "eagle3": "EAGLE3", "draft_model": "STANDALONE", "ngram": "NGRAM", "dflash": "DFLASH", "dspark": "DSPARK"}
_METHODS = {**{word: method for method, word in _WORDS.items()}, "NEXTN": "mtp", "EAGLE": "mtp"}
EXTRA_SWITCHES = (
    "disable-hybrid-swa-memory",
    "disable-prefill-cuda-graph",
    "disable-decode-cuda-graph",
    "trust-remote-code",
    "enable-eplb",
    "enable-mixed-chunk",
)
EXTRA_VALUES = (
    "prefill-attention-backend",
    "decode-attention-backend",
    "dsa-prefill-backend",
    "dsa-decode-backend",
    "dsv4-attn-backend",
    "linear-attn-backend",
    "quantization",
    "swa-full-tokens-ratio",
    "swa-prefix-tails",
    "mamba-full-memory-ratio",
    "max-mamba-cache-size",
    "mamba-radix-cache-strategy",
    "mamba-track-interval",
    "max-total-tokens",
    "mm-feature-transport",
    "disaggregation-mode",
    "cuda-graph-backend-prefill",
    "cuda-graph-max-bs-prefill",
    "speculative-draft-model-path",
)
_OLD = {
    "--tp": "--tp-size",
    "--tensor-parallel-size": "--tp-size",
    "--pp": "--pp-size",
    "--pipeline-parallel-size": "--pp-size",
    "--dp": "--dp-size",
    "--data-parallel-size": "--dp-size",
    "--ep": "--ep-size",
    "--expert-parallel-size": "--ep-size",
    "--decode-context-parallel-size": "--dcp-size",
    "--max-prefill-chunk-size": "--chunked-prefill-size",
    "--cuda-graph-max-bs": "--cuda-graph-max-bs-decode",
    "--nsa-prefill": "--dsa-prefill-backend",
    "--nsa-decode": "--dsa-decode-backend",
    "--nsa-prefill-backend": "--dsa-prefill-backend",
    "--nsa-decode-backend": "--dsa-decode-backend",
}
"""Other and older spellings of the same flags."""


_RENAMED = (("0.5.13", "--dsa-prefill-backend", "--nsa-prefill-backend"), ("0.5.13", "--dsa-decode-backend", "--nsa-decode-backend"))
_RENAMED_GRAPH = ("0.5.20", "--cuda-graph-max-bs-decode", "--cuda-graph-max-bs")
_ATTN_DP_SINCE = "0.5.22"


def launch_flags(settings: Settings, version: str | None = None) -> Flags:
    """SGLang's flags for what is set, in a stable order and in the spelling of `version` (the newest where None).

    `replicas` has no flag: each replica is a command of its own.
    """
    flags = _newest(settings)
    return flags if version is None else _spelt_for(flags, _numbers(version))


def _spelt_for(flags: Flags, at: tuple[int, ...]) -> Flags:
    old = {new: before for since, new, before in (*_RENAMED, _RENAMED_GRAPH) if at < _numbers(since)}
    spelt = {old.get(flag, flag): value for flag, value in flags.items()}
    if "--attn-dp-size" in spelt and at < _numbers(_ATTN_DP_SINCE):
        spelt |= {"--dp-size": spelt.pop("--attn-dp-size"), "--enable-dp-attention": None}
    return spelt


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdecimal())


def _newest(settings: Settings) -> Flags:
    values = asdict(settings)
    flags = _parallel_flags(settings.parallel)
    for flag, name in (_PLAIN_INT | _PLAIN_TEXT).items():
        if values[name] is not None:
            flags[flag] = str(values[name])
    if settings.kv_dtype in KV_WORDS:
        flags["--kv-cache-dtype"] = KV_WORDS[settings.kv_dtype]
    if settings.mem_fraction is not None:
        flags["--mem-fraction-static"] = repr(settings.mem_fraction)
    flags |= {flag: None for name, flag in _OFF.items() if values[name] is False}
    flags |= {flag: None for name, flag in _SWITCHES.items() if values[name]}
    flags |= _speculation_flags(settings)
    flags |= {f"--{name}": None for name in EXTRA_SWITCHES if settings.extra.get(name) == "true"}
    return flags | {f"--{name}": settings.extra[name] for name in EXTRA_VALUES if name in settings.extra}


def settings_from_flags(flags: Mapping[str, str | None]) -> Settings:
    """The settings a command asks for; flags without a common word stay in `extra` under their name without dashes.

    Raises ValueError where a number is none; the caller names the place.
    """
    given = {_OLD.get(flag, flag): value for flag, value in flags.items()}
    found: dict[str, object] = {name: int(value) for flag, name in _PLAIN_INT.items() if (value := given.get(flag)) is not None}
    found |= {name: value for flag, name in _PLAIN_TEXT.items() if (value := given.get(flag)) is not None}
    fraction = given.get("--mem-fraction-static")
    if fraction is not None:
        found["mem_fraction"] = float(fraction)
    found |= {name: False for name, flag in _OFF.items() if flag in given}
    found |= {name: True for name, flag in _SWITCHES.items() if flag in given}
    method, tokens, extra = _speculation(given)
    extra |= {name: "true" for name in EXTRA_SWITCHES if f"--{name}" in given}
    extra |= {name: value for name in EXTRA_VALUES if (value := given.get(f"--{name}")) is not None}
    return replace(Settings(parallel=_parallel(given)), **found, speculative_method=method, speculative_tokens=tokens, extra=extra)


def _parallel_flags(parallel: Parallel) -> Flags:
    gpus = parallel.tp * parallel.dp
    pairs = {"--tp-size": gpus, "--pp-size": parallel.pp, "--attn-dp-size": parallel.dp, "--ep-size": parallel.ep, "--dcp-size": parallel.dcp}
    return {flag: str(value) for flag, value in pairs.items() if value > 1}


def _parallel(given: Mapping[str, str | None]) -> Parallel:
    gpus, ranks = _count(given, "--tp-size"), _count(given, "--attn-dp-size")
    copies = _count(given, "--dp-size")
    if "--enable-dp-attention" in given and ranks == 1:
        ranks, copies = copies, 1
    tp = gpus // ranks if gpus % ranks == 0 else gpus
    return Parallel(tp=tp, dp=ranks, pp=_count(given, "--pp-size"), ep=_count(given, "--ep-size"), dcp=_count(given, "--dcp-size"), replicas=copies)


def _count(given: Mapping[str, str | None], flag: str) -> int:
    value = given.get(flag)
    return 1 if value is None else int(value)


def _speculation_flags(settings: Settings) -> Flags:
    method, tokens = settings.speculative_method, settings.speculative_tokens
    if not method:
        return {}
    flags: Flags = {_ALGORITHM: _WORDS.get(method, method.upper())}
    if tokens:
        flags |= {_STEPS: str(tokens), _TOPK: "1", _DRAFTS: str(tokens + 1)}
    extra = settings.extra
    return flags | {f"--{name}": extra[name] for name in _TREE if name in extra}


_TREE = tuple(flag.removeprefix("--") for flag in (_STEPS, _TOPK, _DRAFTS))


def _speculation(given: Mapping[str, str | None]) -> tuple[str | None, int, dict[str, str]]:
    """Method, drafted tokens, and what a chain of that many tokens does not say."""
    word = given.get(_ALGORITHM)
    if word is None:
        return None, 0, {}
    method = _METHODS.get(word.upper(), word.lower())
    if method == "mtp" and "--speculative-draft-model-path" in given:
        method = "eagle"  # a draft of its own instead of the checkpoint's prediction layers
    steps, topk, drafts = (given.get(flag) for flag in (_STEPS, _TOPK, _DRAFTS))
    if steps is not None and topk == "1" and drafts == str(int(steps) + 1):
        return method, int(steps), {}
    written = zip(_TREE, (steps, topk, drafts), strict=True)
    return method, 0, {name: value for name, value in written if value is not None}
