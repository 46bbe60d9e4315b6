"""What a rule may look at: one command, the model, the GPU, the version's table, and what the engine would make of them.

Whatever is None is not known; a rule that needs it stays silent. Rules are pure: they get everything from here and give back `Hit`s.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.given import Given
from serveright.readers.grammar import Grammar, grammar_of
from serveright.types.command import GivenFlag, LaunchCommand
from serveright.types.engine import Parallel, Settings, Sized
from serveright.types.engine_table import Architecture, EngineIndex, EngineName, EngineTable, Flag
from serveright.types.hardware import Gpu
from serveright.types.lore import Defect, Lore, Successor
from serveright.types.model import Attention, Checkpoint, Family, Ffn, Latent, Mixer, ModelShape, NumberFormat, Recurrent
from serveright.types.parsers import ParserChoice
from serveright.types.report import Confidence, Edit, Effect, Location, Severity
from serveright.types.source import ModelFiles
from serveright.types.text import Msg
from serveright.types.traffic import Traffic
from serveright.types.weights import WeightNeed
from serveright.versions import at_least, within

_NOT_REBUILT = ("layout_unknown", "unknown_layer")


class Hit(Struct, frozen=True, kw_only=True):
    """One thing a rule found; the runner stamps code, name and the rule's own severity, effect and confidence where these are None."""

    message: Msg
    why: Msg
    fix: Msg | None = None
    flag: str | None = None
    location: Location | None = None
    edits: tuple[Edit, ...] = ()
    severity: Severity | None = None
    effect: Effect | None = None
    confidence: Confidence | None = None
    sources: tuple[str, ...] = ()


class Facts(Struct, frozen=True, kw_only=True):
    """Everything known beside the command. `table` is the version's, `indexes` the first and last version of every name, `resize` asks the engine "and if ...?"."""

    table: EngineTable
    lore: Lore
    indexes: dict[EngineName, EngineIndex] = {}
    other_table: EngineTable | None = None
    """The newest table of the other engine: whose word is this?"""
    files: ModelFiles | None = None
    shape: ModelShape | None = None
    checkpoint: Checkpoint | None = None
    need: WeightNeed | None = None
    family: Family | None = None
    gpu: Gpu | None = None
    gpu_count: int | None = None
    sized: Sized | None = None
    resize: Callable[[Settings], Sized] | None = None
    read_from: str | None = None
    """The first release whose own code the sizing's refusals follow; for older ones they are likely, not proved."""
    online: bool = False
    """The command has plain weights quantised while they load: the format is the command's, not the checkpoint's."""
    parsers: ParserChoice | None = None
    traffic: Traffic | None = None


