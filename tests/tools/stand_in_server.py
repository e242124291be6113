"""A model server for tests: OpenAI's chat completions on 127.0.0.1, without a model.

It answers with the last word of the last message. A model with `broken` in its name gets an error from it.
Run as a script it prints its port and serves until it is stopped.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PROMPT_TOKENS, CACHED_TOKENS, COMPLETION_TOKENS = 120, 20, 7
"""The usage that every answer reports; OpenAI counts the cached tokens among those of the prompt."""


class StandIn(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            self._send(404, {"error": {"message": f"no {self.path} here"}})
        elif "broken" in body["model"]:
            self._send(400, {"error": {"message": "this model is broken on purpose", "code": "broken"}})
        else:
            self._send(200, _completion(body))

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: standard error is the test's."""

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _completion(body: dict[str, Any]) -> dict[str, Any]:
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text.split()[-1]}}
        ],
        "usage": {
            "prompt_tokens": PROMPT_TOKENS,
            "completion_tokens": COMPLETION_TOKENS,
            "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS,
            "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
        },
    }


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
