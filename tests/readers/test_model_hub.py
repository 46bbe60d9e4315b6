"""A Hub on loopback, reached through HF_ENDPOINT by a fresh interpreter, as a user's would be."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readers.fake_hub import FakeHub

REPO = "someone/Model-1B"
CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_size": 64}
HEADER = json.dumps({"__metadata__": {"format": "pt"}, "a.weight": {"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 64]}}).encode()
WEIGHTS = struct.pack("<Q", len(HEADER)) + HEADER + b"\x00" * 64
SCRIPT = """
import json, sys
from serveright.errors import UserError
from serveright.readers.model import read_model_files
heard = []
try:
    files = read_model_files(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None, progress=lambda m: heard.append(m.values.get("file")))
    print(json.dumps({"config": files.config, "card": files.card, "index": files.safetensors_index, "generation": files.generation_config, "origin": files.origin, "heard": heard}))
except UserError as error:
    print(json.dumps({"error": type(error).__name__, "template": error.message.template, "fix": error.fix and error.fix.template}))
"""


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    files = {
        "config.json": json.dumps(CONFIG).encode(),
        "README.md": b"# Model\n",
        "generation_config.json": b'{"temperature": 0.6}',
        "model.safetensors": WEIGHTS,
        "tokenizer.json": b"{}",
    }
    server = FakeHub(REPO, files)
    yield server
    server.close()


def ask(url: str, cache: Path, *arguments: str, **environment: str) -> dict:
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    env = {**keep, "HF_ENDPOINT": url, "HF_HOME": str(cache), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", **environment}
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_small_files_and_one_header_are_fetched_and_never_the_weights(hub: FakeHub, tmp_path: Path) -> None:
    found = ask(hub.url, tmp_path, REPO)
    assert found["config"] == CONFIG
    assert found["card"] == "# Model\n"
    assert found["generation"] == {"temperature": 0.6}
    assert found["index"]["metadata"]["total_size"] == 64
    assert "config.json" in found["heard"]
    assert not any("tokenizer.json" in line for line in hub.asked)
    weights = [line for line in hub.asked if "model.safetensors" in line]
    assert weights
    assert all("bytes=" in line for line in weights)


def test_the_cache_serves_when_offline(hub: FakeHub, tmp_path: Path) -> None:
    ask(hub.url, tmp_path, REPO)
    before = len(hub.asked)
    found = ask(hub.url, tmp_path, REPO, HF_HUB_OFFLINE="1")
    assert found["config"] == CONFIG
    assert len(hub.asked) == before
    empty = ask(hub.url, tmp_path / "empty", REPO, HF_HUB_OFFLINE="1")
    assert empty["error"] == "NetworkError"
    assert "HF_HUB_OFFLINE" in empty["template"]


def test_a_dead_hub_falls_back_to_the_cache_and_else_says_so(hub: FakeHub, tmp_path: Path) -> None:
    ask(hub.url, tmp_path, REPO)
    dead = "http://127.0.0.1:9"
    assert ask(dead, tmp_path, REPO)["config"] == CONFIG
    refused = ask(dead, tmp_path / "empty", REPO)
    assert refused["error"] == "NetworkError"
    assert "HF_ENDPOINT" in refused["fix"]


def test_an_unknown_repository_and_one_without_config(hub: FakeHub, tmp_path: Path) -> None:
    assert ask(hub.url, tmp_path, "someone/Nothing")["error"] == "InputError"
    del hub.files["config.json"]
    missing = ask(hub.url, tmp_path, REPO)
    assert missing["error"] == "InputError"
    assert "no config.json" in missing["template"]


def test_a_gated_repository_names_the_token(hub: FakeHub, tmp_path: Path) -> None:
    hub.gated = True
    refused = ask(hub.url, tmp_path, REPO)
    assert refused["error"] == "NetworkError"
    assert "HF_TOKEN" in refused["fix"]


def test_a_revision_goes_to_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    found = ask(hub.url, tmp_path, REPO, "v2")
    assert found["origin"] == f"{REPO}@v2"
    assert any("/revision/v2" in line for line in hub.asked)


def test_offline_a_known_checkpoint_leads_to_its_model(tmp_path: Path) -> None:
    refused = ask("http://127.0.0.1:9", tmp_path, "Qwen/Qwen3.6-27B-FP8", HF_HUB_OFFLINE="1")
    assert refused["error"] == "NetworkError"
    assert "catalogue knows {base}" in refused["fix"]
