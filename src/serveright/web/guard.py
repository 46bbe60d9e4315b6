"""What every request passes: our own Host, no writes from other sites, bodies of bounded size, and headers that let a page load nothing from elsewhere."""

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 20 << 20
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # "no-referrer" would make browsers send our own forms with Origin: null
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """`hosts`: names this server answers to, without port. A foreign Host may be a rebound DNS name, so it gets nothing."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through or answer it with one line."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self.refusal(scope)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > BODY_LIMIT:
            await _answer(send, 413, "too large: this page takes files up to 20 MiB\n")
            return
        await self.app(scope, _limited(receive), _with_headers(send))

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and text where the request must not be answered."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if bare(host) not in self.hosts:
            return 421, "this server answers only to its own address\n"
        if scope["method"] in ("GET", "HEAD"):
            return None
        if scope["method"] != "POST":
            return 405, "only GET and POST\n"
        site = headers.get(b"sec-fetch-site", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if site not in ("", "same-origin", "none") or (origin and origin != f"{scope['scheme']}://{host}"):
            return 403, "a form of another site may not write here\n"
        if not site and not origin:
            return 403, "a browser says where a form comes from; this request does not\n"
        return None


def bare(host: str) -> str:
    """A Host header without its port."""
    return host.rpartition(":")[0].strip("[]") if ":" in host and not host.endswith("]") else host.strip("[]")


def _limited(receive: Receive) -> Receive:
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > BODY_LIMIT:
            return {"type": "http.disconnect"}
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, text: str) -> None:
    headers: list[Any] = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
