"""Step 1: what is this model?"""

from collections.abc import Iterator

import msgspec

from serveright.analysis import describe
from serveright.api.loading import Model, load_model
from serveright.readers.card import card_hints
from serveright.types.curves import Curves
from serveright.types.model import Attention
from serveright.types.reports import InspectReport
from serveright.types.source import ModelFiles
from serveright.types.text import Msg, msg


def inspect(model: str | ModelFiles, revision: str | None = None, *, curves: bool = False) -> InspectReport:
    """Family with its evidence, layers by kind, parameters and checkpoint of a model; `curves` adds what pictures need. Raises UserError."""
    loaded = load_model(model, revision)
    if not curves:
        return report(loaded)
    from serveright.api.curves import cache_parts

    return msgspec.structs.replace(report(loaded), curves=Curves(cache=cache_parts(loaded)))


def report(model: Model) -> InspectReport:
    """The same for a model already loaded."""
    shape, need = model.shape, model.need
    letters, legend = describe.layer_map(shape.layers)
    return InspectReport(
        model=model.name,
        family=model.family.name,
        ffn_axis=model.family.ffn,
        features=model.family.features,
        attention=describe.attention_entries(shape.layers),
        ffn=describe.ffn_entries(shape.layers),
        layer_map=letters,
        layer_legend=legend,
        parameters=describe.parameters(need),
        checkpoint=describe.checkpoint_entry(model.checkpoint, need),
        max_context_tokens=shape.max_context_tokens,
        mtp_layers=shape.mtp_layers,
        modalities=shape.modalities,
        towers=shape.towers,
        remote_code=shape.remote_code,
        evidence=(*shape.evidence, *model.checkpoint.evidence),
        unknown=(*shape.unknown, *model.checkpoint.unknown),
        hints=hints(model),
    )


def hints(model: Model) -> tuple[Msg, ...]:
    """Where a page, a card or a habit of speech says something else than the config; the config wins."""
    return (*_family_hints(model), *_published_hints(model), *_card_hints(model))


def _family_hints(model: Model) -> Iterator[Msg]:
    layers = model.shape.layers
    softmax = [layer for layer in layers if any(isinstance(mixer, Attention) for mixer in layer.mixers)]
    if model.family.name == "hybrid" and softmax and len(softmax) < len(layers):
        yield msg(
            "Pages that call this a plain GQA model count only {softmax} of its {layers} layers: the others keep a state of fixed size, so the cache grows on {softmax} layers",
            softmax=len(softmax),
            layers=len(layers),
        )
    if model.family.name == "swa":
        yield msg("num_hidden_layers alone overstates the cache: layers with a window or chunk keep only that much")


def _published_hints(model: Model) -> Iterator[Msg]:
    published, total = model.files.facts.get("parameters"), model.need.total_elements
    if isinstance(published, int) and abs(total / published - 1) > 0.001:
        yield msg(
            "Published parameter total {published:n}; the config gives {total:n} ({diff:pct})", published=published, total=total, diff=total / published - 1
        )


def _card_hints(model: Model) -> Iterator[Msg]:
    if model.files.card is None:
        return
    ours = {"context_tokens": model.shape.max_context_tokens, "active_parameters": model.need.active_elements, "parameters": model.need.total_elements}
    for hint in card_hints(model.files.card):
        known = ours.get(hint.kind)
        if hint.kind in ("tool_parser", "reasoning_parser", "flag") or (isinstance(hint.value, int) and known and abs(hint.value / known - 1) > 0.1):
            yield msg("Model card, line {line}: {quote}", line=hint.line, quote=hint.quote[:160])
