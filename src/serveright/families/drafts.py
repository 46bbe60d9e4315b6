"""A draft model as an engine holds it beside its target: a whole model as it is, a head with what it joins to the target and without what it borrows from it."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from serveright.types.model import ModelShape, Weight

WHOLE = frozenset({"draft_model", "standalone"})
"""Methods whose draft is a model of its own; every other method's draft is a head that reads the target's hidden states."""
_THREE = 3
"""Layers of the target an EAGLE-3 head reads where its config does not count them."""


def as_held(shape: ModelShape, config: Mapping[str, Any], method: str, target: ModelShape) -> ModelShape:
    """`shape` with the tensors a server keeps for it under the speculative `method`.

    Heads borrow the target's input table where both are as wide, and its output head unless EAGLE-3 brings a narrower one; the table their input is projected
    with, and the doubled input of EAGLE-3's first layer, are theirs. Source: vLLM 0.33.0 v1/spec_decode/llm_base_proposer.py `_maybe_share_*`,
    models/llama_eagle3.py; SGLang 0.5.23 models/llama_eagle3.py, models/dflash.py.
    """
    word = method.lower()
    if word in WHOLE:
        return shape
    kept = [w for w in (_widened(w, shape) if word == "eagle3" else w for w in shape.weights) if not _borrowed(w, shape, target)]
    narrow = config.get("draft_vocab_size")
    head = next((w for w in shape.weights if w.part == "head" and w.linear), None)
    if word == "eagle3" and head is not None:
        kept.append(replace(head, shape=(narrow if isinstance(narrow, int) else head.shape[0], shape.hidden)))
    read = _read_width(word, config, shape, target)
    if read:
        kept.append(Weight(path="fc", part="other", shape=(shape.hidden, read), shard="replicated"))
    return replace(shape, weights=tuple(kept))


def _borrowed(weight: Weight, shape: ModelShape, target: ModelShape) -> bool:
    return weight.part == "head" or (weight.part == "embed" and (shape.hidden, shape.vocab) == (target.hidden, target.vocab))


def _widened(weight: Weight, shape: ModelShape) -> Weight:
    """The first layer reads the token's embedding beside the hidden state."""
    first = weight.part == "attention" and weight.layer == 0 and weight.linear and weight.shard != "row"
    return replace(weight, shape=(weight.shape[0], 2 * shape.hidden)) if first and weight.shape[1:] == (shape.hidden,) else weight


def _read_width(word: str, config: Mapping[str, Any], shape: ModelShape, target: ModelShape) -> int:
    """Values the head's input projection takes a token."""
    if word == "eagle":
        return 2 * shape.hidden
    listed = [ids for ids in (_ids(config, "eagle_config", "eagle_aux_hidden_state_layer_ids"), _ids(config, "dflash_config", "target_layer_ids")) if ids]
    own = config.get("num_aux_hidden_states")
    count = own if isinstance(own, int) else len(listed[0]) if listed else _THREE if word == "eagle3" else len(shape.layers)
    return count * target.hidden


def _ids(config: Mapping[str, Any], group: str, name: str) -> list[Any]:
    inner: object = config.get(group)
    found: object = cast("dict[str, Any]", inner).get(name) if isinstance(inner, dict) else config.get(name)
    return cast("list[Any]", found) if isinstance(found, list) else []