class Context(Given, frozen=True, dict=True):
    """One command under audit. `dict=True` lets derived properties be kept."""

    facts: Facts

    @classmethod
    def of(cls, command: LaunchCommand, facts: Facts) -> "Context":
        """The context of one command."""
        return cls(command, facts.table, facts)

    # version

    @property
    def version(self) -> str:
        """The version judged against: the command's own, else the table's."""
        return self.command.engine_version or self.facts.table.version

    def since(self, version: str) -> bool:
        """Whether the version judged against is this one or newer."""
        return at_least(self.version, version)

    def between(self, since: str | None, until: str | None) -> bool:
        """`since` <= version < `until`."""
        return within(self.version, since, until)

    def seen(self, engine: EngineName, kind: str, name: str) -> tuple[str, str] | None:
        """First and last known version with a name of a kind (flags, tool_parsers, ...); None where no version had it."""
        index = self.facts.indexes.get(engine)
        span = index.spans.get(kind, {}).get(name) if index else None
        return (index.versions[span.first], index.versions[span.last]) if index and span else None

    @cached_property
    def grammar(self) -> Grammar:
        """The spellings of this version."""
        return grammar_of(self.table)

    def knows(self, name: str) -> bool:
        """Whether this version accepts a flag (dotted keys too)."""
        return self.grammar.find(name) is not None

    def ambiguous(self, written: str) -> tuple[str, ...]:
        """What an abbreviation could mean where it means several."""
        return self.grammar.ambiguous(written)

    def abbreviated(self, written: str) -> bool:
        """Whether a written name is a working abbreviation."""
        spelling = self.grammar.find(written)
        return spelling is not None and spelling.abbreviated

    def successor(self, name: str) -> Successor | None:
        """What became of a flag of this engine."""
        return next((entry for entry in self.facts.lore.successors if entry.engine == self.command.engine and entry.flag == name), None)

    def spec(self, *names: str) -> Flag | None:
        """The table's entry for a flag under any of these names."""
        found = (self.grammar.names.get(self.canonical(name)) for name in names)
        return next((spelling.flag for spelling in found if spelling is not None and not spelling.negated), None)

    # model

    @property
    def shape(self) -> ModelShape | None:
        """The model, where known."""
        return self.facts.shape

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The number formats, where known."""
        return self.facts.checkpoint

    @cached_property
    def mixers(self) -> tuple[Mixer, ...]:
        """Every mixer of every layer."""
        return () if self.shape is None else tuple(mixer for layer in self.shape.layers for mixer in layer.mixers)

    @cached_property
    def attention(self) -> tuple[Attention, ...]:
        """The softmax attention mixers."""
        return tuple(mixer for mixer in self.mixers if isinstance(mixer, Attention))

    @cached_property
    def latent(self) -> tuple[Latent, ...]:
        """The latent attention mixers."""
        return tuple(mixer for mixer in self.mixers if isinstance(mixer, Latent))

    @cached_property
    def recurrent(self) -> tuple[Recurrent, ...]:
        """The recurrent mixers."""
        return tuple(mixer for mixer in self.mixers if isinstance(mixer, Recurrent))

    @cached_property
    def moe(self) -> tuple[Ffn, ...]:
        """The mixture-of-experts blocks."""
        return () if self.shape is None else tuple(ffn for layer in self.shape.layers for ffn in layer.ffns if ffn.kind == "moe")

    @cached_property
    def features(self) -> frozenset[str]:
        """Features of model and command that defects and rules ask for."""
        return frozenset(_features(self))

    @property
    def dsa(self) -> bool:
        """Sparse latent attention chosen by an indexer (DeepSeek-V3.2, GLM-5)."""
        return any(mixer.indexer is not None and mixer.kind == "sparse_mla" for mixer in self.latent)

    @property
    def compressed(self) -> bool:
        """DeepSeek-V4's compressed latent attention."""
        return any(mixer.kind in ("csa", "hca", "compressed") for mixer in self.latent)

    @property
    def hybrid(self) -> bool:
        """Recurrent layers beside attention."""
        return bool(self.recurrent) and bool(self.attention or self.latent)

    @property
    def sinks(self) -> bool:
        """Learnable attention sinks (gpt-oss)."""
        return any(mixer.sinks for mixer in self.attention)

    @property
    def head_dims(self) -> frozenset[int]:
        """Head sizes over all layers, global ones too."""
        return frozenset(mixer.head_dim for mixer in self.attention)

    @property
    def query_heads(self) -> frozenset[int]:
        """Query head counts over all attention layers of the text model."""
        return frozenset(mixer.query_heads for mixer in (*self.attention, *self.latent))

    @cached_property
    def formats(self) -> tuple[NumberFormat, ...]:
        """The number formats of the checkpoint's rules."""
        return () if self.checkpoint is None else tuple(rule.format for rule in self.checkpoint.rules if rule.format is not None)

    @property
    def quantised(self) -> bool:
        """Weights stored in fewer bits than the model's dtype."""
        return self.checkpoint is not None and self.checkpoint.method != "none"

    def is_format(self, *names: str) -> bool:
        """Whether the checkpoint as a whole or any of its parts is stored in one of these formats (fp8, nvfp4, mxfp4, int4, ...)."""
        if self.checkpoint is None:
            return False
        stored = {self.checkpoint.format, *(form.name for form in self.formats)}
        return any(one == name or one.startswith((f"{name}_", f"{name}-")) for one in stored for name in names)

    @property
    def block_scaled(self) -> tuple[int, int] | None:
        """The tile of block-scaled weights, e.g. (128, 128)."""
        return next((form.block for form in self.formats if form.block is not None), None)

    # hardware

    @property
    def gpu(self) -> Gpu | None:
        """The GPU, where known."""
        return self.facts.gpu

    @property
    def sm(self) -> int | None:
        """Compute capability as 90, 100, 120; None off CUDA or where unknown."""
        return None if self.gpu is None else self.gpu.sm

    @property
    def amd(self) -> bool:
        """An AMD GPU."""
        return self.gpu is not None and self.gpu.vendor.lower() == "amd"

    @property
    def gpus(self) -> int | None:
        """GPUs the deployment has: as asked, else nodes times what each node requests; None where unknown."""
        if self.facts.gpu_count is not None:
            return self.facts.gpu_count
        return None if self.command.gpu_count is None else self.command.gpu_count * self.command.nodes

    @property
    def layout(self) -> Parallel:
        """The command's parallelism in engine-free words."""
        return self.parallel

    # sizing

    @property
    def sized(self) -> Sized | None:
        """What the engine makes of the command as it stands; None where the layout of a layer is not known to us."""
        sized = self.facts.sized
        if sized is None or any(refusal.code in _NOT_REBUILT for refusal in sized.resolved.refusals):
            return None
        return sized

    def what_if(self, **changes: Any) -> Sized | None:
        """What it would make of other settings (fields of `Settings`); None where sizing is not possible."""
        if self.sized is None or self.facts.resize is None:
            return None
        return self.facts.resize(replace(self.sized.settings, **changes))

    # findings

    def defects(self, rule: str) -> Iterator[Defect]:
        """The known defects of this release that a rule reports."""
        for defect in self.facts.lore.defects:
            if defect.rule == rule and self._suffers(defect):
                yield defect

    def _suffers(self, defect: Defect) -> bool:
        if defect.engine != self.command.engine or not self.between(defect.from_version, defect.until):
            return False
        if self.command.engine_version is None and defect.until is not None:
            return False  # the newest release is assumed: never blamed for an old one's fault
        if defect.flag and (not self.has(defect.flag) or (defect.values and self.value(defect.flag) not in defect.values)):
            return False
        if defect.unless_flag and self.has(defect.unless_flag):
            return False
        if (defect.unless_env and self._set(defect.unless_env)) or (defect.env and not self._set(defect.env)):
            return False
        return self._stands_on(defect)

    def _stands_on(self, defect: Defect) -> bool:
        """Whether model and GPU are those a defect needs."""
        if defect.sm and self.sm not in defect.sm:
            return False
        if defect.gpu_architectures and (self.gpu is None or not any(name in self.gpu.architecture for name in defect.gpu_architectures)):
            return False
        if defect.architectures and (self.shape is None or self.shape.architecture not in defect.architectures):
            return False
        if defect.formats and not self.is_format(*defect.formats):
            return False
        return set(defect.needs) <= self.features

    def _set(self, wanted: str) -> bool:
        name, equals, value = wanted.partition("=")
        given = self.env(name)
        return given is not None and (not equals or given == value)

    def place(self, flag: GivenFlag | None) -> Location:
        """Where a flag stands, else where the command does."""
        return self.command.location if flag is None else flag.location

    def knows_architecture(self) -> Architecture | None:
        """The registry's entry of the model's class on this version."""
        if self.shape is None:
            return None
        return next((known for known in self.table.architectures if known.name == self.shape.architecture), None)


def _features(context: Context) -> Iterator[str]:
    if context.moe:
        yield "moe"
    if context.recurrent:
        yield "recurrent"
    if context.sinks:
        yield "sinks"
    if context.dsa:
        yield "dsa"
    if any(mixer.window_tokens for mixer in context.attention):
        yield "windows"
    if context.shape is not None and len(context.shape.modalities) > 1:
        yield "multimodal"
    speculation = context.speculation
    if speculation:
        yield "speculation"
        if speculation[1] > 1:
            yield "speculation_long"
    default = not context.hybrid or not context.vllm or context.since("0.26.0")
    switch = context.on("--enable-prefix-caching") if context.vllm else (False if context.on("--disable-radix-cache") else None)
    if default if switch is None else switch:
        yield "prefix_cache"
