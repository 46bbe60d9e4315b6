"""Pictures as files: the language put in, the size of a page, SVG or PNG through vl-convert. Raises UsageError where that extra is not installed."""

from collections.abc import Sequence
from typing import Any

from serveright.errors import UsageError
from serveright.outputs.json import plain
from serveright.outputs.language import render
from serveright.types.document import Chart, Document
from serveright.types.text import msg

WIDTH = 640
ENDINGS = ("svg", "png", "json")
CONFIG: dict[str, Any] = {
    "font": "system-ui, Noto Sans CJK KR, Noto Sans KR, sans-serif",
    "background": "white",
    "view": {"stroke": None},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "gridOpacity": 0.5},
    "legend": {"labelFontSize": 12, "titleFontSize": 12},
    "title": {"anchor": "start", "fontSize": 14},
}


def ready(chart: Chart, lang: str) -> dict[str, Any]:
    """The specification in one language, still without width and theme."""
    return plain(chart.spec, lang)


def framed(chart: Chart, lang: str) -> dict[str, Any]:
    """The specification as it stands in a file: title, width, fonts."""
    return {"title": render(chart.title, lang), "width": WIDTH, **ready(chart, lang), "config": CONFIG}


def together(charts: Sequence[Chart], lang: str) -> dict[str, Any]:
    """One specification of several pictures, one below the other."""
    if len(charts) == 1:
        return framed(charts[0], lang)
    parts = [{k: v for k, v in framed(chart, lang).items() if k not in ("$schema", "config")} for chart in charts]
    head = {"$schema": charts[0].spec["$schema"], "config": CONFIG, "spacing": 36}
    return {
        **head,
        "vconcat": parts,
        "resolve": {"scale": {"color": "independent", "shape": "independent", "size": "independent", "strokeDash": "independent"}},
    }


def svg(spec: dict[str, Any]) -> str:
    """SVG text of a Vega-Lite specification."""
    return _converter().vegalite_to_svg(spec)


def png(spec: dict[str, Any]) -> bytes:
    """PNG at twice the size, sharp in print."""
    return _converter().vegalite_to_png(spec, scale=2)


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise UsageError(msg("Pictures need vl-convert-python, which is not installed"), msg('Install it with: pip install "serveright[web]"')) from error
    return vl_convert


def available() -> bool:
    """Pictures can be drawn here."""
    from importlib.util import find_spec

    return find_spec("vl_convert") is not None


def charts_of(document: Document) -> tuple[Chart, ...]:
    """The pictures of a report."""
    return tuple(block for block in document.blocks if isinstance(block, Chart))


def file(target: str, document: Document, lang: str) -> tuple[str, bytes]:
    """(path, content) for `--plot TARGET`: `FILE.svg|png|json` with all pictures, or `NAME=FILE` with one. Raises UsageError."""
    charts = charts_of(document)
    name, cut, path = target.partition("=")
    path = path if cut else target
    ending = path.rpartition(".")[2].lower()
    known = ", ".join(chart.name for chart in charts)
    if ending not in ENDINGS:
        raise UsageError(msg("--plot {file}: the ending says the format, and this one is none", file=path), msg("Write a name ending in .svg, .png or .json."))
    if cut:
        charts = tuple(chart for chart in charts if chart.name == name)
    if not charts:
        raise UsageError(msg("--plot {file}: this report has no such picture", file=target), msg("It has: {names}", names=known or "-"))
    spec = together(charts, lang)
    if ending == "json":
        from serveright.outputs.json import encode

        return path, encode(spec, lang).encode()
    return path, svg(spec).encode() if ending == "svg" else png(spec)
