"""Prediction layers (MTP) of softmax decoders: one more block behind the model, and what joins it to the model's output."""

from typing import Literal

from msgspec import Struct

from serveright.families.blocks import linear, norm
from serveright.families.decoder import Style, block
from serveright.families.frame import MTP, Block, Frame
from serveright.types.model import Attention, Ffn, Mixer, Weight
from serveright.types.text import msg

KEYS = (*MTP, "num_mtp_layers", "_num_mtp_layers")


class Predictor(Struct, frozen=True, kw_only=True):
    """Where a dialect stores its prediction layers. `path` may hold {root}, {i} (from 0) and {n} (absolute layer number); `outer` is the module of the parts that all of them share."""

    path: str = "{root}layers.{n}"
    block: str | None = None
    """Path of the transformer block where it is not `path` itself."""
    outer: str | None = None
    join: str = "eh_proj"
    norms: tuple[str, ...] = ("enorm", "hnorm", "shared_head.norm")
    mixer: Literal["last", "full", "sliding"] = "last"
    ffn: Literal["last", "dense"] = "last"
    copies: bool = False
    """The input table and the head are stored once more in every prediction layer."""
    head: bool = False
    """Every prediction layer has a head of its own."""


def predict(frame: Frame, style: Style, layers: list[Block], plan: Predictor, count: int | None = None) -> list[Block]:
    """The prediction layers the config names (or `count` of them)."""
    text = frame.text
    key = next((name for name in KEYS if text.raw.get(name) is not None), KEYS[0])
    found = text.opt_int(*KEYS) if count is None else count
    if not found:
        return []
    text.note(key, msg("prediction layers for speculative decoding, behind the model's own: {count}", count=found), found)
    mixer, ffn = _mixer(layers, plan.mixer), _ffn(layers, plan.ffn)
    blocks: list[Block] = []
    for i in range(min(found, 64)):
        names = {"root": frame.root, "i": i, "n": len(layers) + i}
        made = block(style, (plan.block or plan.path).format(**names), len(layers) + i, frame.hidden, mixer, ffn)
        if plan.outer is None or i == 0:
            made.weights.extend(_joint(frame, plan, (plan.outer or plan.path).format(**names), len(layers) + i))
        blocks.append(made)
    return blocks


def _joint(frame: Frame, plan: Predictor, path: str, index: int) -> list[Weight]:
    weights = linear(f"{path}.{plan.join}", "mtp", frame.hidden, 2 * frame.hidden, "replicated", layer=index)
    for name in plan.norms:
        weights += norm(f"{path}.{name}", frame.hidden, layer=index)
    if plan.copies:
        weights.append(Weight(path=f"{path}.embed_tokens", part="mtp", shape=(frame.vocab, frame.hidden), shard="vocab", linear=False, layer=index))
    if plan.copies or plan.head:
        weights.append(Weight(path=f"{path}.shared_head.head", part="mtp", shape=(frame.vocab, frame.hidden), shard="vocab", layer=index))
    return weights


def _mixer(layers: list[Block], choice: str) -> Mixer:
    mixers = [mixer for made in layers for mixer in made.layer.mixers if isinstance(mixer, Attention)]
    wanted = [mixer for mixer in mixers if choice == "last" or mixer.kind == choice]
    return (wanted or mixers)[-1] if mixers else layers[-1].layer.mixers[0]


def _ffn(layers: list[Block], choice: str) -> Ffn:
    ffns = [ffn for made in layers for ffn in made.layer.ffns]
    wanted = [ffn for ffn in ffns if ffn.kind == "dense"] if choice == "dense" else ffns
    return (wanted or ffns)[-1]
