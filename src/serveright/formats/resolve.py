"""Which number format one tensor has: the checkpoint's rules in order, names matched as loaders match them.

A tensor is tried under every name its module goes by: with and without the language model's prefix, as its fused projection (q, k, v -> qkv), and, for experts, as the first expert.
"""

import re
from collections.abc import Callable
from fnmatch import translate

from serveright.formats.number import plain
from serveright.types.model import Checkpoint, FormatRule, NumberFormat, Weight

FUSED = {
    "q_proj": "qkv_proj",
    "k_proj": "qkv_proj",
    "v_proj": "qkv_proj",
    "gate_proj": "gate_up_proj",
    "up_proj": "gate_up_proj",
    "w1": "w13",
    "w3": "w13",
    "q_a_proj": "fused_qkv_a_proj",
    "kv_a_proj_with_mqa": "fused_qkv_a_proj",
    "in_proj_qkv": "in_proj_qkvz",
    "in_proj_z": "in_proj_qkvz",
    "in_proj_a": "in_proj_ba",
    "in_proj_b": "in_proj_ba",
}
"""Projections that engines join into one module, by the joint name (vLLM's packed_modules_mapping)."""
_ROOTS = ("model.language_model.", "language_model.model.", "model.", "language_model.", "")
_MAGIC = re.compile(r"[*?\[]")


def format_of(checkpoint: Checkpoint, weight: Weight) -> NumberFormat:
    """The stored format of `weight`. For many tensors take `resolver` once."""
    return resolver(checkpoint)(weight)


def resolver(checkpoint: Checkpoint) -> Callable[[Weight], NumberFormat]:
    """A function from tensor to format; the rules are compiled once."""
    compiled = [_Rule(rule) for rule in checkpoint.rules]
    dtype = plain(checkpoint.dtype)

    runs_needed = any(rule.within and rule.plain for rule in compiled)

    def resolve(weight: Weight) -> NumberFormat:
        if not weight.linear and len(weight.shape) < 2:
            return dtype
        names = spellings(weight.path)
        runs = {run for name in names for run in _runs(name)} if runs_needed else set[str]()
        for rule in compiled:
            if rule.applies(weight, names, runs):
                return rule.format or dtype
        return dtype

    return resolve


def spellings(path: str) -> list[str]:
    """Every name under which lists may know the module `path`."""
    path = path.replace(".*.", ".0.")
    root = next(root for root in _ROOTS if path.startswith(root))
    rest = path.removeprefix(root)
    names = [path, *(other + rest for other in _ROOTS if other != root)]
    last = path.rpartition(".")[2]
    if last in FUSED:
        names += [name.removesuffix(last) + FUSED[last] for name in tuple(names)]
    return names


class _Rule:
    """One rule with its patterns sorted by kind: plain texts in a set, `text*` by prefix, the rest as one expression."""

    def __init__(self, rule: FormatRule) -> None:
        self.format, self.target, self.within, self.skip = rule.format, rule.target, rule.within, rule.skip_parts
        texts = [pattern for pattern in rule.patterns if not pattern.startswith("re:")]
        self.plain = {text.strip(".") for text in texts if not _MAGIC.search(text)}
        globs = [text for text in texts if _MAGIC.search(text)]
        self.prefixes = tuple(text[:-1] for text in globs if not _MAGIC.search(text[:-1]) and text.endswith("*"))
        odd = [text for text in globs if _MAGIC.search(text[:-1]) or not text.endswith("*")]
        self.globs = re.compile("|".join(translate(text + tail) for text in odd for tail in ("", ".*")[: 1 + rule.within])) if odd else None
        self.regexes = [re.compile(pattern[3:]) for pattern in rule.patterns if pattern.startswith("re:")]
        self.everything = not rule.patterns

    def applies(self, weight: Weight, names: list[str], runs: set[str]) -> bool:
        if self.target == "path":
            # a table is quantised only where it is named
            return self._matches(names, runs)
        if not weight.linear or weight.part in self.skip or (self.target == "experts" and weight.part != "experts"):
            return False
        return self.everything or self._matches(names, runs)

    def _matches(self, names: list[str], runs: set[str]) -> bool:
        if self.plain and not self.plain.isdisjoint(runs if self.within else names):
            return True
        return any(self._fits(name) for name in names)

    def _fits(self, name: str) -> bool:
        if self.prefixes and name.startswith(self.prefixes):
            return True
        if self.globs is not None and self.globs.match(name):
            return True
        return any(regex.match(name) for regex in self.regexes)


def _runs(name: str) -> list[str]:
    """Every run of whole components: a.b.c -> a, a.b, a.b.c, b, b.c, c."""
    parts = name.split(".")
    return [".".join(parts[first:last]) for first in range(len(parts)) for last in range(first + 1, len(parts) + 1)]
