"""A command for another version or the other engine, with everything that has no equivalent there said.

Pure: gets both tables and the hand-kept lore; makes a `Launch` that any emitter prints.
"""

import json
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from serveright.analysis.given import Given
from serveright.readers.grammar import grammar_of
from serveright.rules.helpers import repeats
from serveright.types.command import GivenFlag, LaunchCommand
from serveright.types.design import FlagChoice, Launch
from serveright.types.engine_table import EngineTable, Flag
from serveright.types.lore import Counterpart, Lore
from serveright.types.text import Msg, msg


class Lost(Struct, frozen=True):
    """A flag or variable without an equivalent, and why."""

    name: str
    value: str | None
    why: Msg


class Migration(Struct, frozen=True, kw_only=True):
    """The new command, what was lost, and which defaults of absent flags differ between the two versions of one engine."""

    launch: Launch
    lost: tuple[Lost, ...]
    notes: tuple[Msg, ...] = ()


_LAYOUT = (
    "--tensor-parallel-size",
    "--tp-size",
    "--data-parallel-size",
    "--dp-size",
    "--attn-dp-size",
    "--enable-dp-attention",
    "--pipeline-parallel-size",
    "--pp-size",
    "--enable-expert-parallel",
    "--ep-size",
    "--decode-context-parallel-size",
    "--dcp-size",
)
_SPECULATION = (
    "--speculative-config",
    "--speculative-algorithm",
    "--speculative-num-steps",
    "--speculative-eagle-topk",
    "--speculative-num-draft-tokens",
    "--speculative-draft-model-path",
)
_METHODS = {"mtp": "EAGLE", "eagle": "EAGLE", "eagle3": "EAGLE3", "ngram": "NGRAM", "draft_model": "STANDALONE", "dflash": "DFLASH"}


_SHARES = ("--gpu-memory-utilization", "--mem-fraction-static")


def migrate(command: LaunchCommand, source: EngineTable, target: EngineTable, lore: Lore, checkpoint: str | None = None) -> Migration:
    """The same wishes in the target's words. `source` is the table of the command's own version, `checkpoint` the format its config names, None where unknown."""
    across = source.engine != target.engine
    given = Given(_today(command, source, lore) if across else command, source)
    move = _Move(given, target, lore, checkpoint)
    flags = tuple(move.flags())
    env = {name: word.text for name, word in command.env.items() if move.keeps(name, word.text)}
    launch = Launch(engine=target.engine, version=target.version, model=command.model or "MODEL", flags=flags, env=env, left_to_engine=(), first_launch=())
    notes = tuple(move.notes) if across else tuple(_defaults(given, source, target))
    return Migration(launch=launch, lost=tuple(move.lost), notes=notes)


def _today(command: LaunchCommand, source: EngineTable, lore: Lore) -> LaunchCommand:
    """The command with switches of old releases and of recipes (`--enable-moe-ep`) in the words its engine has for them."""
    words = {
        entry.flag: entry
        for entry in lore.successors
        if entry.engine == source.engine and entry.to and not entry.keep_value and any(flag.name == entry.to for flag in source.flags)
    }
    tp = str(Given(command, source).tp_flag)

    def said(flag: GivenFlag) -> GivenFlag:
        entry = words.get(flag.written.split("=")[0])
        if entry is None or entry.to is None:
            return flag
        return replace(flag, written=entry.to, name=entry.to, value=entry.value.replace("{tp}", tp) if entry.value else None)

    return replace(command, flags=tuple(said(flag) for flag in command.flags))


