"""A server as an OpenAI client sees it: what it answers is a function of the request; its metrics follow the requests under way."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BLOCK, BLOCKS, FIXED = 64, 1001, 6
"""Tokens a block, blocks in all, and blocks of state that each request holds."""
Reply = Callable[[dict[str, Any]], dict[str, Any] | tuple[int, str]]


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text, **more}, "finish_reason": "stop"}


class Fake:
    def __init__(self, chat: Reply, cached: bool = True) -> None:
        self.chat, self.cached, self.url = chat, cached, ""
        self.seen: set[tuple[int, ...]] = set()
        self.held: dict[int, int] = {}
        self.generated = 0
        self.lock = threading.Lock()

    def metrics(self) -> str:
        with self.lock:
            used, running = sum(self.held.values()), len(self.held)
        info = f'num_gpu_blocks="{BLOCKS}",block_size="{BLOCK}",kv_cache_size_tokens="50000",kv_cache_memory_bytes="{BLOCKS * BLOCK * 100}"'
        return (
            f'vllm:kv_cache_usage_perc{{engine="0"}} {used / (BLOCKS - 1)}\nvllm:num_requests_running{{engine="0"}} {running}\n'
            f'vllm:num_requests_waiting{{engine="0"}} 0\nvllm:generation_tokens_total{{engine="0"}} {self.generated}\nvllm:num_preemptions_total{{engine="0"}} 0\nvllm:cache_config_info{{{info},engine="0"}} 1\n'
        )

    def stream(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        import time

        prompt = tuple(request["prompt"])
        hit = (len(prompt) // BLOCK * BLOCK) if self.cached and prompt in self.seen else 0
        self.seen.add(prompt)
        me = threading.get_ident()
        for i in range(request["max_tokens"]):
            with self.lock:
                self.held[me] = FIXED + -(-(len(prompt) + i) // BLOCK)
                self.generated += 1
            yield {"choices": [{"index": 0, "text": "a", "finish_reason": None}], "usage": None}
            time.sleep(0.008)
        time.sleep(0.1)
        with self.lock:
            del self.held[me]
        usage = {"prompt_tokens": len(prompt), "completion_tokens": request["max_tokens"], "total_tokens": 0, "prompt_tokens_details": {"cached_tokens": hit}}
        yield {"choices": [], "usage": usage}


@contextmanager
def serve(fake: Fake) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            return

        def _send(self, status: int, body: str, kind: str = "application/json") -> None:
            raw = body.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._send(200, fake.metrics(), "text/plain")
            elif self.path == "/v1/models":
                self._send(200, json.dumps({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x", "max_model_len": 4096}]}))
            elif self.path == "/version":
                self._send(200, '{"version":"0.33.0"}')
            else:
                self._send(404, "{}")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path == "/v1/chat/completions":
                answer = fake.chat(request)
                if isinstance(answer, tuple):
                    self._send(answer[0], json.dumps({"error": {"message": answer[1]}}))
                else:
                    self._send(200, json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, **answer}]}))
                return
            if len(request["prompt"]) + request["max_tokens"] > 4096:
                self._send(400, '{"error":{"message":"maximum context length is 4096"}}')
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for piece in fake.stream(request):
                self.wfile.write(f"data: {json.dumps({'id': '1', 'object': 'text_completion', 'created': 1, 'model': 'm', **piece})}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        fake.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield fake.url
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
