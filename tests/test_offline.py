"""Nothing goes to the network unless it is asked to: every verb with sockets forbidden, and one question that must ask the Hub."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from serveright.api.emitting import formats
from tests.conftest import ROOT
from tests.fleet.synthetic import manifest
from tests.fuzz.run import call
from tests.fuzz.targets import BENCH, SCORES, SMI, STOCK, VERBS

LAUNCH = "docs/examples/launch.sh"
MODEL, GPU = "Qwen/Qwen3-8B", ["--gpu", "2xh200"]
TRAFFIC = ["--concurrency", "8"]
LOG = "tests/diagnose/golden/half_the_users/server.log"
METRICS = "tests/diagnose/golden/half_the_users/metrics.txt"
FILES = {
    "scores.csv": SCORES,
    "stock.toml": STOCK,
    "smi.txt": SMI,
    "bench.json": json.dumps(BENCH[0]),
    "pod.yaml": manifest(0),
    "unknown.sh": "vllm serve nobody/nothing -tp 2\n",
}
CALLS = [
    ["inspect", MODEL],
    ["inspect", "tests/data/qwen3_8b.json"],
    ["size", MODEL, *GPU],
    ["check", MODEL, *GPU],
    ["check", "--all", *GPU],
    ["plan", MODEL, *GPU, *TRAFFIC, "--simulate", "--checkpoints", "any", "--format", "html"],
    ["plan", MODEL, *GPU, *TRAFFIC, "--calibrate", "bench.json", "--plot", "all.svg"],
    *[["plan", MODEL, "--engine", engine, *GPU, *TRAFFIC, "--emit", name] for name in formats() for engine in ("vllm", "sglang")],
    ["audit", LAUNCH, "pod.yaml", "unknown.sh", "--explain-all"],
    ["audit", "unknown.sh", "--format", "sarif"],
    ["migrate", LAUNCH, "--to", "sglang"],
    ["diagnose", "--log", LOG, "--metrics", METRICS, "--command", LAUNCH, "--symptom", "slow", "--nvidia-smi", "smi.txt", "--bench", "bench.json"],
    ["choose", *GPU, *TRAFFIC, "--among", MODEL, "--among", "openai/gpt-oss-20b", "--scores", "scores.csv"],
    ["compare", MODEL, "openai/gpt-oss-20b", *GPU, *TRAFFIC],
    ["explain"],
    ["explain", "mla", "--model", "deepseek-ai/DeepSeek-V3.1", *GPU],
    ["explain", "glossary"],
    ["rule", "MEM04"],
    ["rule", "--all", "--json"],
    ["learn", "--state", "learn.json"],
    ["learn", "--export", "7", "--with-answers"],
    ["facts", "gpu", "h200-sxm"],
    ["facts", "model"],
    ["facts", "engine", "vllm", "--diff", "0.19", "0.33"],
    ["facts", "origins"],
    ["fleet", "pod.yaml", "unknown.sh", "--rows", "rows.jsonl", "--jobs", "1"],
    ["fleet", "--compare", "rows.jsonl", "rows.jsonl"],
    ["place", "stock.toml"],
    ["scale", MODEL, *GPU, "--curve", "0h:2,8h:20,20h:5"],
    ["schema", "plan"],
    ["--version"],
]  # fmt: skip


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What wanted to go out; nothing gets there."""
    found: list[str] = []

    def forbidden(name: str) -> Callable[..., None]:
        def refuse(*arguments: object, **_: object) -> None:
            found.append(f"{name} {arguments}")
            raise OSError(f"{name} is forbidden here")

        return refuse

    monkeypatch.setattr(socket, "socket", forbidden("socket"))
    for name in ("create_connection", "getaddrinfo", "gethostbyname"):
        monkeypatch.setattr(socket, name, forbidden(name))
    for name in ("HF_HUB_OFFLINE", "HF_TOKEN", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("offline")
    for name, text in FILES.items():
        (where / name).write_text(text, encoding="utf-8")
    return where


def _placed(word: str, folder: Path) -> str:
    """Files of the test lie in its folder, those of the repository in the repository."""
    if "=" not in word and word in (*FILES, "rows.jsonl", "learn.json", "all.svg"):
        return str(folder / word)
    return str(ROOT / word) if word.startswith(("tests/", "docs/")) else word


@pytest.mark.parametrize("words", CALLS, ids=lambda words: " ".join(words)[:90])
def test_no_network(words: list[str], tried: list[str], folder: Path) -> None:
    outcome = call([_placed(word, folder) for word in words])
    assert not outcome.crash
    # not every format suits every engine, layout and kind of load; how each is written has its own tests
    assert outcome.code in (0, 1) or ("--emit" in words and outcome.err.startswith("serveright: --emit")), outcome.err
    assert tried == []


def test_every_verb_is_asked() -> None:
    """`serve`, `mcp` and `measure` are servers and their clients; the first two are tested below and beside."""
    assert {words[0] for words in CALLS} >= set(VERBS)


def test_a_model_of_the_hub_asks_the_hub(tried: list[str]) -> None:
    """The counterpart: were nothing forbidden, this would have gone out."""
    outcome = call(["inspect", "nobody/nothing"])
    assert tried
    assert outcome.code == 2
    assert "nobody/nothing" in outcome.err


@pytest.mark.parametrize("view", ["/", "/design/Qwen/Qwen3-8B?gpu=2xh200", "/audit", "/choose?gpu=2xh200", "/compare", "/diagnose", "/learn"])
def test_the_page_reads_nothing_from_elsewhere(view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("starlette.testclient")
    from serveright.web.app import Options, create

    found: list[object] = []

    def refuse(_: object, address: object) -> None:
        found.append(address)
        raise OSError("forbidden here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    with client.TestClient(create(Options()), base_url="http://127.0.0.1", follow_redirects=True) as page:
        answer = page.get(view)
    assert answer.status_code in (200, 404)
    assert found == []
    # nothing the browser would load comes from another host
    assert 'src="http' not in answer.text
    assert '<link rel="stylesheet" href="http' not in answer.text
