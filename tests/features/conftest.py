"""A real HTTP server on this machine that answers as an OpenAI-compatible embeddings service does."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from hmrouter.features.base import Vectors

Reply = Callable[["Handler", dict[str, Any]], None]


def vector_of(text: str, dims: int) -> list[float]:
    """Numbers that depend on the text alone, at unit length, with three digits as in JSON of a service."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    values = np.random.default_rng(seed).standard_normal(dims)
    return [float(x) for x in values / np.linalg.norm(values)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers.items()), body))
            reply = self.server.script.pop(0) if self.server.script else Handler.answer
        reply(self, body)

    def answer(self, body: dict[str, Any]) -> None:
        """What a healthy service answers."""
        dims = self.server.dims
        if self.server.honours_dimensions:
            dims = body.get("dimensions", dims)
        rows = [np.array(vector_of(t, self.server.dims))[:dims] for t in body["input"]]
        data = [{"object": "embedding", "index": i, "embedding": list(row)} for i, row in enumerate(rows)]
        self.send(200, {"object": "list", "data": data, "model": self.server.model or body["model"]})

    def send(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Records what it is asked; `script` holds what to do with the next requests instead of answering them."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.script: list[Reply] = []
        self.connections = 0
        self.dims = 8
        self.honours_dimensions = True
        self.model = ""

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/v1"

    @property
    def asked(self) -> list[str]:
        """All texts that were asked for."""
        return [text for _, _, body in self.requests for text in body["input"]]

    def rows(self, texts: list[str], dims: int | None = None) -> Vectors:
        """What the embedder must make of these texts."""
        rows = np.array([vector_of(t, self.dims)[: dims or self.dims] for t in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    def says(self, status: int, document: Any = b"", headers: dict[str, str] | None = None, times: int = 1) -> None:
        """Let the next requests be answered with this."""
        self.script += [lambda handler, body: handler.send(status, document, headers)] * times


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the environment of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("HMROUTER_EMBEDDINGS_")]:
        monkeypatch.delenv(name)
