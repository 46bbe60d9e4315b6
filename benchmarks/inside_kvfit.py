"""Runs in kvfit's own environment: its command line, answered from a folder of configs instead of the Hub. `python inside_kvfit.py FOLDER WORD...`."""

import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

import kvfit.hf
from kvfit.cli import main


def fetch(url: str, **_: object) -> object:
    """The config of the model the address names; of the repository, that nothing is known."""
    path = urlsplit(url).path
    if not path.endswith("/config.json"):
        return {"siblings": [], "sha": "0"}
    owner, model = path.split("/")[1:3]
    return json.loads((Path(sys.argv[1]) / owner / model / "config.json").read_text())


kvfit.hf._fetch_json = fetch
sys.exit(main(sys.argv[2:]))
