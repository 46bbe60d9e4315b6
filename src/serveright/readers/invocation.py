"""Words of a command -> the engine starts in it, through wrappers, `sh -c` strings and `docker run`.

Knows the spellings that start a server; nothing of flags beyond the wrapper's own.
"""

import re
from collections.abc import Iterator

from msgspec import Struct, structs

from serveright.readers.images import Image, read_image
from serveright.readers.placed import Placed
from serveright.readers.shell import Script, Simple, Value
from serveright.types.command import Word
from serveright.types.engine_table import EngineName
from serveright.types.text import Msg
from serveright.units import parse_whole

MAX_NESTING = 8

_MODULES: dict[str, EngineName] = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.api_server": "vllm",
    "vllm.entrypoints.openai.run_batch": "vllm",
    "sglang.launch_server": "sglang",
    "sglang.srt.server": "sglang",
    "dynamo.vllm": "vllm",
    "dynamo.sglang": "sglang",
    "dynamo.sglang.worker": "sglang",
    "huggingfaceserver": "vllm",
}
_SUBCOMMAND_MODULES: dict[str, EngineName] = {"vllm.entrypoints.cli.main": "vllm", "sglang": "sglang", "vllm": "vllm"}
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ash"})
_TALKERS = frozenset({"echo", "printf", "cat", "grep", "pgrep", "pkill", "ls", "pip", "pip3", "which", "man", "sed", "awk", "test", "[", "git", "killall"})
_RUNTIMES = frozenset({"docker", "podman", "nerdctl"})
_RUN_SWITCHES = frozenset(
    [
        "-d",
        "--detach",
        "-i",
        "--interactive",
        "-t",
        "--tty",
        "-it",
        "-ti",
        "-itd",
        "-dit",
        "-tid",
        "--rm",
        "--init",
        "--privileged",
        "-P",
        "--publish-all",
        "--read-only",
        "--no-healthcheck",
        "-q",
        "--quiet",
    ]
)
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*$")
_MARK = re.compile(r"vllm|sglang", re.IGNORECASE)


class Start(Struct, frozen=True, kw_only=True):
    """One engine start found: `words` are the flags and positionals after the program; `at` is the first word of it."""

    engine: EngineName
    words: tuple[Word, ...]
    at: Word
    entry: str
    env: dict[str, Word]
    image: Image | None = None
    image_text: str | None = None
    gpu_count: int | None = None
    unread: tuple[Msg, ...] = ()


def mentions_engine(text: str) -> bool:
    """Cheap test before any parsing."""
    return _MARK.search(text) is not None


def starts_in_shell(placed: Placed, env: dict[str, Word] | None = None, nesting: int = 0) -> tuple[list[Start], list[Msg]]:
    """Every engine start in a shell text, and what could not be read of it."""
    script = Script(placed, env)
    found: list[Start] = []
    for simple in script.commands():
        found.extend(starts_in(simple, nesting, script.unread))
    return found, script.unread


def starts_in(simple: Simple, nesting: int, unread: list[Msg]) -> Iterator[Start]:
    """Engine starts of one simple command."""
    values = simple.words
    if not values or nesting > MAX_NESTING:
        return
    program = _base(values[0].placed.text)
    if simple.heredoc is not None and (program in _SHELLS | {"ssh", "sbatch", "srun"} or (program in ("cat", "tee") and _script(simple.heredoc.text))):
        yield from _nested(simple.heredoc, simple.env, nesting, unread)
    if program in _TALKERS:
        return
    if program in _RUNTIMES and len(values) > 1:
        verb = next((index for index, value in enumerate(values) if value.placed.text == "run"), None)
        if verb is not None:
            yield from _docker_run(values[verb + 1 :], simple.env, nesting, unread)
            return
    yield from _scan(values, simple.env, nesting, unread)


def _script(text: str) -> bool:
    """Whether a here-document that is written to a file is a script: YAML is read as YAML elsewhere."""
    return text.startswith("#!") and "python" not in text.partition("\n")[0]


def _scan(values: tuple[Value, ...], env: dict[str, Word], nesting: int, unread: list[Msg]) -> Iterator[Start]:
    env = dict(env)
    for index, value in enumerate(values):
        text = value.placed.text
        if not (value.literal or _MARK.search(text)):
            continue
        name, equals, rest = text.partition("=")
        if equals and name.isidentifier() and name.isupper():  # `env NAME=value program`
            place = value.placed.cut(len(name) + 1, len(text)).at(0)
            env[name] = Word(rest, place, value.literal)
            continue
        start = _program(values, index)
        if start is not None:
            yield structs.replace(start, env=env)
            return
        if _base(text) in _SHELLS:
            string = _shell_string(values, index)
            if string is not None:
                yield from _nested(string, env, nesting, unread)
                return
        if (" " in text or "\n" in text) and index and _MARK.search(text) and ("serve" in text or " -m " in text):
            yield from _nested(value.placed, env, nesting, unread)


def _nested(text: Placed, env: dict[str, Word], nesting: int, unread: list[Msg]) -> Iterator[Start]:
    if nesting >= MAX_NESTING or not mentions_engine(text.text):
        return
    found, inner_unread = starts_in_shell(text, env, nesting + 1)
    unread.extend(inner_unread)
    yield from found


