"""The engine itself refuses this combination.

## What it catches
Conditions under which the engine's own start-up code stops, as read from the release: backends, dtypes, parallel sizes, cache combinations.

## Why it matters
The server exits, often after loading; the finding carries the engine's own words.

## Example
`--kv-cache-dtype fp8_e5m2` for DSA in SGLang; `--decode-context-parallel-size` with windows.

## Fix
As the finding says.

## Versions
The release whose code was read, and newer ones. For an older one the same words are a warning: its checks may differ.

## Sources
The file of the release named in the finding
"""

import re
from collections.abc import Iterator
from typing import Any, cast

from serveright.rules.context import Context, Hit
from serveright.types.text import msg

CODE = "ENG01"
NAME = "engine-refuses"
SEVERITY = "error"
EFFECT = "crash"
CONFIDENCE = "likely"
SINCE = "0.1"
EXAMPLES = ()
_ELSEWHERE = ("heads_not_divisible", "request_does_not_fit", "no_cache_memory", "no-kv-memory", "no-state-memory", "no-state-slots")
"""Refusals that a finer rule explains with figures."""
_OURS = ("pages_unequal", "no_common_block")
"""Refusals that follow from our own reconstruction of the layout, not from one condition of the engine."""
_PREDICTION_KEYS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "mtp_num_layers", "n_predict")


def check(context: Context) -> Iterator[Hit]:
    """Refusals of the sizing that no finer rule explains."""
    sized = context.sized
    if sized is None:
        return
    read = context.between(context.facts.read_from, None)
    for refusal in sized.resolved.refusals:
        silent = refusal.code == "no_prediction_layer" and not says_none(context)
        if refusal.code in _ELSEWHERE or not refusal.text or silent or _proved(context, refusal.text):
            continue
        yield Hit(
            message=msg("{engine} {version} refuses: {text}", engine=context.command.engine, version=context.version, text=refusal.text),
            why=refusal.why,
            severity="warning" if refusal.code in _OURS or not read else None,
            confidence="possible" if refusal.code in _OURS or not read else None,
            sources=(refusal.source,) if refusal.source else (),
        )


def _proved(context: Context, text: str) -> bool:
    """Whether the refusal is argparse's of a value that VER05 reports at its own place."""
    match = re.match(r"argument (?:\S*/)?(--[\w-]+): invalid choice", text)
    return match is not None and context.has(match[1])


def says_none(context: Context) -> bool:
    """Whether the config itself counts zero prediction layers; a silent one leaves it to the engine's class."""
    files = context.facts.files
    if files is None:
        return False
    nests = (files.config, files.config.get("text_config"), files.config.get("language_config"))
    return any(cast("dict[str, Any]", nest).get(key) == 0 for nest in nests if isinstance(nest, dict) for key in _PREDICTION_KEYS)
