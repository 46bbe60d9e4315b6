"""What `serveright facts` returns."""

from msgspec import Struct

from serveright.types.engine_table import EngineName, EngineTable, TableDiff
from serveright.types.hardware import Gpu
from serveright.types.text import Msg


class Listed(Struct, frozen=True, kw_only=True):
    """One line of the catalogue. `config` says how the stored config was come by (copy, mirror, sibling, quoted, reconstructed, class-default)."""

    id: str
    aliases: tuple[str, ...] = ()
    organisation: str = ""
    licence: str = ""
    released: str = ""
    modalities: tuple[str, ...] = ("text",)
    config: str = ""
    checkpoints: tuple[str, ...] = ()


class GpuFacts(Struct, frozen=True, kw_only=True):
    """Accelerators with the origin of every figure."""

    schema: str = "serveright.facts-gpu/1"
    gpus: tuple[Gpu, ...]


class ModelFacts(Struct, frozen=True, kw_only=True):
    """Entries of the catalogue."""

    schema: str = "serveright.facts-model/1"
    models: tuple[Listed, ...]


class EngineFacts(Struct, frozen=True, kw_only=True):
    """An engine version's table, or the difference of two."""

    schema: str = "serveright.facts-engine/1"
    engine: EngineName
    versions: tuple[str, ...]
    table: EngineTable | None = None
    note: Msg | None = None
    diff: TableDiff | None = None


class Origin(Struct, frozen=True, kw_only=True):
    """One fact that deserves another look: it rests on memory or an assumption, or it is old."""

    fact: str
    kind: str
    as_of: str
    text: str


class OriginFacts(Struct, frozen=True, kw_only=True):
    """Facts by how weak their origin is."""

    schema: str = "serveright.facts-origins/1"
    older_than_days: int
    origins: tuple[Origin, ...]
