"""The application: finds the view, keeps computed pages, and turns what users can mend into a page that says so.

Views are the modules of `web.views`, found by name: each has TITLE, ORDER and `show(visit)`, and may have `LIMITED = True` when it takes pasted texts.
"""

import importlib
import pkgutil
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from jinja2 import Environment, FileSystemLoader
from msgspec import Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from serveright import __version__
from serveright.errors import UnknownName, UserError
from serveright.outputs import draw, html, json, markdown
from serveright.outputs.charts import table
from serveright.outputs.language import LANGUAGES
from serveright.types.document import Document
from serveright.types.text import msg
from serveright.web import show, views
from serveright.web.guard import BODY_LIMIT, Guard
from serveright.web.state import ADDRESS_LIMIT, Store, address, pack
from serveright.web.visit import ENDINGS, Moved, Shown, Visit
from serveright.web.words import WORDS

FOLDER = Path(__file__).parent
HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
TYPES = {
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
}
STATIC = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}
CACHE_BYTES = 24 << 20


class Options(Struct, frozen=True, kw_only=True):
    """`allow_hub`: a typed Hub id may be fetched. `hosts`: names the server answers to."""

    allow_hub: bool = False
    lang: str = "en"
    hosts: frozenset[str] = HOSTS


@cache
def names() -> tuple[str, ...]:
    """Names of all views in the order of the menu."""
    found = [info.name for info in pkgutil.iter_modules(views.__path__)]
    return tuple(sorted(found, key=lambda name: (view(name).ORDER, name)))


@cache
def view(name: str) -> Any:
    """The module of a view."""
    return importlib.import_module(f"{views.__name__}.{name}")


class Answers:
    """Computed answers by address and language; equal questions at the same time are computed once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Response] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        self._busy: dict[tuple[str, str], Lock] = {}

    def get(self, key: tuple[str, str], make: Callable[[], Response]) -> Response:
        """The kept answer, or `make`'s, kept when it is a page."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            busy = self._busy.setdefault(key, Lock())
        with busy:
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            try:
                answer = make()
            finally:
                with self._lock:
                    self._busy.pop(key, None)
            if answer.status_code == 200:
                with self._lock:
                    self._keep(key, answer)
            return answer

    def _keep(self, key: tuple[str, str], answer: Response) -> None:
        self._kept[key] = answer
        self._bytes += len(answer.body)
        while self._bytes > CACHE_BYTES:
            self._bytes -= len(self._kept.popitem(last=False)[1].body)


