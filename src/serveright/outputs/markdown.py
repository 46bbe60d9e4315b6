"""A document as GitHub-flavoured Markdown."""

import re
from base64 import b64encode

from serveright.outputs.language import render
from serveright.outputs.text import safe, worked
from serveright.types.document import Block, Bullets, Cell, Chart, Code, Derivations, Document, Heading, Pairs, Paragraph, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")


def escape(text: str) -> str:
    """Text from outside as literal Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", safe(text)).replace("\n", " ")


def _block(block: Block, lang: str) -> list[str]:
    def cell(value: Cell) -> str:
        return escape(render(value, lang))

    match block:
        case Heading():
            return [f"{'#' * block.level} {cell(block.text)}"]
        case Paragraph():
            return [cell(block.text)]
        case Bullets():
            return ["\n".join(f"- {cell(item)}" for item in block.items)]
        case Pairs():
            return ["\n".join(f"- **{cell(key).strip()}**: {cell(value)}" if render(key, lang) else f"- {cell(value)}" for key, value in block.items)]
        case Table():
            rule = "|".join("---:" if i in block.right else "---" for i in range(len(block.columns)))
            rows = "\n".join("| " + " | ".join(cell(c) for c in row) + " |" for row in block.rows)
            return ["| " + " | ".join(cell(c) for c in block.columns) + f" |\n|{rule}|\n{rows}"]
        case Code():
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", block.text)), default=0))
            title = [cell(block.title)] if block.title else []
            return [*title, f"{fence}{block.language}\n{safe(block.text)}\n{fence}"]
        case Derivations():
            lines = [f"- `{d.name} = {d.formula} = {worked(d)}`: {cell(d.reason)}{f' ({escape(d.source)})' if d.source else ''}" for d in block.items]
            return ["\n".join(lines)] if lines else []
        case Chart():
            return [_picture(block, lang) or cell(block.alternative)]


def _picture(chart: Chart, lang: str) -> str:
    """The drawing inside the file itself, "" where nothing can draw."""
    from serveright.outputs import draw

    if not draw.available():
        return ""
    data = b64encode(draw.svg(draw.framed(chart, lang)).encode()).decode()
    return f"![{escape(render(chart.alternative, lang))}](data:image/svg+xml;base64,{data})"


def document(doc: Document, lang: str) -> str:
    """The whole report."""
    parts = [f"# {escape(render(doc.title, lang))}"]
    for block in doc.blocks:
        parts += _block(block, lang)
    return "\n\n".join(parts) + "\n"
