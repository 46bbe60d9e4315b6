"""The figures of a picture as a table: what a reader without eyes for it, or a spreadsheet, gets."""

import csv
import io
from collections.abc import Mapping
from typing import Any, cast


def rows(spec: Mapping[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Columns and rows of the largest data set in a ready specification."""
    sets = [spec.get("data"), *(layer.get("data") for layer in cast("list[dict[str, Any]]", spec.get("layer", [])))]
    values = max([cast("list[dict[str, Any]]", found["values"]) for found in sets if found] or [[]], key=len)
    columns = [key for key in dict.fromkeys(key for row in values for key in row) if key not in ("order", "front", "dashed", "row", "column")]
    return columns, [[row.get(column, "") for column in columns] for row in values]


def as_csv(spec: Mapping[str, Any]) -> str:
    """The same as comma-separated text. Texts that a spreadsheet would run as a formula are quoted with an apostrophe."""
    columns, values = rows(spec)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([[f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@" else cell for cell in row] for row in values])
    return out.getvalue()