class Pages:
    """The request handlers over one store, one cache and one template environment."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.store = Store()
        self.answers = Answers()
        self.templates = Environment(loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True)

    def get(self, request: Request) -> Response:
        """Any page in any format."""
        lang = self._language(request)
        key = (str(request.url.replace(scheme="http", netloc="")), lang)
        return self.answers.get(key, lambda: self._answer(request, lang))

    async def post(self, request: Request) -> Response:
        """Pasted or dropped texts: kept, and led on to their own address."""
        name = request.path_params["path"].strip("/")
        if name not in names() or not view(name).PASTES:
            return PlainTextResponse("nothing takes texts here\n", 404)
        async with request.form(max_files=16, max_fields=64, max_part_size=BODY_LIMIT) as form:
            texts: dict[str, str] = {}
            fields: list[tuple[str, str]] = []
            for key, value in form.multi_items():
                if isinstance(value, UploadFile):
                    data = await value.read()
                    if data:
                        texts[Path(value.filename or key).name[:80]] = data.decode("utf-8", "replace")
                elif key in view(name).PASTES:
                    if value.strip():
                        texts[view(name).PASTES[key]] = value
                else:
                    fields.append((key, value))
        return await run_in_threadpool(self._keep, name, texts, fields)

    def _keep(self, name: str, texts: dict[str, str], fields: list[tuple[str, str]]) -> Response:
        if not texts:
            return RedirectResponse(address(f"/{name}", fields), 303)
        digest, packed = self.store.put(texts), pack(texts)
        short = [("z", packed)] if len(packed) <= ADDRESS_LIMIT else []
        return RedirectResponse(address(f"/{name}/~{digest}", [*short, *fields]), 303)

    def _language(self, request: Request) -> str:
        asked = request.query_params.get("lang")
        if asked in LANGUAGES:
            return asked
        accepted = request.headers.get("accept-language", "")
        return "ko" if accepted.lower().startswith("ko") else "en" if accepted else self.options.lang

    def _answer(self, request: Request, lang: str) -> Response:
        path = request.path_params["path"].strip("/") or "design"
        name, _, rest = path.partition("/")
        stem, dot, ending = rest.rpartition(".")
        rest, ending = (stem, ending) if dot and ending in ENDINGS else (rest, "")
        if name.endswith(".json"):
            name, ending = name.removesuffix(".json"), "json"
        query: dict[str, list[str]] = {}
        for key, value in request.query_params.multi_items():
            query.setdefault(key, []).append(value)
        visit = Visit(view=name, rest=rest, ending=ending, query=query, lang=lang, store=self.store, allow_hub=self.options.allow_hub)
        if name not in names():
            return self._failed(visit, UnknownName(msg("page"), name[:60], names()), 404)
        try:
            shown = view(name).show(visit)
            if isinstance(shown, Moved):
                return RedirectResponse(shown.to, 302)
            if shown.error is not None and ending:
                return self._failed(visit, shown.error, 400)
            return self._format(visit, shown) if ending else self._page(visit, shown)
        except UserError as error:
            return self._failed(visit, error, 400)

    def _page(self, visit: Visit, shown: Shown) -> Response:
        page = None
        if shown.document is not None:
            page = show.page(shown.document, visit.lang, lambda name, ending: visit.address(ending=ending, picture=name))
        status = 400 if shown.error is not None else 200
        body = self._render(shown.template, visit, shown.title, page=page, error=shown.error, formats=shown.report is not None, **shown.context)
        return Response(body, status, media_type="text/html; charset=utf-8")

    def _format(self, visit: Visit, shown: Shown) -> Response:
        if visit.ending == "json" and shown.report is not None:
            return Response(json.encode(shown.report, visit.lang) + "\n", media_type=TYPES["json"])
        if shown.document is None:
            return self._failed(visit, UnknownName(msg("format of this page"), visit.ending, ()), 404)
        if visit.ending in ("svg", "png", "csv"):
            return self._picture(visit, shown.document)
        text = html.document(shown.document, visit.lang) if visit.ending == "html" else markdown.document(shown.document, visit.lang)
        kind = {"content-disposition": f'attachment; filename="serveright-{visit.view}.{visit.ending}"'}
        return Response(text, headers=kind, media_type=TYPES[visit.ending])

    def _picture(self, visit: Visit, document: Document) -> Response:
        chart = show.chart_named(document, visit.first("picture"))
        if chart is None:
            return self._failed(visit, UnknownName(msg("picture"), visit.first("picture")[:40], [c.name for c in draw.charts_of(document)]), 404)
        spec = draw.framed(chart, visit.lang)
        body = table.as_csv(spec) if visit.ending == "csv" else draw.svg(spec) if visit.ending == "svg" else draw.png(spec)
        return Response(body, media_type=TYPES[visit.ending])

    def _failed(self, visit: Visit, error: UserError, status: int) -> Response:
        if visit.ending == "json":
            text = {"error": show.say(error.message, visit.lang), "fix": show.say(error.fix, visit.lang) if error.fix else None}
            return Response(json.encode(text, visit.lang) + "\n", status, media_type=TYPES["json"])
        return Response(self._render("error.html", visit, WORDS["failed"], page=None, error=error, formats=False), status, media_type=TYPES["html"])

    def _render(self, template: str, visit: Visit, title: Any, **context: Any) -> str:
        def say(text: Any) -> str:
            return show.say(text, visit.lang)

        def complaint(text: Any) -> str:
            return show.complaint(text, visit.lang)

        menu = [(name, say(view(name).TITLE)) for name in names()]
        lang_links = [(lang, visit.address(lang=lang)) for lang in LANGUAGES]
        return self.templates.get_template(template).render(
            version=__version__,
            say=say,
            complaint=complaint,
            t={key: say(text) for key, text in WORDS.items()},
            title=say(title),
            visit=visit,
            lang=visit.lang,
            menu=menu,
            lang_links=lang_links,
            **context,
        )


def static(request: Request) -> Response:
    """Our own few files."""
    name = request.path_params["name"]
    if name == "vega.js":
        return Response(vega(), media_type=STATIC["page.js"], headers={"cache-control": "max-age=86400"})
    if name not in STATIC:
        return PlainTextResponse("not found\n", 404)
    return Response((FOLDER / "static" / name).read_bytes(), media_type=STATIC[name], headers={"cache-control": "no-cache"})


_VEGA = Lock()


def vega() -> bytes:
    """The JavaScript that vl-convert ships, bundled once; in a process of its own, whose memory is given back."""
    with _VEGA:
        return _bundle()


@cache
def _bundle() -> bytes:
    program = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=300).stdout


def create(options: Options | None = None) -> Starlette:
    """The ASGI application."""
    options = options or Options()
    pages = Pages(options)
    return Starlette(
        routes=[
            Route("/static/{name}", static, methods=["GET"]),
            Route("/{path:path}", pages.get, methods=["GET"]),
            Route("/{path:path}", pages.post, methods=["POST"]),
        ],
        middleware=[Middleware(Guard, hosts=options.hosts)],
    )
