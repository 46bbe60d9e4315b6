"""Steps 3 and 4 for one engine version: gates, the engine's registry and its own refusals joined into one verdict, and the words to use."""

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.alignment import alignment
from serveright.analysis.gates import gate_reasons, worst
from serveright.analysis.launch import Words
from serveright.types.design import Check, Reason, VerdictName
from serveright.types.engine import Sized
from serveright.types.engine_table import EngineTable
from serveright.types.gate import Gate
from serveright.types.hardware import Gpu
from serveright.types.model import ModelShape
from serveright.types.text import msg
from serveright.versions import at_least, release


class Minimum(Struct, frozen=True, kw_only=True):
    """Oldest versions that can serve the model; None where no source says. `recipe` is what the model's publisher asks for."""

    registry: str | None = None
    """First harvested engine version whose registry has the architecture."""
    recipe: str | None = None
    transformers: str | None = None
    cuda: str | None = None

    @property
    def engine(self) -> str | None:
        """The higher of registry and recipe."""
        known = [v for v in (self.registry, self.recipe) if v]
        return max(known, key=release) if known else None


class Question(Struct, frozen=True, kw_only=True):
    """What a check looks at. `sized` carries the engine's automatic choices and refusals for the smallest layout that was tried."""

    shape: ModelShape
    needs: frozenset[str]
    """What it asks of hardware and engine (`analysis.gates.needs`)."""
    gpu: Gpu
    table: EngineTable
    version: str
    gates: tuple[Gate, ...]
    sized: Sized
    words: Words
    minimum: Minimum
    better_checkpoint: str | None = None
    """A checkpoint in a format that this GPU computes natively, where the asked one is not."""


CAPACITY_CODES = frozenset({"kv-does-not-fit", "weights-do-not-fit", "no-memory", "context-does-not-fit"})


def check(question: Question) -> Check:
    """The verdict of one engine version, worst reason first."""
    reasons = [*_registry(question), *_refusals(question), *_gates(question)]
    reasons.sort(key=lambda item: -("best", "degraded", "unknown", "blocked").index(item[0]))
    resolved = question.sized.resolved
    numbers = alignment(question.shape, question.sized)
    return Check(
        engine=question.table.engine,
        version=question.version,
        verdict=worst(verdict for verdict, _ in reasons),
        reasons=tuple(replace(reason, verdict=verdict) for verdict, reason in reasons),
        resolved={
            "attention_prefill": resolved.attention_prefill,
            "attention_decode": resolved.attention_decode,
            "indexer": resolved.indexer,
            "moe": resolved.moe if any(f.kind == "moe" for layer in question.shape.layers for f in layer.ffns) else None,
            "kv_dtype": resolved.kv_dtype,
            "block_tokens": resolved.block_tokens,
        },
        minimum={"engine": question.minimum.engine, "transformers": question.minimum.transformers, "cuda": question.minimum.cuda},
        tool_parser=question.words.tool_parser,
        reasoning_parser=question.words.reasoning_parser,
        checkpoint=question.better_checkpoint,
        prefix_cache=numbers.prefix,
        kv_tiering=numbers.tiering,
    )


def _registry(question: Question) -> list[tuple[VerdictName, Reason]]:
    name, table, oldest = question.shape.architecture, question.table, question.minimum.engine
    if any(architecture.name == name for architecture in table.architectures):
        if oldest and not at_least(question.version, oldest):
            text = msg("its publisher asks for {engine} {oldest} or later, and this is {version}", engine=table.engine, oldest=oldest, version=question.version)
            return [("degraded", Reason(code="version-below-recipe", text=text, source="recipe"))]
        return []
    if question.minimum.registry and not at_least(question.version, question.minimum.registry):
        text = msg(
            "{engine} {version} does not know {name}; {first} is the first that does",
            engine=table.engine,
            version=question.version,
            name=name,
            first=question.minimum.registry,
        )
        return [("blocked", Reason(code="architecture-too-new", text=text, source=table.source))]
    text = msg("{engine} {version} has no class for {name}", engine=table.engine, version=question.version, name=name)
    return [("blocked", Reason(code="architecture-unknown", text=text, source=table.source))]


def _refusals(question: Question) -> list[tuple[VerdictName, Reason]]:
    """Refusals that no number of GPUs mends; capacity is another question. One without the engine's words is our not knowing."""
    refused = [r for r in question.sized.resolved.refusals if r.code not in CAPACITY_CODES]
    return [("blocked" if r.text else "unknown", Reason(code=r.code, text=r.why, source=r.source)) for r in refused]


def _gates(question: Question) -> list[tuple[VerdictName, Reason]]:
    found: list[tuple[VerdictName, Reason]] = []
    for verdict, reason, fix in gate_reasons(question.gates, question.needs, question.gpu, question.table.engine, question.version):
        text = msg("{text}. {fix}", text=reason.text, fix=fix) if fix else reason.text
        found.append((verdict, Reason(code=reason.code, text=text, source=reason.source)))
    return found
