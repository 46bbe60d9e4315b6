"""The facts themselves: accelerators, models, engine versions and what changed between two of them."""

from datetime import date, timedelta

from serveright.catalog.engines import diff_tables, load_table, successors, versions
from serveright.catalog.gpus import gpu_keys, load_gpu
from serveright.catalog.models import list_models
from serveright.catalog.origins import origins
from serveright.errors import UnknownName
from serveright.types.engine_table import EngineName
from serveright.types.facts_reports import EngineFacts, GpuFacts, ModelFacts, Origin, OriginFacts
from serveright.types.text import msg

KINDS = ("gpu", "model", "engine")


def gpu_facts(name: str | None = None) -> GpuFacts:
    """One accelerator with the origin of each figure, or all. Raises UnknownName."""
    return GpuFacts(gpus=(load_gpu(name),) if name else tuple(load_gpu(key) for key in gpu_keys()))


def model_facts(name: str | None = None) -> ModelFacts:
    """The catalogue, or the entries whose id contains `name`. Raises UnknownName when none does."""
    models = list_models()
    if name is not None:
        found = tuple(m for m in models if name.lower() in m.id.lower())
        if not found:
            raise UnknownName(msg("model of the catalogue"), name, (m.id for m in models), "serveright facts model")
        models = found
    return ModelFacts(models=models)


def engine_facts(name: EngineName, version: str | None = None, diff: tuple[str, str] | None = None) -> EngineFacts:
    """One engine version's table, or what changed between two. Raises UserError."""
    if diff is not None:
        (older, _), (newer, _) = load_table(name, diff[0]), load_table(name, diff[1])
        return EngineFacts(engine=name, versions=versions(name), diff=diff_tables(older, newer, successors(name)))
    table, note = load_table(name, version)
    return EngineFacts(engine=name, versions=versions(name), table=table, note=note)


WEAK = ("memory", "assumed")


def origin_facts(older_than_days: int, today: date) -> OriginFacts:
    """Facts that rest on memory or an assumption, or were last seen more than so many days ago; weakest first."""
    limit = (today - timedelta(days=older_than_days)).isoformat()
    found = [
        Origin(fact=fact, kind=source.kind, as_of=source.as_of, text=source.text)
        for fact, source in origins()
        if source.kind in WEAK or (source.as_of and source.as_of < limit)
    ]
    return OriginFacts(older_than_days=older_than_days, origins=tuple(sorted(found, key=lambda o: (o.kind not in WEAK, o.kind, o.fact))))
