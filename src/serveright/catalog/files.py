"""Where fact files lie and how they are opened: TOML per item, one generated JSON index per folder."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FACTS = Path(__file__).parent.parent / "facts"


@cache
def index(folder: str) -> dict[str, Any]:
    """The generated `index.json` of a folder of facts (`tools.index_facts` writes it)."""
    return json.loads((FACTS / folder / "index.json").read_text(encoding="utf-8"))


def read_toml(path: Path) -> dict[str, Any]:
    """One fact file as plain data."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
