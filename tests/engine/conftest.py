"""Servers for the engine tests, one start each; without the engine's environment every test is skipped with the way to make it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine import tiny
from tests.engine.server import PYTHON, Server, failing, serving

CONTEXT = "4096"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PYTHON.exists():
        pytest.skip("no .engine here: make test-engine builds it")
    return tmp_path_factory.mktemp("engine")


@pytest.fixture(scope="session", params=["gqa", "latent", "hybrid"])
def server(request: pytest.FixtureRequest, folder: Path) -> Iterator[Server]:
    """One of the three models, serving."""
    name: str = request.param
    config, dtype = {"gqa": (tiny.GQA, "float32"), "latent": (tiny.LATENT, "float32"), "hybrid": (tiny.HYBRID, "bfloat16")}[name]
    model = tiny.build(folder / name, config)
    with serving(model, folder / f"{name}.log", "--max-model-len", CONTEXT, "--enable-prompt-tokens-details", dtype=dtype) as running:
        yield running


@pytest.fixture(scope="module")
def cramped(folder: Path) -> Iterator[Server]:
    """No chat template, and a pool of 24 blocks."""
    model = tiny.build(folder / "cramped", tiny.GQA, template=None)
    with serving(model, folder / "cramped.log", "--max-model-len", "1024", "--num-gpu-blocks-override", "24") as running:
        yield running


@pytest.fixture(scope="session")
def too_long(folder: Path) -> Server:
    """A window of a million tokens over a cache of one GiB."""
    model = tiny.build(folder / "long", {**tiny.GQA, "max_position_embeddings": 1 << 20})
    return failing(model, folder / "long.log", "--max-model-len", str(1 << 20))


@pytest.fixture(scope="session")
def unknown_flag(folder: Path) -> Server:
    model = tiny.build(folder / "flag", tiny.GQA)
    return failing(model, folder / "flag.log", "--swap-space", "4", "--max-model-len", "1024")


@pytest.fixture(scope="session")
def wrong_parser(folder: Path) -> Server:
    model = tiny.build(folder / "parser", tiny.GQA)
    return failing(model, folder / "parser.log", "--enable-auto-tool-choice", "--tool-call-parser", "no_such_parser", "--max-model-len", "1024")
