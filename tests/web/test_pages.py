"""Every view as a reader without script gets it: addresses are the state, formats agree, languages, pasted texts."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT

starlette = pytest.importorskip("starlette.testclient")

from serveright.web.app import Options, create, names  # noqa: E402

SAME = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
CONFIG = (ROOT / "tests/data/qwen3_8b.json").read_text()
COMMAND = "vllm serve Qwen/Qwen3.6-27B \\\n  --tensor-parallel-size 3 \\\n  --enable-chunked-prefil"


@pytest.fixture(scope="module")
def page() -> Iterator[starlette.TestClient]:
    with starlette.TestClient(create(Options()), base_url="http://127.0.0.1", follow_redirects=True) as client:
        yield client


def test_the_views_promised_are_there() -> None:
    assert names() == ("design", "compare", "choose", "audit", "diagnose", "learn", "facts")


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("view", ["", *names()])
def test_every_view_opens_in_both_languages(page: starlette.TestClient, view: str, lang: str) -> None:
    answer = page.get(f"/{view}?lang={lang}")
    assert answer.status_code == 200
    assert f'<html lang="{lang}">' in answer.text
    assert answer.text.count("<h1") == 1
    assert "<script src=" in answer.text
    assert not re.search(r"<script>|onclick=|style=|https?://(?!127\.0\.0\.1|www\.w3\.org)", answer.text.replace("http://www.w3.org", ""))


def test_a_design_reads_without_script(page: starlette.TestClient) -> None:
    text = page.get("/design/Qwen/Qwen3.6-27B?gpu=2xh200").text
    for part in (
        "--tp-size 2",
        "vllm serve Qwen/Qwen3.6-27B",
        'class="line tells"',
        "text_config.num_key_value_heads",
        "popovertarget=",
        "<noscript><img src=",
    ):
        assert part in text, part
    assert len(re.findall(r'<figure class="chart"', text)) >= 8


def test_the_same_path_and_json_is_the_api(page: starlette.TestClient) -> None:
    report = page.get("/design/Qwen/Qwen3.6-27B.json?gpu=2xh200").json()
    assert report["schema"] == "serveright.plan/1"
    assert report["chosen"]["command"] in page.get("/design/Qwen/Qwen3.6-27B?gpu=2xh200").text.replace("&#39;", "'")
    assert page.get("/design/Qwen/Qwen3.6-27B.json").json()["schema"] == "serveright.inspect/1"
    assert page.get("/facts/gpu/h200.json").json()["gpus"][0]["key"] == "h200-sxm"


def test_a_model_id_with_dots_is_not_an_ending(page: starlette.TestClient) -> None:
    assert page.get("/design/Qwen/Qwen3.6-27B").status_code == 200
    assert page.get("/design/zai-org/GLM-4.5.json").json()["model"]["id"] == "zai-org/GLM-4.5"


def test_a_form_leads_to_the_proper_address(page: starlette.TestClient) -> None:
    answer = page.get("/design?model=Qwen/Qwen3-8B&gpu=h200-sxm&gpus=2&engine=&concurrency=8&lang=")
    assert str(answer.url) == "http://127.0.0.1/design/Qwen/Qwen3-8B?gpu=2xh200-sxm&concurrency=8"


def test_a_choice_that_was_not_followed_is_said(page: starlette.TestClient) -> None:
    text = page.get("/design/Qwen/Qwen3-8B?gpu=2xh200-sxm&objective=fun&nodes=many&images=2").text
    for said in ("no ranking by fun", "many is no number of nodes", "takes no images"):
        assert said in text
    assert "speculation was left out" in page.get("/design/Qwen/Qwen3.6-27B?gpu=2xh200-sxm&reproducible=1").text
    assert "changed" not in page.get("/design/Qwen/Qwen3-8B?gpu=1xh200-sxm&objective=latency").text.partition("<main")[2].partition("<section")[0]


def test_a_mistake_is_told_in_the_words_of_the_page(page: starlette.TestClient) -> None:
    text = page.get("/design/Qwen/Qwen3-8B?gpu=1xh200-sxm&context=100").text
    assert "“Longest request, tokens” 100 is shorter" in text
    assert "--context" not in text
    assert "“가장 긴 요청" in page.get("/design/Qwen/Qwen3-8B?gpu=1xh200-sxm&context=100&lang=ko").text


def test_ttft_and_tpot_open_their_derivation(page: starlette.TestClient) -> None:
    text = page.get("/design/Qwen/Qwen3.6-27B?gpu=2xh200-sxm").text
    table = text[text.index("TTFT") : text.index("TTFT") + 4000]
    assert table.count('class="num"') >= 2
    assert "ttft_median_s = " in text
    assert "step_s = " in text


def test_controls_change_the_design(page: starlette.TestClient) -> None:
    few = page.get("/design/Qwen/Qwen3-8B.json?gpu=1xh200&concurrency=1").json()["candidates"][0]["estimate"]
    many = page.get("/design/Qwen/Qwen3-8B.json?gpu=1xh200&concurrency=256").json()["candidates"][0]["estimate"]
    assert many["output_tokens_per_s"] > 5 * few["output_tokens_per_s"]


def test_a_pasted_config_gets_an_address_that_any_server_can_read(page: starlette.TestClient) -> None:
    answer = page.post("/design", data={"text": CONFIG, "gpu": "1xh200"}, files={"none": ("", b"")}, headers=SAME)
    assert answer.status_code == 200
    address = str(answer.url)
    assert re.search(r"/design/~[0-9a-f]{16}\?z=.+&gpu=1xh200", address)
    with starlette.TestClient(create(Options()), base_url="http://127.0.0.1") as other:
        again = other.get(address.removeprefix("http://127.0.0.1"))
    assert again.status_code == 200
    assert again.text == answer.text


def test_a_long_text_stays_in_memory_and_says_when_it_is_gone(page: starlette.TestClient) -> None:
    import random

    noise = "# " + "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
    answer = page.post("/audit", data={"text": f"{COMMAND}\n{noise}"}, files={"none": ("", b"")}, headers=SAME)
    assert answer.status_code == 200
    assert "z=" not in str(answer.url)
    with starlette.TestClient(create(Options()), base_url="http://127.0.0.1") as other:
        gone = other.get(str(answer.url).removeprefix("http://127.0.0.1"))
    assert gone.status_code == 400
    assert "paste it again" in gone.text


def test_dropped_files_are_read_by_name(page: starlette.TestClient) -> None:
    quant = json.dumps({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}})
    files = [("file", ("config.json", CONFIG)), ("file", ("hf_quant_config.json", quant))]
    answer = page.post("/design", data={"name": "me/mine"}, files=files, headers=SAME)
    assert answer.status_code == 200
    assert "me/mine" in answer.text
    assert "fp8" in answer.text


def test_findings_stand_at_their_flag(page: starlette.TestClient) -> None:
    text = page.get("/audit", params={"text": COMMAND, "gpu": "4xh200"}).text
    lines = re.split(r'<div class="row', text)
    assert any("--enable-chunked-prefil" in row and "VER07" in row for row in lines)
    assert any("--tensor-parallel-size" in row and "sev-" in row for row in lines)
    assert 'class="del"' in text
    assert "--enable-chunked-prefill" in text


def test_a_diagnosis_shows_the_lines_that_speak(page: starlette.TestClient) -> None:
    log = "INFO 11-20 start\nValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\nend"
    answer = page.post("/diagnose", data={"log": log, "symptom": "it does not start"}, files={"none": ("", b"")}, headers=SAME)
    assert answer.status_code == 200
    assert 'class="row hit"' in answer.text
    assert "/tmp/" not in answer.text


def test_an_exercise_is_its_address(page: starlette.TestClient) -> None:
    asked = page.get("/learn/exercise/bytes?seed=3").text
    assert asked == page.get("/learn/exercise/bytes?seed=3").text
    assert page.get("/learn/exercise/bytes?seed=3&answer=1").text.count("<details") > asked.count("<details")


def test_pictures_come_as_files(page: starlette.TestClient) -> None:
    pytest.importorskip("vl_convert")
    base = "/design/Qwen/Qwen3-8B"
    assert page.get(f"{base}.svg?picture=cache").text.startswith("<svg")
    assert page.get(f"{base}.csv?picture=cache").text.startswith("line,tokens,gib")
    assert page.get(f"{base}.png?picture=layers").content.startswith(b"\x89PNG")
    assert page.get(f"{base}.svg?picture=none").status_code == 404


def test_a_mistake_keeps_the_form_and_says_the_way_out(page: starlette.TestClient) -> None:
    answer = page.get("/design/Qwen/Qwen3-8B?gpu=8xh20x")
    assert answer.status_code == 400
    assert "Did you mean" in answer.text
    assert 'name="concurrency"' in answer.text
    assert "Did you mean" in page.get("/design/Qwen/Qwen3-8B.json?gpu=8xh20x").json()["fix"]


def test_the_facts_are_linked_and_compared(page: starlette.TestClient) -> None:
    assert "data sheet" in page.get("/facts/gpu/h200-sxm").text
    versions = page.get("/facts/engine/vllm.json").json()["versions"]
    assert versions[-1] in page.get("/facts/engine/vllm", params={"older": versions[0], "newer": versions[-1]}).text
    assert "ENG01" in page.get("/facts/rule").text
