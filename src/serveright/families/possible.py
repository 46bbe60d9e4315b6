"""Refuses shapes that no model can have: KV heads that do not divide the query heads, fewer experts than a token picks.

Runs over the finished layers, so that every dialect and per-layer lists are covered alike.
"""

from serveright.errors import InputError
from serveright.families.attention import KV, QUERY
from serveright.families.ffn import EXPERTS, TOP_K
from serveright.families.fields import Fields
from serveright.types.model import Attention, Ffn, ModelShape
from serveright.types.text import Msg, msg


def check(shape: ModelShape, fields: Fields) -> None:
    """Raises InputError naming both fields of the first impossible pair."""
    layers = (*shape.layers, *shape.mtp)
    for mixer in dict.fromkeys(mixer for layer in layers for mixer in layer.mixers if isinstance(mixer, Attention)):
        _heads(mixer, fields)
    for block in dict.fromkeys(block for layer in layers for block in layer.ffns if block.kind == "moe"):
        _experts(block, fields)


def _heads(mixer: Attention, fields: Fields) -> None:
    if mixer.kv_heads <= 0 or mixer.query_heads % mixer.kv_heads:
        raise InputError(
            msg(
                "{file}: {kv_key} {kv} does not divide {query_key} {query}: each KV head serves the same number of query heads",
                file=fields.file,
                kv_key=fields.where(*KV),
                kv=mixer.kv_heads,
                query_key=fields.where(*QUERY),
                query=mixer.query_heads,
            ),
            _compare(),
        )


def _experts(block: Ffn, fields: Fields) -> None:
    if block.experts + block.zero_experts < block.experts_per_token:
        raise InputError(
            msg(
                "{file}: {top_key} {top} is more than {experts_key} {experts}: a token cannot pick more experts than there are",
                file=fields.file,
                top_key=fields.where(*TOP_K),
                top=block.experts_per_token,
                experts_key=fields.where(*EXPERTS),
                experts=block.experts,
            ),
            _compare(),
        )


def _compare() -> Msg:
    return msg("Compare the file with the one on the model's page.")
