"""ConfigMaps of one file: the texts that its containers mount or take as variables.

Knows nothing of engines.
"""

from collections.abc import Iterable

from serveright.readers.yaml_tree import Node, get, pairs, place, placed, text
from serveright.types.command import Word


class ConfigMaps:
    """The ConfigMaps among the documents of one file."""

    def __init__(self, documents: Iterable[Node], lines: list[str], file: str) -> None:
        self.lines = lines
        self.file = file
        self.data: dict[str, dict[str, Node]] = {}
        for node in documents:
            name = text(get(node, "metadata", "name"))
            if text(get(node, "kind")) == "ConfigMap" and name:
                self.data[name] = {key: value for key, _, value in pairs(get(node, "data")) if text(value) is not None}

    def variables(self, source: Node) -> dict[str, Word]:
        """What `envFrom` an object takes over: every key as a variable."""
        name = text(get(source, "configMapRef", "name")) or ""
        return {key: self._word(node) for key, node in self.data.get(name, {}).items()}

    def variable(self, entry: Node) -> Word | None:
        """The value of an `env` entry that refers to a key; None where it stands elsewhere."""
        reference = get(entry, "valueFrom", "configMapKeyRef")
        node = self.data.get(text(get(reference, "name")) or "", {}).get(text(get(reference, "key")) or "")
        return None if node is None else self._word(node)

    def mounted(self, path: str) -> str | None:
        """The text of the mounted file a path names, every line where it stands in the file; None where no key or several are called so."""
        name = path.rsplit("/", 1)[-1]
        found = [entries[name] for entries in self.data.values() if name in entries]
        if len(found) != 1:
            return None
        inner = placed(found[0], self.lines, self.file)
        first = inner.at(0)
        indent = " " * (first.column - 1)
        return "\n" * (first.line - 1) + "\n".join(indent + line for line in inner.text.split("\n"))

    def _word(self, node: Node) -> Word:
        return Word((text(node) or "").strip(), place(node, self.file))