class _Move:
    def __init__(self, given: Given, target: EngineTable, lore: Lore, checkpoint: str | None) -> None:
        self.checkpoint = checkpoint
        self.notes: list[Msg] = []
        self.given = given
        self.target = target
        self.grammar = grammar_of(target)
        self.lore = lore
        self.lost: list[Lost] = []
        self.across = given.command.engine != target.engine

    def flags(self) -> Iterator[FlagChoice]:
        """Every flag in order; layout and speculation as a whole when the engine changes."""
        special = {self.given.canonical(name) for name in (*_LAYOUT, *_SPECULATION)} if self.across else set[str]()
        if self.across:
            yield from self._layout()
        for flag in self.given.command.flags:
            if flag.name in special or self._is_model(flag):
                continue
            yield from self._across(flag) if self.across else self._within(flag)
        if self.across:
            yield from self._speculation()

    def _is_model(self, flag: GivenFlag) -> bool:
        return (flag.name or flag.written) in ("--model", "--model-path", "--model-tag")

    def _within(self, flag: GivenFlag) -> Iterator[FlagChoice]:
        spelling = self.grammar.find(flag.written)
        if spelling is not None:
            value = None if spelling.negated else flag.value
            problem = _not_a_choice(spelling.flag, value)
            if problem is not None:
                self.lost.append(Lost(flag.written, flag.value, problem))
                return
            yield FlagChoice(flag=flag.written, value=value, why=msg("unchanged"))
            return
        name = flag.written.split(".")[0]
        successor = next((entry for entry in self.lore.successors if entry.engine == self.target.engine and entry.flag == name), None)
        if successor is None or (successor.to is not None and self.grammar.find(successor.to) is None):
            self.lost.append(Lost(flag.written, flag.value, msg("not in {engine} {version}", engine=self.target.engine, version=self.target.version)))
        elif successor.to is None:
            why = msg("the engine does this by itself") if successor.kind == "default" else msg("removed; nothing took its place")
            self.lost.append(Lost(flag.written, flag.value, why))
        else:
            value = successor.value.replace("{tp}", str(self.given.tp_flag)) if successor.value else flag.value if successor.keep_value else None
            target_flag = self.grammar.find(successor.to)
            if value is None and target_flag is not None and not target_flag.flag.switch:
                self.lost.append(Lost(flag.written, flag.value, msg("became {to}, whose value must be chosen anew", to=successor.to)))
                return
            yield FlagChoice(flag=successor.to, value=value, why=msg("was {old}", old=flag.written))

    def _across(self, flag: GivenFlag) -> Iterator[FlagChoice]:
        pair = self._pair(flag)
        if pair is None:
            name = flag.name or flag.written
            if name == "--enable-auto-tool-choice":
                return  # SGLang needs only the parser
            self.lost.append(Lost(flag.written, flag.value, msg("no equivalent in {engine}", engine=self.target.engine)))
            return
        to = pair.sglang if self.target.engine == "sglang" else pair.vllm
        value = self._value(pair, flag)
        on = flag.value is None or flag.value != "false"
        if pair.switch:
            name = self._switch(pair, to, on)
            if name is not None:
                yield FlagChoice(flag=name, value=None, why=msg("was {old}", old=flag.written))
            return
        if to == "--quantization" and flag.value and self.checkpoint and repeats(flag.value, self.checkpoint):
            self.notes.append(msg("{flag} {value}: left out, the checkpoint says {own} itself", flag=flag.written, value=flag.value, own=self.checkpoint))
            return
        problem = self._refuses(to, value)
        if problem is not None:
            self.lost.append(Lost(flag.written, flag.value, problem))
            return
        if to in _SHARES:
            self.notes.append(_other_share(flag, to))
        yield FlagChoice(
            flag=to, value=value, why=msg("was {old}: {note}", old=flag.written, note=pair.note) if pair.note else msg("was {old}", old=flag.written)
        )
        if to == "--tool-call-parser" and self.target.engine == "vllm":
            yield FlagChoice(flag="--enable-auto-tool-choice", value=None, why=msg("vLLM parses calls only with this switch beside the parser"))

    def _switch(self, pair: Counterpart, to: str, on: bool) -> str | None:
        """The switch that says the same; None where that is the target's default anyway.

        An inverse pair joins one engine's "on" with the other's "off": `--disable-radix-cache` is `--no-enable-prefix-caching`.
        """
        wanted = on != pair.inverse
        if wanted:
            return to
        negated = f"--no-{to.removeprefix('--')}"
        return negated if self.grammar.find(negated) is not None and pair.inverse else None

    def _pair(self, flag: GivenFlag) -> Counterpart | None:
        """The pair whose word on this engine, or whose later name on it, is the flag; dotted keys as written."""
        written = flag.written if "." in flag.written else flag.name or flag.written
        engine = self.given.command.engine
        later = next((entry.to for entry in self.lore.successors if entry.engine == engine and entry.flag == written and entry.keep_value), None)
        sides = [(pair.vllm if self.given.vllm else pair.sglang, pair) for pair in self.lore.counterparts]
        wanted = {name for name in (written, later) if name}
        return next((pair for name, pair in sides if name in wanted or (self.given.canonical(name) in wanted and "." not in flag.written)), None)

    def _value(self, pair: Counterpart, flag: GivenFlag) -> str | None:
        if flag.value is None:
            return None
        if self.target.engine == "sglang":
            return pair.values.get(flag.value, flag.value)
        return next((own for own, other in pair.values.items() if other == flag.value), flag.value)

    def _refuses(self, name: str, value: str | None) -> Msg | None:
        spelling = self.grammar.find(name)
        if spelling is None:
            return msg("not in {engine} {version}", engine=self.target.engine, version=self.target.version)
        registered = {"--tool-call-parser": self.target.tool_parsers, "--reasoning-parser": self.target.reasoning_parsers}.get(name)
        if registered and value not in registered:
            return msg("{engine} has no parser called {value}", engine=self.target.engine, value=value)
        return _not_a_choice(spelling.flag, value)

    def _layout(self) -> Iterator[FlagChoice]:
        layout = self.given.layout_words(self.target)
        for name, value, why in layout:
            if value == "1":  # what both engines do anyway
                continue
            yield FlagChoice(flag=name, value=value, why=why)

    def _speculation(self) -> Iterator[FlagChoice]:
        speculation = self.given.speculation
        if speculation is None:
            return
        method, tokens = speculation
        tokens = tokens or (1 if self.given.vllm else 3)  # what the engines draft where nothing is said
        if self.target.engine == "sglang":
            algorithm = _METHODS.get("mtp" if method.endswith("mtp") else method)
            if algorithm is None:
                self.lost.append(Lost("--speculative-config", method, msg("no equivalent in {engine}", engine="sglang")))
                return
            yield FlagChoice(flag="--speculative-algorithm", value=algorithm, why=msg("drafting with {method}", method=method))
            yield FlagChoice(flag="--speculative-num-steps", value=str(tokens), why=msg("drafted tokens"))
            yield FlagChoice(flag="--speculative-eagle-topk", value="1", why=msg("one branch, as vLLM drafts"))
            yield FlagChoice(flag="--speculative-num-draft-tokens", value=str(tokens + 1), why=msg("drafted tokens and the verified one"))
            draft = self.given.json("--speculative-config").get("model")
            if draft:
                yield FlagChoice(flag="--speculative-draft-model-path", value=str(draft), why=msg("the draft model"))
            return
        own = next((name for name, other in _METHODS.items() if other == method.upper()), "mtp" if method.upper() == "NEXTN" else None)
        if own is None:
            self.lost.append(Lost("--speculative-algorithm", method, msg("no equivalent in {engine}", engine="vllm")))
            return
        draft = self.given.value("--speculative-draft-model-path")
        if own == "eagle" and draft is None:
            own = "mtp"
        config: dict[str, object] = {"method": own, "num_speculative_tokens": tokens, **({"model": draft} if draft else {})}
        yield FlagChoice(flag="--speculative-config", value=json.dumps(config), why=msg("drafting with {method}", method=method))

    def keeps(self, name: str, value: str) -> bool:
        """Whether a variable means something to the target; engine variables that do not are listed as lost."""
        if not name.startswith(("VLLM_", "SGLANG_", "SGL_")):
            return True
        if name in self.target.environment:
            return True
        dead = next((entry for entry in self.lore.dead_variables if entry.name == name and entry.engine == self.target.engine), None)
        why = (
            msg("became {to}", to=dead.to)
            if dead is not None and dead.to
            else msg("{engine} {version} does not read it", engine=self.target.engine, version=self.target.version)
        )
        self.lost.append(Lost(name, value, why))
        return False


