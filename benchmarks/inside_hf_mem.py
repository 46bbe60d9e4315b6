"""Runs in hf-mem's own environment: its command line, answered from a folder of configs instead of the Hub. `python inside_hf_mem.py FOLDER WORD...`."""

import json
import struct
import sys
from pathlib import Path

import httpx2

FOLDER = Path(sys.argv.pop(1))
HEADER = json.dumps({"lm_head.weight": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()


def answer(request: httpx2.Request) -> httpx2.Response:
    """The config is real; the checkpoint has one small tensor, since only the cache is asked for."""
    path = request.url.path
    if path.startswith("/api/"):
        return httpx2.Response(200, json=[{"path": name, "type": "file"} for name in ("config.json", "model.safetensors")])
    if path.endswith(".safetensors"):
        return httpx2.Response(206, content=struct.pack("<Q", len(HEADER)) + HEADER)
    owner, model = path.split("/")[1:3]
    return httpx2.Response(200, content=(FOLDER / owner / model / "config.json").read_bytes())


class Offline(httpx2.AsyncClient):
    """Every request is answered here."""

    def __init__(self, **given: object) -> None:
        given.pop("http2", None)
        super().__init__(transport=httpx2.MockTransport(answer), **given)


httpx2.AsyncClient = Offline
from hf_mem.cli import main  # noqa: E402

sys.exit(main())
