"""Any file -> the engine starts in it. Picks the reader by name and content; nothing in a file is ever executed.

Text without `vllm` or `sglang` in it is looked at only as an engine's own configuration file.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from serveright.catalog.own import existing, read_own
from serveright.errors import InputError
from serveright.readers import engine_config, python_source, slurm, systemd
from serveright.readers.compose import Compose
from serveright.readers.config_maps import ConfigMaps
from serveright.readers.grammar import Grammar, grammar_of
from serveright.readers.invocation import Start, mentions_engine, starts_in, starts_in_shell
from serveright.readers.kubernetes import Deployment, Manifest
from serveright.readers.placed import Placed
from serveright.readers.shell import Simple
from serveright.readers.windows import continued
from serveright.readers.yaml_tree import Node, documents, get, pairs
from serveright.types.command import GivenFlag, LaunchCommand, Word
from serveright.types.engine_table import EngineName, EngineTable
from serveright.types.report import Location
from serveright.types.text import Msg, msg
from serveright.units import parse_whole

MAX_BYTES = 16 << 20
MOST_FLAGS, MOST_WORDS = 2_000, 8_000
"""No real start has a tenth of these: what stands behind them is named as unread."""

_SHELL_FENCES = frozenset({"", "bash", "sh", "shell", "console", "text", "zsh", "powershell", "pwsh", "ps1", "bat", "cmd", "batch", "shellsession"})

Tables = Callable[[EngineName, str | None], EngineTable]
"""The flag table of one engine version; None means the newest known."""


class Reading(Struct, frozen=True):
    """The commands of one file and what could not be read."""

    commands: tuple[LaunchCommand, ...]
    unread: tuple[Msg, ...] = ()


class Override(Struct, frozen=True):
    """What the user said about every command: it wins over the file."""

    engine: EngineName | None = None
    version: str | None = None


class _Kind(Protocol):
    def deployments(self) -> Iterable[Deployment]: ...

    unread: list[Msg]


class Reader:
    """Reads files against one set of tables."""

    def __init__(self, tables: Tables, override: Override | None = None) -> None:
        self.tables = tables
        self.override = override or Override()

    def grammar(self, engine: EngineName, version: str | None) -> Grammar:
        """The grammar of one engine version."""
        return grammar_of(self.tables(engine, version))

    def file(self, path: Path) -> Reading:
        """Every command of a file.

        Raises InputError where it cannot be opened or is larger than 16 MiB.
        """
        reading = self.bytes(read_own(path, msg("Give an existing file, a folder, or - for stdin."), MAX_BYTES), str(path))
        return replace(reading, commands=tuple(self._with_config(command, path.parent) for command in reading.commands))

    def bytes(self, raw: bytes, file: str) -> Reading:
        """Every command of a file's content; NUL-separated content is a process's command line.

        Raises InputError where it is larger than 16 MiB.
        """
        if len(raw) > MAX_BYTES:
            raise InputError(msg("{path} is too long: files up to {limit:gib} are read", path=file, limit=MAX_BYTES))
        if b"\0" in raw[:4096]:
            from serveright.readers.procfs import read_words

            return self.simple(read_words(raw, file))
        return self.text(raw.decode("utf-8-sig", errors="replace"), file)

    def text(self, text: str, file: str) -> Reading:
        """Every command of a text; `file` names it in places and decides the reader by its ending."""
        if not mentions_engine(text):
            return self._engine_config(text, file) if _ending(file) in ("yaml", "yml", "json") else Reading(())
        kind = _kind(text, file)
        if kind == "yaml":
            return self._yaml(text, file)
        if kind == "python":
            return self._python(text, file)
        if kind == "unit":
            found: list[Start] = []
            unread: list[Msg] = []
            for command, env, said in systemd.commands(text, file):
                starts, more = starts_in_shell(command, env)
                found.extend(starts)
                unread.extend([*said, *more])
            return self._done([Deployment(start=start) for start in found], unread)
        if kind == "dockerfile":
            return self._dockerfile(text, file)
        if kind == "markdown":
            return self._markdown(text, file)
        text = continued(text, _ending(file))
        starts, unread = starts_in_shell(Placed.whole(text, file))
        batch = slurm.read_batch(text)
        deployments = [Deployment(start=start, gpu=batch.gpu, gpu_count=batch.gpu_count, nodes=batch.nodes) for start in starts]
        return self._done([*deployments, *self._manifests_in(text, file)], unread if starts else [])

    def simple(self, simple: Simple) -> Reading:
        """A command that is already cut into words."""
        unread: list[Msg] = []
        starts = list(starts_in(simple, 0, unread))
        if not starts and self.override.engine:
            words = tuple(value.word() for value in simple.words)
            if words:
                starts = [Start(engine=self.override.engine, words=words, at=words[0], entry="", env=simple.env)]
        return self._done([Deployment(start=start) for start in starts], unread)

    def _manifests_in(self, text: str, file: str) -> list[Deployment]:
        """YAML in here-documents handed to kubectl or helm."""
        from serveright.readers.shell import Script

        found: list[Deployment] = []
        if "<<" not in text or "image:" not in text:
            return found
        seen: set[int] = set()
        for simple in Script(Placed.whole(text, file)).commands():
            if simple.heredoc is None or "image:" not in simple.heredoc.text:
                continue
            first = simple.heredoc.at(0).line - 1
            if first in seen:  # `cat <<EOF | kubectl apply -f -` hands one text to both
                continue
            seen.add(first)
            padded = "\n" * first + simple.heredoc.text
            nodes, _ = documents(padded)
            for node in nodes:
                found.extend(Manifest(node, padded.splitlines(), file).deployments())
        return found

    def _yaml(self, text: str, file: str) -> Reading:
        nodes, unread = documents(text)
        lines = text.splitlines()
        maps = ConfigMaps(nodes, lines, file)
        found: list[Deployment] = []
        for node in nodes:
            services = get(node, "services")
            kind: _Kind = (
                Compose(node, lines, file)
                if services is not None and get(node, "apiVersion") is None and any(True for _ in pairs(services))
                else Manifest(node, lines, file, maps)
            )
            found.extend(kind.deployments())
            unread.extend(kind.unread)
        if not found and not unread:
            return self._engine_config(text, file)
        reading = self._done(found, unread)
        return replace(reading, commands=tuple(self._with_mounted(command, maps, file) for command in reading.commands))

    def _with_mounted(self, command: LaunchCommand, maps: ConfigMaps, file: str) -> LaunchCommand:
        """The flags of a `--config` file that a ConfigMap of this very file holds, in the place of the flag that names it."""
        given = _config_flag(command)
        content = maps.mounted(given.value) if given is not None and given.value and given.literal else None
        if given is None or content is None:
            return command
        nodes, unread = documents(content)
        rest = tuple(flag for flag in command.flags if flag is not given)
        return self._configured(replace(command, flags=rest), nodes, unread, file)

    def _python(self, text: str, file: str) -> Reading:
        source = python_source.Source(text, file)
        unread = source.unread
        found: list[Deployment] = []
        for command in source.commands():
            if isinstance(command, Simple):
                found.extend(Deployment(start=start) for start in starts_in(command, 0, unread))
            elif mentions_engine(command.text):
                starts, more = starts_in_shell(command)
                found.extend(Deployment(start=start) for start in starts)
                unread.extend(more if starts else [])
        return self._done(_longest(found), unread)

    def _dockerfile(self, text: str, file: str) -> Reading:
        from serveright.readers.dockerfile import deployments

        unread: list[Msg] = []
        return self._done(deployments(text, file, unread), unread)

    def _markdown(self, text: str, file: str) -> Reading:
        """Fenced blocks of a document, each read as what it says it is."""
        commands: list[LaunchCommand] = []
        for match in re.finditer(r"^[ \t]*(```|~~~)[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*\1", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start(3))
            padded, language = "\n" * line + match[3], match[2].lower()
            if not mentions_engine(match[3]):
                continue
            if language in ("yaml", "yml"):
                commands.extend(self._yaml(padded, file).commands)
            elif language in ("python", "py"):
                commands.extend(self._python(padded, file).commands)
            elif language in _SHELL_FENCES:
                cleaned = re.sub(r"^([ \t]*)\$ ", r"\1  ", continued(padded, language), flags=re.MULTILINE)
                starts, _ = starts_in_shell(Placed.whole(cleaned, file))
                commands.extend(self._done([Deployment(start=start) for start in starts], []).commands)
        return Reading(tuple(commands))

    def _engine_config(self, text: str, file: str) -> Reading:
        nodes, unread = documents(text)
        engines: tuple[EngineName, ...] = (self.override.engine,) if self.override.engine else ("vllm", "sglang")
        for node in nodes[:1]:
            for engine in engines:
                if engine_config.fits(node, self.grammar(engine, self.override.version)):
                    words, model = engine_config.config_words(node, file)
                    at = words[0] if words else Word("", Location(file, 1, 1))
                    all_words = (model, *words) if model else tuple(words)
                    return self._done([Deployment(start=Start(engine=engine, words=all_words, at=at, entry="config", env={}))], unread)
        return Reading((), tuple(unread))

    def _with_config(self, command: LaunchCommand, folder: Path) -> LaunchCommand:
        """Adds the flags of a `--config` file that lies beside; the command line wins, so they go in front."""
        given = _config_flag(command)
        if given is None or given.value is None:
            return command
        path = existing(folder / given.value)
        if not given.literal or path is None or not path.is_file() or path.stat().st_size > MAX_BYTES:
            return replace(command, unread=(*command.unread, msg("configuration file {path} was not found beside this file", path=given.value)))
        nodes, unread = documents(path.read_text(encoding="utf-8-sig", errors="replace"))
        return self._configured(command, nodes, unread, str(path))

    def _configured(self, command: LaunchCommand, nodes: list[Node], unread: list[Msg], file: str) -> LaunchCommand:
        """A command with the flags of a configuration in front of its own, which win."""
        if not nodes:
            return replace(command, unread=(*command.unread, *unread))
        words, model = engine_config.config_words(nodes[0], file)
        parsed = self.grammar(command.engine, command.engine_version).parse(words)
        chosen = _model(parsed.flags, (model,) if model else ())
        return replace(
            command,
            flags=(*parsed.flags, *command.flags),
            model=command.model or (chosen.text if chosen else None),
            model_location=command.model_location or (chosen.location if chosen else None),
            unread=(*command.unread, *unread),
        )

    def _done(self, deployments: Iterable[Deployment], unread: list[Msg]) -> Reading:
        return Reading(tuple(self._command(deployment) for deployment in deployments), tuple(unread))

    def _command(self, deployment: Deployment) -> LaunchCommand:
        start = deployment.start
        engine = start.engine
        version, source = None, None
        if start.image and start.image.engine == engine and start.image.version:
            version, source = start.image.version, "image"
        if self.override.version and self.override.engine in (None, engine):
            version, source = self.override.version, "--engine"
        words = start.words[:MOST_WORDS]
        parsed = self.grammar(engine, version).parse(words)
        flags = parsed.flags[:MOST_FLAGS]
        model = _model(parsed.flags, parsed.positionals)
        if deployment.model is not None and (model is None or model.text.startswith("/mnt/models")):
            model = deployment.model
        nodes, copies = _nodes(flags, deployment)
        unread = list(start.unread) + list(parsed.unread)
        if len(words) < len(start.words) or len(flags) < len(parsed.flags):
            unread.append(msg("a command of {words:n} words: only its first {flags:n} flags were read", words=len(start.words), flags=len(flags)))
        opaque = [flag.written for flag in flags if not flag.literal]
        if opaque:
            unread.append(msg("not known before the start: {names}", names=", ".join(opaque[:8])))
        return LaunchCommand(
            engine=engine,
            engine_version=version,
            version_source=source,
            model=model.text if model and model.literal else None,
            model_location=model.location if model else None,
            flags=flags,
            words=words,
            env=start.env,
            location=start.at.location,
            image=start.image_text,
            gpu=deployment.gpu,
            gpu_count=deployment.gpu_count or start.gpu_count or _visible(start.env),
            nodes=nodes,
            copies=copies,
            role=_role(flags, deployment.role),
            entry=start.entry,
            unread=tuple(unread),
        )


def _config_flag(command: LaunchCommand) -> GivenFlag | None:
    return next((flag for flag in command.flags if flag.name == "--config" and flag.value), None)


def _longest(found: list[Deployment]) -> list[Deployment]:
    """Without the lists that only begin a longer one (`cmd = [...]`, then `cmd + [...]`)."""
    words = [deployment.start.words for deployment in found]
    return [
        deployment
        for deployment in found
        if not any(len(other) > len(deployment.start.words) and other[: len(deployment.start.words)] == deployment.start.words for other in words)
    ]


def _model(flags: Iterable[GivenFlag], positionals: Iterable[Word]) -> Word | None:
    names = ("--model", "--model-path", "--model-tag")
    for flag in flags:
        if (flag.name in names or flag.written in names) and flag.value:
            return Word(flag.value, flag.value_location or flag.location, flag.literal)
    return next(iter(positionals), None)


def _nodes(flags: Iterable[GivenFlag], deployment: Deployment) -> tuple[int, int]:
    """(nodes of one copy, copies): a command that says `--nnodes 2` makes one copy of two pods of a set."""
    said = next((parse_whole(flag.value) for flag in flags if flag.name == "--nnodes" and flag.literal), None) or 1
    if deployment.nodes > 1 or said < 2:
        return deployment.nodes, deployment.copies
    return said, max(1, deployment.copies // said)


def _role(flags: Iterable[GivenFlag], said: str) -> str:
    for flag in flags:
        if flag.name == "--disaggregation-mode" and flag.value in ("prefill", "decode"):
            return flag.value
        if flag.written in ("--is-prefill-worker", "--is-decode-worker"):
            return flag.written.split("-")[3]
    return said


def _visible(env: dict[str, Word]) -> int | None:
    listed = env.get("CUDA_VISIBLE_DEVICES") or env.get("HIP_VISIBLE_DEVICES")
    if listed is not None and listed.literal and re.fullmatch(r"\d+(,\d+)*", listed.text):
        return len(listed.text.split(","))
    return None


def _ending(file: str) -> str:
    return file.rsplit("/", 1)[-1].rpartition(".")[2].lower()


def _kind(text: str, file: str) -> str:
    ending, name = _ending(file), file.rsplit("/", 1)[-1].lower()
    if ending in ("yaml", "yml", "json"):
        return "yaml"
    if ending == "py":
        return "python"
    if ending == "md":
        return "markdown"
    if name.startswith(("dockerfile", "containerfile")) or ending in ("dockerfile", "containerfile"):
        return "dockerfile"
    if ending in ("service", "conf", "ini") and systemd.is_unit(text):
        return "unit"
    if ending in ("sh", "bash", "sbatch", "slurm", "env", "txt"):
        return "shell"
    return _sniffed(text)


def _sniffed(text: str) -> str:
    """What a text without a telling name is."""
    head = text.lstrip()[:4000]
    if systemd.is_unit(text):
        return "unit"
    if head.startswith("#!"):
        return "python" if "python" in head.split("\n", 1)[0] else "shell"
    if re.search(r"^(apiVersion|kind|services|image|version):", head, re.MULTILINE) or head.startswith(("---\n", '{"', "{\n")):
        return "yaml"
    if re.search(r"^(import|from) \w+", head, re.MULTILINE):
        return "python"
    if re.search(r"^(FROM|CMD|ENTRYPOINT) ", head, re.MULTILINE):
        return "dockerfile"
    return "shell"