def _other_share(flag: GivenFlag, to: str) -> Msg:
    """What changes although the number stays."""
    if to == "--mem-fraction-static":
        return msg(
            "{old} {value} became {to} {value}, but it counts less: SGLang's share holds weights and cache only, activations and graphs come on top; leave it out to let the engine choose",
            old=flag.written,
            value=flag.value or "",
            to=to,
        )
    return msg(
        "{old} {value} became {to} {value}, but it counts more: vLLM's share also holds activations and graphs, so less is left for the cache; leave it out to let the engine choose",
        old=flag.written,
        value=flag.value or "",
        to=to,
    )


def _not_a_choice(flag: Flag, value: str | None) -> Msg | None:
    if value is None or not flag.choices or flag.open_choices or flag.repeatable or flag.type == "json":
        return None
    allowed = {choice.lower() for choice in flag.choices} if flag.any_case else set(flag.choices)
    if (value.lower() if flag.any_case else value) in allowed:
        return None
    return msg("{flag} takes no {value} there", flag=flag.name, value=value)


def _defaults(given: Given, source: EngineTable, target: EngineTable) -> Iterator[Msg]:
    """Defaults of flags the command does not set and that differ between the versions."""
    new = {flag.name: flag.default for flag in target.flags}
    for flag in source.flags:
        if flag.name not in new or flag.default is None or new[flag.name] is None or given.has(flag.name):
            continue
        if flag.default != new[flag.name]:
            yield msg("{flag}: default {old} became {new}", flag=flag.name, old=str(flag.default), new=str(new[flag.name]))
