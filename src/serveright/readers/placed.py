"""Text that remembers where each of its characters stands in the file, through YAML scalars, shell quotes and continuations.

Knows nothing of shells or YAML: they cut, join and hand on `Placed` texts.
"""

from bisect import bisect_right

from serveright.types.report import Location

Anchor = tuple[int, int, int]
"""(offset in the text, line, column): from this offset on, columns count up from here."""


class Placed:
    """`text` with anchors in ascending order of offset; the first one is at 0."""

    __slots__ = ("anchors", "file", "text")

    def __init__(self, text: str, file: str, anchors: list[Anchor]) -> None:
        self.text = text
        self.file = file
        self.anchors = anchors

    @classmethod
    def whole(cls, text: str, file: str, line: int = 1, column: int = 1) -> "Placed":
        """A text as it stands in the file, its first character at `line` and `column`."""
        anchors: list[Anchor] = [(0, line, column)]
        offset = text.find("\n")
        while offset >= 0:
            line += 1
            anchors.append((offset + 1, line, 1))
            offset = text.find("\n", offset + 1)
        return cls(text, file, anchors)

    def at(self, offset: int) -> Location:
        """The place of one character."""
        index = max(0, bisect_right(self.anchors, offset, key=lambda anchor: anchor[0]) - 1)
        start, line, column = self.anchors[index]
        return Location(self.file, line, column + offset - start)

    def cut(self, start: int, end: int) -> "Placed":
        """The part from `start` to before `end`."""
        first = self.at(start)
        low = bisect_right(self.anchors, start, key=lambda anchor: anchor[0])
        high = bisect_right(self.anchors, end, key=lambda anchor: anchor[0])
        inner = [(offset - start, line, column) for offset, line, column in self.anchors[low:high]]
        return Placed(self.text[start:end], self.file, [(0, first.line, first.column), *inner])


def join(parts: list[Placed], file: str) -> Placed:
    """Texts one after the other, each keeping its own places."""
    pieces: list[str] = []
    anchors: list[Anchor] = []
    length = 0
    for part in parts:
        anchors.extend((length + offset, line, column) for offset, line, column in part.anchors)
        pieces.append(part.text)
        length += len(part.text)
    return Placed("".join(pieces), file, anchors or [(0, 0, 0)])
