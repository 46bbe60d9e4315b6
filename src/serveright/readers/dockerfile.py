"""Dockerfiles: the last FROM names engine and version, ENV the environment, ENTRYPOINT and CMD the command."""

import re

import msgspec
from msgspec.structs import replace

from serveright.readers.images import Image, read_image
from serveright.readers.invocation import starts_in_container
from serveright.readers.kubernetes import Deployment
from serveright.readers.placed import Placed
from serveright.readers.shell import Script, Value
from serveright.types.command import Word
from serveright.types.text import Msg

_INSTRUCTION = re.compile(r"^[ \t]*(FROM|ENV|ENTRYPOINT|CMD)[ \t]+((?:.*\\\n)*.*)$", re.MULTILINE | re.IGNORECASE)


def deployments(text: str, file: str, unread: list[Msg]) -> list[Deployment]:
    """The engine start of the image a Dockerfile builds, if it has one."""
    whole = Placed.whole(text, file)
    image, image_text = Image(None, None, None, serves=False), None
    env: dict[str, Word] = {}
    parts: dict[str, list[Value]] = {"ENTRYPOINT": [], "CMD": []}
    for match in _INSTRUCTION.finditer(text):
        name, body = match[1].upper(), whole.cut(match.start(2), match.end(2))
        if name == "FROM":
            image_text = body.text.split()[0] if body.text.split() else ""
            image, env = read_image(image_text), {}
            parts.update(ENTRYPOINT=[], CMD=[])
        elif name == "ENV":
            for pair in re.finditer(r'([A-Za-z_]\w*)[= ]("[^"]*"|\S+)', body.text):
                env[pair[1]] = Word(pair[2].strip('"'), body.at(pair.start(2)))
        else:
            parts[name] = _words(body, env, unread)
    values = tuple(parts["ENTRYPOINT"] + parts["CMD"])
    if not values:
        return []
    found = starts_in_container(values, image, env, values[0].word(), 0, unread)
    return [Deployment(start=replace(start, image=image, image_text=image_text)) for start in found]


def _words(body: Placed, env: dict[str, Word], unread: list[Msg]) -> list[Value]:
    if body.text.lstrip().startswith("["):
        try:
            return _listed(msgspec.json.decode(body.text.replace("\\\n", "  "), type=list[str]), body)
        except msgspec.MsgspecError:
            pass  # the shell form may begin with a bracket too
    script = Script(body, env)
    found = [value for simple in script.commands() for value in simple.words]
    unread.extend(script.unread)
    return found


def _listed(words: list[str], body: Placed) -> list[Value]:
    found: list[Value] = []
    position = 0
    for text in words:
        at = body.text.find(text, position)
        at = position if at < 0 else at
        found.append(Value(Placed(text, body.file, [(0, body.at(at).line, body.at(at).column)])))
        position = at + len(text)
    return found