def _program(values: tuple[Value, ...], index: int) -> Start | None:
    """The engine start whose program word stands at `index`, if there is one."""
    text = values[index].placed.text
    base = _base(text)
    following = values[index + 1].placed.text if index + 1 < len(values) else ""
    if base in ("vllm", "sglang") and following == "serve":
        return _start("vllm" if base == "vllm" else "sglang", values, index, 2, f"{base} serve")
    if _PYTHON.match(text) is None:
        if base == "launch_server.py" and "sglang" in text:
            return _start("sglang", values, index, 1, "sglang.launch_server")
        if base == "api_server.py" and "vllm" in text:
            return _start("vllm", values, index, 1, "vllm.entrypoints.openai.api_server")
        return None
    for at in range(index + 1, min(index + 8, len(values))):
        word = values[at].placed.text
        if word == "-m" and at + 1 < len(values):
            module = values[at + 1].placed.text
            if module in _MODULES:
                return _start(_MODULES[module], values, index, at + 2 - index, module)
            subcommand = values[at + 2].placed.text if at + 2 < len(values) else ""
            if module in _SUBCOMMAND_MODULES and subcommand == "serve":
                return _start(_SUBCOMMAND_MODULES[module], values, index, at + 3 - index, f"{module} serve")
            return None
    return None


def _start(engine: EngineName, values: tuple[Value, ...], index: int, skip: int, entry: str) -> Start:
    words = tuple(value.word() for value in values[index + skip :])
    return Start(engine=engine, words=words, at=values[index].word(), entry=entry, env={})


def _shell_string(values: tuple[Value, ...], index: int) -> Placed | None:
    """The text after `-c`, `-lc`, `-exc` of a shell at `index`."""
    for at in range(index + 1, len(values)):
        text = values[at].placed.text
        if re.fullmatch(r"-[a-z]*c", text):
            return values[at + 1].placed if at + 1 < len(values) else None
        if not text.startswith(("-", "+")) and text != "pipefail":
            return None
    return None


def _docker_run(values: tuple[Value, ...], env: dict[str, Word], nesting: int, unread: list[Msg]) -> Iterator[Start]:
    inner: dict[str, Word] = {}
    entrypoint: Value | None = None
    count: int | None = None
    index = 0
    while index < len(values) and values[index].placed.text.startswith("-"):
        option, equals, _ = values[index].placed.text.partition("=")
        value, step = _option_value(values, index, option, bool(equals))
        if value is not None and option in ("-e", "--env"):
            _add_env(value, env, inner)
        elif value is not None and option == "--entrypoint":
            entrypoint = value
        elif value is not None and option == "--gpus":
            count = _gpu_count(value.placed.text)
        index += step
    if index >= len(values):
        return
    image_text = values[index].placed.text
    image = read_image(image_text)
    rest = ((entrypoint,) if entrypoint else ()) + values[index + 1 :]
    for start in starts_in_container(rest, image, inner, values[index].word(), nesting, unread):
        yield structs.replace(start, image=image, image_text=image_text, gpu_count=count)


def starts_in_container(rest: tuple[Value, ...], image: Image, env: dict[str, Word], at: Word, nesting: int, unread: list[Msg]) -> list[Start]:
    """Engine starts of a container: its command line, or bare flags where the image itself is the server."""
    found = list(starts_in(Simple(rest, env), nesting + 1, unread)) if rest else []
    first = rest[0].placed.text if rest else "-"
    bare = first.startswith("-") or (image.serves and (_looks_like_model(first) or first == "serve"))
    if not found and bare and image.engine is not None and (rest or image.serves):
        entry = "vllm serve" if image.engine == "vllm" else "sglang serve"
        words = tuple(value.word() for value in rest)
        found = [Start(engine=image.engine, words=words, at=words[0] if words else at, entry=entry, env=env)]
    return found


def _looks_like_model(text: str) -> bool:
    """`org/name` and no program path: what `vllm serve` takes first."""
    return re.fullmatch(r"[\w.-]+/[\w.-]+", text) is not None and not text.startswith(("bin/", "usr/", "."))


def _option_value(values: tuple[Value, ...], index: int, option: str, inline: bool) -> tuple[Value | None, int]:
    value = values[index]
    if inline:
        text = value.placed
        return Value(text.cut(len(option) + 1, len(text.text)), value.literal), 1
    if option in _RUN_SWITCHES or index + 1 >= len(values):
        return None, 1
    return values[index + 1], 2


def _add_env(value: Value, outer: dict[str, Word], inner: dict[str, Word]) -> None:
    name, equals, text = value.placed.text.partition("=")
    if equals:
        place = value.placed.cut(len(name) + 1, len(value.placed.text)).at(0)
        inner[name] = Word(text, place, value.literal)
    elif name in outer:
        inner[name] = outer[name]
    else:
        inner[name] = Word(f"${name}", value.placed.at(0), literal=False)


def _gpu_count(text: str) -> int | None:
    cleaned = text.strip("\"'")
    if (plain := parse_whole(cleaned)) is not None:
        return plain
    match = re.search(r"device=([\w,:-]+)", cleaned)
    if match:
        return len([part for part in match[1].split(",") if part])
    match = re.search(r"count=(\d+)", cleaned)
    return parse_whole(match[1]) if match else None


def _base(text: str) -> str:
    return text.rsplit("/", 1)[-1]
