"""The verdict of step 1, from the layers alone: which family a model belongs to, and what else holds. Pure.

Order: encoder; hybrid; ssm; dsa; sparse; mla; swa; gqa, mqa, mha. A layer nobody knows makes the family unknown unless a recurrent layer already decides.
"""

from collections.abc import Iterator
from typing import Literal

from serveright.types.model import Attention, Family, FamilyName, Latent, Mixer, ModelShape, Recurrent, UnknownMixer

_RECURRENT_FEATURES = {
    "gated_deltanet": "gdn",
    "kimi_delta": "kda",
    "mamba1": "mamba",
    "mamba2": "mamba2",
    "lightning": "lightning",
    "short_conv": "short_conv",
}


def family(shape: ModelShape) -> Family:
    """The family and features of a shape."""
    mixers = tuple(mixer for layer in shape.layers for mixer in layer.mixers)
    return Family(name=_name(shape, mixers), ffn=_ffn(shape), features=tuple(dict.fromkeys(_features(shape, mixers))))


def _name(shape: ModelShape, mixers: tuple[Mixer, ...]) -> FamilyName:
    attention = tuple(mixer for mixer in mixers if isinstance(mixer, Attention))
    latent = tuple(mixer for mixer in mixers if isinstance(mixer, Latent))
    recurrent = any(isinstance(mixer, Recurrent) for mixer in mixers)
    if not shape.causal:
        return "encoder"
    if recurrent:
        return "hybrid" if attention or latent else "unknown" if any(isinstance(mixer, UnknownMixer) for mixer in mixers) else "ssm"
    if not mixers or any(isinstance(mixer, UnknownMixer) for mixer in mixers):
        return "unknown"
    if any(mixer.indexer or mixer.kind in ("sparse_mla", "csa", "hca", "compressed") for mixer in latent):
        return "dsa"
    if any(mixer.kind == "block_sparse" or mixer.indexer for mixer in attention):
        return "sparse"
    if latent:
        return "mla"
    if any(mixer.kind in ("sliding", "chunked") for mixer in attention):
        return "swa"
    return _sharing(attention)


def _sharing(attention: tuple[Attention, ...]) -> Literal["mha", "mqa", "gqa"]:
    """How query heads share KV heads: the model's widest sharing decides."""
    if all(mixer.kv_heads == mixer.query_heads for mixer in attention):
        return "mha"
    return "mqa" if all(mixer.kv_heads == 1 for mixer in attention) else "gqa"


def _ffn(shape: ModelShape) -> Literal["dense", "moe", "mixed", "none"]:
    kinds = {ffn.kind for layer in shape.layers for ffn in layer.ffns}
    if not kinds:
        return "none"
    return "mixed" if len(kinds) > 1 else "moe" if kinds == {"moe"} else "dense"


def _features(shape: ModelShape, mixers: tuple[Mixer, ...]) -> Iterator[str]:
    for mixer in mixers:
        yield from _mixer_features(mixer)
    attention = tuple(mixer for mixer in mixers if isinstance(mixer, Attention))
    if attention:
        yield _sharing(attention)
    ffns = [ffn for layer in shape.layers for ffn in layer.ffns]
    if any(ffn.kind == "moe" for ffn in ffns):
        yield "moe"
    if any(ffn.latent_dim for ffn in ffns):
        yield "latent_moe"
    if any(len(layer.mixers) > 1 for layer in shape.layers):
        yield "parallel_mixers"
    if any(layer.cache_from is not None for layer in shape.layers):
        yield "kv_sharing"
    if any(not layer.mixers and not layer.ffns for layer in shape.layers):
        yield "no_op_layers"
    if shape.mtp_layers:
        yield "mtp"
    if shape.residual_streams > 1:
        yield "hyper_connections"
    if any(weight.part == "ngram" for weight in shape.weights):
        yield "ngram"
    if len(shape.modalities) > 1:
        yield "multimodal"


def _mixer_features(mixer: Mixer) -> Iterator[str]:
    if isinstance(mixer, Latent):
        yield "mla"
        if mixer.indexer or mixer.kind in ("csa", "hca", "compressed"):
            yield "dsa"
        if mixer.window_tokens:
            yield "swa"
        if mixer.sinks:
            yield "sinks"
    elif isinstance(mixer, Recurrent):
        yield _RECURRENT_FEATURES[mixer.kind]
    elif isinstance(mixer, Attention):
        if mixer.kind == "sliding":
            yield "swa"
        if mixer.kind == "chunked":
            yield "chunked"
        if mixer.kind == "block_sparse" or mixer.indexer:
            yield "sparse"
        if mixer.sinks:
            yield "sinks"
