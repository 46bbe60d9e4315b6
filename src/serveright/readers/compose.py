"""Docker Compose files -> engine starts, one per service that starts an engine. `${X:-default}` is put in where a default stands."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from serveright.readers.images import Image, read_image
from serveright.readers.invocation import starts_in_container
from serveright.readers.kubernetes import Deployment
from serveright.readers.placed import Placed
from serveright.readers.shell import Script, Value
from serveright.readers.yaml_tree import Node, get, items, pairs, place, placed, text, word
from serveright.types.command import Word
from serveright.types.text import Msg
from serveright.units import parse_whole

_VARIABLE = re.compile(r"(?<!\$)\$\{([A-Za-z_]\w*)(?::?-([^}]*))?\}")

_OPEN = re.compile(r"(?<!\$)(?:\$\$)*\$\{")
"""A variable without a known value; `$$` is a plain dollar."""


class Compose:
    """One compose document with the raw lines it came from."""

    def __init__(self, root: Node, lines: list[str], file: str) -> None:
        self.root = root
        self.lines = lines
        self.file = file
        self.unread: list[Msg] = []

    def deployments(self) -> Iterator[Deployment]:
        """Every engine start of the file."""
        for name, _, service in pairs(get(self.root, "services")):
            env = self._environment(service)
            image_node = get(service, "image")
            image_text = _defaults(text(image_node) or "")
            image = read_image(image_text) if image_text else Image(None, None, None, serves=False)
            values = (*self._words(get(service, "entrypoint"), env), *self._words(get(service, "command"), env))
            if image_node is None and not values:
                continue
            at = word(image_node, self.file) if image_node is not None else Word("", place(service, self.file))
            for start in starts_in_container(values, image, env, at, 0, self.unread):
                start = replace(start, image=image, image_text=image_text)
                role = next((phase for phase in ("prefill", "decode") if phase in name.lower()), "aggregated")
                yield Deployment(start=start, gpu_count=_gpu_count(service, env), role=role)

    def _words(self, node: Node | None, env: dict[str, Word]) -> tuple[Value, ...]:
        if node is None:
            return ()
        if text(node) is not None:
            here = placed(node, self.lines, self.file)
            script = Script(Placed(here.text.replace("$$", "$ "), self.file, here.anchors), env)
            found = tuple(value for simple in script.commands() for value in simple.words)
            self.unread.extend(script.unread)
            return found
        return tuple(self._value(item) for item in items(node) if text(item) is not None)

    def _value(self, node: Node) -> Value:
        here = placed(node, self.lines, self.file)
        filled = _defaults(here.text)
        literal = _OPEN.search(filled) is None
        filled = filled.replace("$$", "$")
        return Value(Placed(filled, self.file, here.anchors if filled == here.text else here.anchors[:1]), literal)

    def _environment(self, service: Node) -> dict[str, Word]:
        found: dict[str, Word] = {}
        source = get(service, "environment")
        for name, _, value in pairs(source):
            if text(value) is not None:
                given = word(value, self.file)
                filled = _defaults(given.text)
                found[name] = Word(filled, given.location, "${" not in filled)
        for entry in items(source):
            given = word(entry, self.file)
            name, equals, value = given.text.partition("=")
            if equals:
                filled = _defaults(value)
                here = given.location
                found[name] = Word(filled, replace(here, column=here.column + len(name) + 1), "${" not in filled)
        return found


def _defaults(value: str) -> str:
    return _VARIABLE.sub(lambda match: match[2] if match[2] is not None else match[0], value)  # `$${X}` stays: `_VARIABLE` looks behind


def _gpu_count(service: Node, env: dict[str, Word]) -> int | None:
    for device in items(get(service, "deploy", "resources", "reservations", "devices")):
        if (count := parse_whole(text(get(device, "count")))) is not None:
            return count
        listed = items(get(device, "device_ids"))
        if listed:
            return len(listed)
    visible = env.get("CUDA_VISIBLE_DEVICES") or env.get("NVIDIA_VISIBLE_DEVICES")
    if visible is not None and visible.literal and re.fullmatch(r"[\d,]+", visible.text):
        return len(visible.text.split(","))
    return None
