"""Every picture: a specification Vega-Lite compiles, texts in both languages, units on the axes, hostile names harmless."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from serveright import api
from serveright.api.planning import Wishes
from serveright.outputs import draw
from serveright.outputs.charts import table
from serveright.outputs.charts.cache_growth import cache_growth
from serveright.outputs.charts.expert_load import expert_load
from serveright.outputs.charts.layer_map import layer_map, row_length
from serveright.outputs.charts.parts import PALETTE
from serveright.outputs.views import inspect as inspect_view
from serveright.outputs.views import plan as plan_view
from serveright.outputs.views import size as size_view
from serveright.types.curves import Line
from serveright.types.document import Chart, Document

pytest.importorskip("vl_convert")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [
        plan_view.document(api.plan("deepseek-ai/DeepSeek-V3.2", "8xh200", wishes=Wishes(curves=True))),
        size_view.document(api.size("Qwen/Qwen3.6-27B", "2xh200", curves=True)),
        inspect_view.document(api.inspect("openai/gpt-oss-20b", curves=True)),
    ]


@pytest.fixture(scope="module")
def charts(documents: list[Document]) -> list[Chart]:
    found = [chart for document in documents for chart in draw.charts_of(document)]
    return [*found, expert_load([5, 1, 1, 1], [2, 2, 2, 2])]


def axes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "axis" in value and value.get("type") == "quantitative":
            yield value["axis"]
        for item in value.values():
            yield from axes(item)
    elif isinstance(value, list):
        for item in value:
            yield from axes(item)


def test_the_promised_pictures_are_there(charts: list[Chart]) -> None:
    assert {chart.name for chart in charts} == {"memory", "cache", "layers", "users", "tradeoff", "tpot", "roofline", "request", "experts"}


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_picture_draws_and_names_its_axes(charts: list[Chart], lang: str) -> None:
    for chart in charts:
        spec = draw.framed(chart, lang)
        json.dumps(spec, allow_nan=False)
        assert draw.svg(spec).startswith("<svg")
        assert all(axis["title"] for axis in axes(spec)), chart.name
        assert chart.alternative, chart.name


def test_no_picture_needs_the_network(charts: list[Chart]) -> None:
    for chart in charts:
        text = json.dumps(draw.ready(chart, "en"))
        assert '"url"' not in text
        assert text.count("http") == text.count('"$schema"')


def test_memory_adds_up_to_the_device(charts: list[Chart]) -> None:
    chart = next(c for c in charts if c.name == "memory")
    _, rows = table.rows(draw.ready(chart, "en"))
    total = sum(row[2] for row in rows if row[0] == rows[0][0])
    report = api.size("deepseek-ai/DeepSeek-V3.2", "8xh200")
    assert total == pytest.approx(report.results[0].memory.device_bytes / 2**30, rel=1e-6)


def test_a_repeating_pattern_stands_in_columns() -> None:
    assert row_length(list("gggF" * 16)) % 4 == 0
    assert row_length(list("FFFF")) >= 1
    rows = layer_map("gggF" * 12, {"g": "gated delta net", "F": "full"}).spec["data"]["values"]
    assert {row["column"] % 4 for row in rows if row["letter"] == "F"} == {3}


def test_two_mixers_in_a_layer_are_one_cell() -> None:
    rows = layer_map("(mF)m", {"m": "mamba", "F": "full"}).spec["data"]["values"]
    assert [row["kind"] for row in rows] == ["mamba + full", "mamba"]


def test_the_experts_before_and_after_are_relative_to_even() -> None:
    values = expert_load([5, 1, 1, 1], [2, 2, 2, 2]).spec["layer"][0]["data"]["values"]
    assert [row["load"] for row in values[:4]] == [2.5, 0.5, 0.5, 0.5]
    assert {row["load"] for row in values[4:]} == {1.0}


def test_a_hostile_name_stays_text() -> None:
    name = "</svg><script>alert(1)</script>\"'&"
    drawn = draw.svg(draw.framed(cache_growth([Line(name=name, x=(1, 2), y=(1e9, 2e9))]), "en"))
    assert "<script>" not in drawn


def test_a_table_cannot_run_as_a_formula() -> None:
    text = table.as_csv(draw.ready(cache_growth([Line(name="=HYPERLINK(1)", x=(1, 2), y=(1e9, 2e9))]), "en"))
    assert "'=HYPERLINK(1)" in text


def test_colours_are_apart_for_the_colour_blind() -> None:
    """In luminance or hue as deuteranopes see it: no two of the first six closer than a clear step (CIE76 after Machado's matrix)."""

    def seen(code: str) -> tuple[float, float, float]:
        r, g, b = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b)]
        matrix = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
        r, g, b = (max(0.0, sum(m * c for m, c in zip(row, linear, strict=True))) for row in matrix)
        x, y, z = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
        f = [c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in (x, y, z)]
        return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])

    seen_colours = [seen(code) for code in PALETTE[:6]]
    nearest = min(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 for i, one in enumerate(seen_colours) for other in seen_colours[i + 1 :])
    assert nearest > 10


def test_plot_writes_files_and_names_what_there_is(tmp_path: Any) -> None:
    run = [sys.executable, "-c", "from serveright.cli.main import main; main()", "inspect", "Qwen/Qwen3-8B", "-q", "--plot"]
    for name, start in (("all.svg", b"<svg"), ("cache=one.png", b"\x89PNG"), ("all.json", b"{")):
        done = subprocess.run([*run, str(tmp_path / name) if "=" not in name else f"cache={tmp_path / 'one.png'}"], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name.partition("=")[2] if "=" in name else tmp_path / name).read_bytes().startswith(start)
    refused = subprocess.run([*run, f"nothing={tmp_path / 'x.svg'}"], capture_output=True, check=False, text=True)
    assert refused.returncode == 2
    assert "layers" in refused.stderr


def test_a_report_is_one_file_with_its_pictures(documents: list[Document]) -> None:
    from serveright.outputs import html, markdown

    page = html.document(documents[1], "en")
    assert page.count("<svg") == 3
    assert "src=" not in page
    assert 'popovertarget="d' in page
    assert markdown.document(documents[1], "en").count("](data:image/svg+xml;base64,") == 3
