"""A Hub on loopback that serves one repository and counts what was asked; `python fake_hub.py` is not needed, tests start it in a thread."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHA = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    def __init__(self, repo: str, files: dict[str, bytes], gated: bool = False) -> None:
        self.repo, self.files, self.gated = repo, files, gated
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self, body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        path = request.path.partition("?")[0]
        self.asked.append(f"{request.command} {path} {request.headers.get('Range') or ''}".strip())
        if path.startswith(f"/api/models/{self.repo}"):
            return self.send(request, 200, self.info(), body=body)
        prefix = f"/{self.repo}/resolve/"
        name = path.removeprefix(prefix).partition("/")[2] if path.startswith(prefix) else None
        if name in self.files:
            return self.send_file(request, self.files[name], body=body)
        return self.send(request, 404, b"", body=body, error="EntryNotFound" if name else "RepoNotFound")

    def info(self) -> bytes:
        siblings = [{"rfilename": name, "size": len(data), "blobId": hashlib.sha1(data).hexdigest()} for name, data in self.files.items()]
        return json.dumps({"id": self.repo, "modelId": self.repo, "sha": SHA, "siblings": siblings, "private": False, "tags": []}).encode()

    def send_file(self, request: BaseHTTPRequestHandler, data: bytes, *, body: bool) -> None:
        if self.gated:
            return self.send(request, 403, b"", body=body, error="GatedRepo")
        extra = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": SHA, "Accept-Ranges": "bytes"}
        if wanted := request.headers.get("Range"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            part = data[int(first) : int(last or len(data)) + 1]
            return self.send(request, 206, part, body=body, extra={**extra, "Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"})
        return self.send(request, 200, data, body=body, extra=extra)

    def send(
        self, request: BaseHTTPRequestHandler, status: int, data: bytes, *, body: bool, extra: dict[str, str] | None = None, error: str | None = None
    ) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(data)), "Content-Type": "application/json", **(extra or {})}.items():
            request.send_header(name, value)
        if error:
            request.send_header("X-Error-Code", error)
            request.send_header("X-Error-Message", error)
        request.end_headers()
        if body:
            request.wfile.write(data)
