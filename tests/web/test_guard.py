"""Hostile input does nothing but give a message."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

starlette = pytest.importorskip("starlette.testclient")

from serveright.web.app import Options, create  # noqa: E402
from serveright.web.guard import bare  # noqa: E402

SAME = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
CONFIG = json.loads((ROOT / "tests/data/qwen3_8b.json").read_text())
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def page() -> Iterator[starlette.TestClient]:
    with starlette.TestClient(create(Options()), base_url="http://127.0.0.1", follow_redirects=True) as client:
        yield client


def paste(page: starlette.TestClient, text: str, **headers: str) -> object:
    return page.post("/design", data={"text": text}, files={"none": ("", b"")}, headers=headers or SAME)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8210", "", "[::2]:80", "localhost.evil"])
def test_a_foreign_host_gets_nothing(page: starlette.TestClient, host: str) -> None:
    answer = page.get("/design/Qwen/Qwen3-8B", headers={"host": host})
    assert answer.status_code == 421
    assert "Qwen" not in answer.text


@pytest.mark.parametrize(("host", "name"), [("127.0.0.1:80", "127.0.0.1"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("localhost", "localhost")])
def test_ports_and_brackets_are_no_part_of_a_host(host: str, name: str) -> None:
    assert bare(host) == name


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
        {"origin": "http://127.0.0.1", "sec-fetch-site": "cross-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "same-site"},
        {"accept": "*/*"},
    ],
)
def test_another_site_cannot_write(page: starlette.TestClient, headers: dict[str, str]) -> None:
    assert paste(page, json.dumps(CONFIG), **headers).status_code == 403  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_get_and_post(page: starlette.TestClient, method: str) -> None:
    assert page.request(method, "/design").status_code == 405


def test_every_answer_forbids_foreign_code(page: starlette.TestClient) -> None:
    for path in ("/", "/static/page.js", "/nothing", "/design/Qwen/Qwen3-8B.json"):
        policy = page.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_markup_in_a_config_stays_text(page: starlette.TestClient) -> None:
    for changed in ({"architectures": [EVIL]}, {"model_type": EVIL}, {"_name_or_path": EVIL}, {EVIL: EVIL}, {"rope_scaling": {"rope_type": EVIL}}):
        text = paste(page, json.dumps({**CONFIG, **changed})).text  # pyright: ignore[reportAttributeAccessIssue]
        assert "<script>alert" not in text
        assert "<img src=x" not in text


def test_markup_in_any_field_stays_text(page: starlette.TestClient) -> None:
    for view in ("design", "compare", "choose", "audit", "diagnose"):
        for key in ("gpu", "model", "engine", "concurrency", "need", "text", "symptom", "lang", "z", "name", "traffic"):
            text = page.get(f"/{view}", params={"gpu": "1xh200", "model": "Qwen/Qwen3-8B", key: EVIL}).text
            assert "<script>alert" not in text
            assert "<img src=x" not in text


def test_fifty_megabytes_get_a_message(page: starlette.TestClient) -> None:
    answer = paste(page, '{"a": "' + "x" * (50 << 20) + '"}')
    assert answer.status_code == 413  # pyright: ignore[reportAttributeAccessIssue]
    assert "too large" in answer.text  # pyright: ignore[reportAttributeAccessIssue]


def test_a_long_or_deep_or_broken_config_gets_a_message(page: starlette.TestClient) -> None:
    for text in ("[" * 100_000, '{"a":' * 5000, "{", "[]", "\x00", '{"a": 1e999999}', "9" * 200_000):
        answer = paste(page, text)
        assert answer.status_code == 400, text[:20]  # pyright: ignore[reportAttributeAccessIssue]
        assert "failure" in answer.text  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("model", ["../../etc/passwd", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "~root", "-", "C:\\Windows", "file:///etc/passwd", "%00"])
def test_a_path_is_no_model(page: starlette.TestClient, model: str) -> None:
    for answer in (page.get("/design", params={"model": model}), page.get(f"/design/{model}")):
        assert answer.status_code in (400, 404)
        assert "root:" not in answer.text


@pytest.mark.parametrize("model", ["http://169.254.169.254/latest/meta-data", "evil.example/x", "someone/unknown-model", "//evil.example/a"])
def test_no_model_makes_the_page_use_the_network(page: starlette.TestClient, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for view in ("design", "compare"):
        assert page.get(f"/{view}", params={"model": model, "gpu": "1xh200"}).status_code == 400


def test_local_files_stay_unread(page: starlette.TestClient, tmp_path: Path) -> None:
    """A config on this machine is at hand for the command line, never for a pasted command."""
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "architectures": ["SecretForCausalLM"]}))
    gpu = tmp_path / "gpu.toml"
    gpu.write_text("key = 'secret'")
    for params in (
        {"text": f"vllm serve {tmp_path} -tp 3", "gpu": "4xh200"},
        {"text": "vllm serve m", "model": str(tmp_path)},
        {"text": "vllm serve m", "gpu": str(gpu)},
    ):
        text = page.get("/audit", params=params).text
        assert "Secret" not in text
        assert "PAR01" not in text
    assert page.get("/design/Qwen/Qwen3-8B", params={"gpu": str(gpu)}).status_code == 400
    assert page.get("/design/Qwen/Qwen3-8B", params={"gpu": "1xh200", "traffic": str(gpu)}).status_code == 400


def test_a_packed_bomb_is_refused(page: starlette.TestClient) -> None:
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b'{"config.json": "' + b" " * (64 << 20) + b'"}', 9)).decode()
    assert page.get(f"/design/~0000000000000000?z={bomb[:60000]}").status_code == 400
    for word in ("AAAA", "%%%", "é", "eJw"):
        assert page.get("/design/~0000000000000000", params={"z": word}).status_code == 400


def test_static_files_are_a_closed_list(page: starlette.TestClient) -> None:
    for name in ("../app.py", "..%2fapp.py", "app.py", "%2e%2e/app.py"):
        answer = page.get(f"/static/{name}")
        assert answer.status_code == 404
