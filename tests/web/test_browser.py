"""A real Chromium over a real server: every view, both languages, light and dark, wide and narrow, keyboard, history, shared addresses."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ROOT

CHROMIUM = shutil.which("chromium") or ""
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="no chromium on this machine")]
sync_api = pytest.importorskip("playwright.sync_api")
pytest.importorskip("vl_convert")

DESIGN = "/design/Qwen/Qwen3.6-27B?gpu=2xh200-sxm"
VIEWS = (
    "/",
    DESIGN,
    "/design/openai/gpt-oss-20b",
    "/compare?model=Qwen/Qwen3-8B&model=openai/gpt-oss-20b&gpu=1xh200",
    "/choose?gpu=1xrtx-4090&concurrency=4",
    "/audit?text=vllm%20serve%20Qwen/Qwen3.6-27B%20-tp%203&gpu=4xh200",
    "/diagnose?symptom=out%20of%20memory",
    "/learn/exercise/bytes?seed=2&answer=7",
    "/learn/attention",
    "/facts/gpu",
    "/facts/engine/vllm?older=0.30.0&newer=0.33.0",
)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The page as `serveright serve` starts it."""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "LANG": "C.UTF-8", "HF_HUB_OFFLINE": "1"}
    run = [sys.executable, "-c", "from serveright.cli.main import main; main()", "serve", "--port", "0"]
    server = subprocess.Popen(run, env=env, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    line = server.stderr.readline()
    yield line.split("http://")[1].split("/")[0].join(("http://", ""))
    server.terminate()
    server.wait(30)
    server.stderr.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


class Page:
    """One tab that keeps what the console and the network said."""

    def __init__(self, browser: Any, site: str, *, width: int = 1440, scheme: str = "light", script: bool = True, **more: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script, **more)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(60_000)
        self.site = site
        self.said: list[str] = []
        self.tab.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        self.tab.on("pageerror", lambda error: self.said.append(str(error)))
        self.tab.on("request", lambda request: None if request.url.startswith((site, "data:")) else self.said.append(request.url))

    def open(self, path: str) -> Any:
        self.tab.goto(self.site + path)
        return self.tab

    def until(self, script: str, arg: Any = None) -> None:
        """Waits for a condition. The page's policy forbids eval, which Playwright's own wait needs from its second look on."""
        deadline = time.monotonic() + 60
        while not self.tab.evaluate(script, arg):
            assert time.monotonic() < deadline, script
            self.tab.wait_for_timeout(50)

    def words(self) -> str:
        """The text of the page without its pictures, which are drawn when they come into sight."""
        script = (
            "() => { const m = document.querySelector('main').cloneNode(true); m.querySelectorAll('.canvas').forEach(e => e.remove()); return m.textContent }"
        )
        return self.tab.evaluate(script)

    def drawn(self) -> None:
        """Waits until every picture is drawn."""
        for figure in self.tab.query_selector_all("figure.chart"):
            figure.scroll_into_view_if_needed()
            figure.wait_for_selector(".canvas svg")

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(("lang", "scheme"), [("en", "light"), ("ko", "dark"), ("en", "dark"), ("ko", "light")])
def test_every_view_without_a_word_from_the_console(browser: Any, site: str, lang: str, scheme: str, width: int) -> None:
    with Page(browser, site, width=width, scheme=scheme) as page:
        for path in VIEWS:
            tab = page.open(f"{path}{'&' if '?' in path else '?'}lang={lang}")
            page.drawn()
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, path
            assert tab.evaluate("document.documentElement.lang") == lang
            assert tab.locator("h1").count() == 1, path
        assert page.said == []


def test_a_phone_shows_the_exercise_before_the_lists(browser: Any, site: str) -> None:
    with Page(browser, site, width=390) as page:
        tab = page.open("/learn/exercise/bytes?seed=2&lang=ko")
        assert tab.locator("main h1").bounding_box()["y"] < 400
        tab.locator("aside summary").first.focus()
        tab.keyboard.press("Enter")
        assert tab.locator("aside a").first.is_visible(), "the lists open from the keyboard"


def test_text_has_contrast_in_both_themes(browser: Any, site: str) -> None:
    script = """() => [...document.querySelectorAll('p,a,td,th,dt,dd,li,label,summary,h1,h2,h3,button,code')].filter(e => e.offsetParent && e.textContent.trim()).slice(0, 400).map(e => {
      const rgb = c => { const m = c.match(/[\\d.]+/g).map(Number); return m };
      let node = e, back = [0,0,0,0];
      while (node && back[3] !== 1) { const b = rgb(getComputedStyle(node).backgroundColor); if (b.length < 4 || b[3] === 1) { back = [b[0], b[1], b[2], 1]; } node = node.parentElement }
      const lum = c => { const v = c.slice(0, 3).map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4); return .2126 * v[0] + .7152 * v[1] + .0722 * v[2] };
      const [a, b] = [lum(rgb(getComputedStyle(e).color)), lum(back)].sort((x, y) => y - x);
      return [(a + .05) / (b + .05), e.tagName, e.textContent.trim().slice(0, 40)]
    })"""
    for scheme in ("light", "dark"):
        with Page(browser, site, scheme=scheme) as page:
            worst = min(page.open(DESIGN).evaluate(script))
            assert worst[0] >= 4.5, worst


def test_a_changed_control_changes_address_and_page_and_back_undoes_it(browser: Any, site: str) -> None:
    with Page(browser, site) as page:
        tab = page.open(DESIGN)
        before = tab.inner_text("h1")
        tab.select_option("select[name=engine]", "vllm")
        tab.wait_for_url("**engine=vllm**")
        tab.fill("input[name=gpus]", "4")
        tab.press("input[name=gpus]", "Enter")
        tab.wait_for_url("**gpu=4xh200-sxm**")
        page.until("document.querySelector('h1').innerText.includes('4 x')")
        tab.go_back()
        page.until("text => document.querySelector('h1').innerText === text", before)
        assert "gpu=2xh200-sxm" in tab.url
        tab.go_back()
        page.until("!location.search.includes('engine')")
        tab.go_forward()
        page.until("document.querySelector('select[name=engine]').value === 'vllm'")
        assert page.said == []


def test_a_shared_address_gives_the_same_page(browser: Any, site: str) -> None:
    config = (ROOT / "tests/data/qwen3_8b.json").read_text()
    with Page(browser, site) as page:
        tab = page.open("/")
        tab.fill("textarea[name=text]", config)
        tab.click("form[data-drop] button")
        tab.wait_for_url("**/design/~**")
        tab.select_option("select[name=gpu]", "h200-sxm")
        tab.wait_for_url("**gpu=1xh200-sxm**")
        address, text = tab.url, page.words()
    with Page(browser, site) as other:
        other.open(address.removeprefix(site))
        assert other.words() == text


def test_without_script_everything_reads(browser: Any, site: str) -> None:
    with Page(browser, site, script=False) as page:
        tab = page.open(DESIGN)
        assert "--tp-size 2" in tab.inner_text("#commands")
        assert tab.locator("figure.chart img").count() >= 8
        tab.select_option("select[name=engine]", "vllm")
        tab.click("form[data-live] button.primary")
        tab.wait_for_url("**engine=vllm**")


def test_the_keyboard_reaches_everything(browser: Any, site: str) -> None:
    with Page(browser, site) as page:
        tab = page.open(DESIGN)
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.className") == "skip"
        tab.keyboard.press("Enter")
        assert tab.url.endswith("#content")
        tab.focus("input[name=launch] >> nth=0")
        tab.keyboard.press("ArrowRight")
        assert tab.locator(".tabs .panel:visible").inner_text() != ""
        assert tab.evaluate("document.querySelectorAll('input[name=launch]')[1].checked")
        tab.focus("button.num >> nth=0")
        tab.keyboard.press("Enter")
        assert tab.locator(".why:popover-open").count() == 1
        tab.keyboard.press("Escape")
        assert tab.locator(".why:popover-open").count() == 0
        unnamed = tab.evaluate(
            "[...document.querySelectorAll('input,select,textarea,button')].filter(e => !(e.labels?.length || e.ariaLabel || e.textContent.trim() || e.type === 'hidden')).map(e => e.outerHTML)"
        )
        assert unnamed == []


def test_copy_says_so_and_copies_the_command(browser: Any, site: str) -> None:
    with Page(browser, site, permissions=["clipboard-read", "clipboard-write"]) as page:
        tab = page.open(DESIGN)
        tab.click(".panel:visible [data-copy]")
        page.until("document.querySelector('[data-copy]').textContent === document.body.dataset.copied")
        copied = tab.evaluate("navigator.clipboard.readText()")
        assert copied == tab.evaluate("document.querySelector('.panel code').textContent")
        assert copied.startswith(("vllm serve", "python3 -m sglang"))


def test_the_theme_button_lasts(browser: Any, site: str) -> None:
    with Page(browser, site) as page:
        tab = page.open("/")
        day = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        tab.click("#theme")
        night = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert night != day
        assert page.open(DESIGN).evaluate("getComputedStyle(document.body).backgroundColor") == night


def test_a_slow_answer_says_that_it_is_computed(browser: Any, site: str) -> None:
    with Page(browser, site) as page:
        tab = page.open(DESIGN)
        tab.evaluate("() => { const real = fetch; window.fetch = async (...all) => { await new Promise((go) => setTimeout(go, 900)); return real(...all) } }")
        tab.select_option("select[name=engine]", "vllm")
        tab.wait_for_selector("#state:not([hidden])")
        tab.wait_for_url("**engine=vllm**")
        tab.wait_for_selector("#state", state="hidden")
