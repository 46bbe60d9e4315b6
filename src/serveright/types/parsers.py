"""Which words separate tool calls and reasoning from text: the dialects templates speak, and the choice for one model."""

from msgspec import Struct

from serveright.types.fact import Evidence


class Names(Struct, frozen=True, kw_only=True):
    """One parser under both engines' names; None where the engine has none for it."""

    vllm: str | None = None
    sglang: str | None = None

    def of(self, engine: str) -> str | None:
        """The name on one engine."""
        return self.vllm if engine == "vllm" else self.sglang


class Dialect(Struct, frozen=True, kw_only=True):
    """How a chat template gives itself away: all of `all`, one of `any`, none of `none` must stand in it (plain text); `pattern` is a regular expression.

    `tool` and `reasoning` are tried apart: the first dialect that matches and names one decides it.
    """

    name: str
    source: str
    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    pattern: str | None = None
    tool: Names | None = None
    reasoning: Names | None = None


class ArchitectureParsers(Struct, frozen=True, kw_only=True):
    """What an architecture is served with where no template was there to look at. `sure` False: its checkpoints speak several dialects, any of `also_*` may be right."""

    architectures: tuple[str, ...]
    source: str
    tool: Names | None = None
    reasoning: Names | None = None
    also_tool: tuple[str, ...] = ()
    also_reasoning: tuple[str, ...] = ()
    sure: bool = True
    encoded_in_code: bool = False
    """The engine builds the prompt itself; there is no template to override."""
    tokenizer_mode: str | None = None
    """vLLM `--tokenizer-mode` that holds the encoder."""


class Equivalent(Struct, frozen=True, kw_only=True):
    """Names that are one parser: where one is right, any is. On both engines and in every version unless said."""

    names: tuple[str, ...]
    source: str
    engine: str | None = None
    since: str | None = None
    current: str | None = None
    """The one to write where the version knows it; the others are read as this one with a warning."""


class ParserFacts(Struct, frozen=True, kw_only=True):
    """The whole hand-kept table."""

    dialects: tuple[Dialect, ...] = ()
    architectures: tuple[ArchitectureParsers, ...] = ()
    equivalent: tuple[Equivalent, ...] = ()


class ParserChoice(Struct, frozen=True, kw_only=True):
    """The parsers one model needs on one engine version. `sure`: a template or the catalogue says so; else only the architecture does."""

    tool: str | None = None
    reasoning: str | None = None
    accepted_tool: tuple[str, ...] = ()
    accepted_reasoning: tuple[str, ...] = ()
    sure: bool = False
    reasoning_sure: bool = False
    """The template or the checkpoint's published recipe names the reasoning parser; else only its family does, and this checkpoint may not think at all."""
    evidence: tuple[Evidence, ...] = ()
    encoded_in_code: bool = False
    tokenizer_mode: str | None = None
    thinks_unasked: bool = False
    """The template opens a think block in the generation prompt."""
    toggle: str | None = None
    """The template's own switch for thinking (`enable_thinking`, `thinking`)."""
    toggle_default: bool | None = None
