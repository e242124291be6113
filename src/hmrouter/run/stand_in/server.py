"""The HTTP server of the stand-in, on this machine only."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType, TracebackType
from typing import Any, Self

from hmrouter.run.stand_in import chat, messages, responses
from hmrouter.run.stand_in.behaviour import Behaviour
from hmrouter.run.stand_in.exchange import Request, answer_to

WIRES: Mapping[str, ModuleType] = {"/messages": messages, "/chat/completions": chat, "/responses": responses}
"""How a path ends -> its wire format."""


class StandIn:
    """A server of stand-in models, from `with` to its end.

    >>> with StandIn({"fake-model": Behaviour()}) as models:
    ...     models.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, models: Mapping[str, Behaviour] | None = None, *, port: int = 0) -> None:
        """`models`: a behaviour for each name; a model of any other name solves every task. `port` 0: any free one."""
        self.models = dict(models or {})
        self.requests: list[Request] = []
        """Every request that was answered, for tests to look at."""
        self._over = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.stand_in = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The address without `/v1`, as Anthropic's clients want it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def v1(self) -> str:
        """The address with `/v1`, as OpenAI's clients want it."""
        return f"{self.url}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def behaviour(self, model: str) -> Behaviour:
        """How a model behaves; `provider/name` is the model `name`."""
        return self.models.get(model) or self.models.get(model.rpartition("/")[2]) or Behaviour()

    def wait_for_the_end(self) -> None:
        """Return when the server is closed: how a model hangs."""
        self._over.wait()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a model that hangs holds its thread
    stand_in: StandIn


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        """Say that the server is there."""
        self._send({})

    def do_GET(self) -> None:
        """List the models."""
        names = self.server.stand_in.models
        self._send({"object": "list", "data": [{"id": name, "object": "model", "type": "model"} for name in names]})

    def do_POST(self) -> None:
        """Answer as the model that is asked."""
        body = self._body()
        path = self.path.partition("?")[0]
        wire = next((wire for end, wire in WIRES.items() if path.endswith(end)), None)
        behaviour = self.server.stand_in.behaviour(str(body.get("model")))
        if behaviour.hangs:
            self.server.stand_in.wait_for_the_end()
            self.close_connection = True
        elif behaviour.api_error:
            problem = {"type": "invalid_request_error", "message": "refused by the stand-in", "code": "stand_in"}
            self._send({"type": "error", "error": problem}, behaviour.api_error)
        elif path.endswith("/count_tokens"):
            self._send({"input_tokens": behaviour.input_tokens})
        elif wire is None:
            self._send({"error": {"message": f"the stand-in does not know {path}"}}, 404)
        else:
            request = wire.read(body)
            self.server.stand_in.requests.append(request)
            whole = wire.document(request, answer_to(request, behaviour))
            if request.stream:
                self._stream(wire.events(whole), ends_with_done=wire is chat)
            else:
                self._send(whole)

    def _body(self) -> dict[str, Any]:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            raw = b"".join(parts)
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        return body if isinstance(body, dict) else {}

    def _send(self, document: Mapping[str, Any], status: int = 200) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, events: Any, ends_with_done: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in events:
            named = f"event: {name}\n" if name else ""
            self.wfile.write(f"{named}data: {json.dumps(data)}\n\n".encode())
        if ends_with_done:
            self.wfile.write(b"data: [DONE]\n\n")
