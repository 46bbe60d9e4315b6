"""Which number format one tensor has: the checkpoint's rules in order, names matched as loaders match them.

A tensor is tried under every name its module goes by: with and without the language model's prefix, as its fused projection (q, k, v -> qkv), and, for experts, as the first expert.
"""

import re
from collections.abc import Callable
from fnmatch import translate

from msgspec.structs import replace

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
_NUMBER = re.compile(r"\.\d+(?=\.)")
_DIGIT = re.compile(r"\d")


def format_of(checkpoint: Checkpoint, weight: Weight) -> NumberFormat:
    """The stored format of `weight`. For many tensors take `resolver` once."""
    return resolver(checkpoint)(weight)


def resolver(checkpoint: Checkpoint) -> Callable[[Weight], NumberFormat]:
    """A function from tensor to format; the rules are compiled once, and layers are told apart only where some rule names numbers.

    The last checkpoint's function is kept with what it looked up: several steps ask for the same one in turn.
    """
    if not _LAST or _LAST[0][0] is not checkpoint:
        _LAST[:] = [(checkpoint, _resolver(checkpoint))]
    return _LAST[0][1]


def in_memory(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint as engines hold it: float32 becomes 16 bits (vLLM config/model.py `_resolve_auto_dtype`, SGLang `_get_and_verify_dtype`)."""
    return replace(checkpoint, dtype="bfloat16") if plain(checkpoint.dtype).name == "fp32" else checkpoint


_LAST: list[tuple[Checkpoint, Callable[[Weight], NumberFormat]]] = []


def _resolver(checkpoint: Checkpoint) -> Callable[[Weight], NumberFormat]:
    compiled = [_Rule(rule) for rule in checkpoint.rules]
    dtype = plain(checkpoint.dtype)
    alike = not any(rule.numbered for rule in compiled)
    known: dict[tuple[str, str, bool], NumberFormat] = {}

    def look(weight: Weight) -> NumberFormat:
        names = spellings(weight.path)
        return next((rule.format or dtype for rule in compiled if rule.applies(weight, names)), dtype)

    def resolve(weight: Weight) -> NumberFormat:
        if not compiled or (not weight.linear and len(weight.shape) < 2):
            return dtype
        path = _NUMBER.sub(".0", weight.path) if alike else weight.path
        key = (path, weight.part, weight.linear)
        if key not in known:
            known[key] = look(weight)
        return known[key]

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
        self.numbered = any(_DIGIT.search(pattern) for pattern in rule.patterns) or any("?" in text for text in globs)
        self.lengths: dict[str, set[int]] = {}
        """Components that plain texts begin with -> how many components such texts have."""
        for text in self.plain if self.within else ():
            parts = text.split(".")
            self.lengths.setdefault(parts[0], set()).add(len(parts))

    def applies(self, weight: Weight, names: list[str]) -> bool:
        if self.target == "path":
            # a table is quantised only where it is named
            return self._matches(names)
        if not weight.linear or weight.part in self.skip or (self.target == "experts" and weight.part != "experts"):
            return False
        return self.everything or self._matches(names)

    def _matches(self, names: list[str]) -> bool:
        if self.plain and (any(map(self._inside, names)) if self.within else not self.plain.isdisjoint(names)):
            return True
        return any(self._fits(name) for name in names)

    def _fits(self, name: str) -> bool:
        if self.prefixes and name.startswith(self.prefixes):
            return True
        if self.globs is not None and self.globs.match(name):
            return True
        return any(regex.match(name) for regex in self.regexes)

    def _inside(self, name: str) -> bool:
        """Some run of whole components (of a.b.c: a, a.b, a.b.c, b, b.c, c) is one of the plain texts."""
        parts = name.split(".")
        for first, part in enumerate(parts):
            for length in self.lengths.get(part, ()):
                if first + length <= len(parts) and ".".join(parts[first : first + length]) in self.plain:
                    return True
        return False
