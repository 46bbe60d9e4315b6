"""Step 1: what is this model?"""

from serveright.analysis import describe
from serveright.api.loading import Model, load_model
from serveright.types.reports import InspectReport
from serveright.types.source import ModelFiles
from serveright.types.text import Msg, msg


def inspect(model: str | ModelFiles, revision: str | None = None) -> InspectReport:
    """Family with its evidence, layers by kind, parameters and checkpoint of a model. Raises UserError."""
    return report(load_model(model, revision))


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
    """Published figures that differ from the config's, said openly; the config wins."""
    found: list[Msg] = []
    published = model.files.facts.get("parameters")
    total = model.need.total_elements
    if isinstance(published, int) and abs(total / published - 1) > 0.001:
        found.append(
            msg(
                "Published parameter total {published:n}; the config gives {total:n} ({diff:pct})", published=published, total=total, diff=total / published - 1
            )
        )
    return tuple(found)
