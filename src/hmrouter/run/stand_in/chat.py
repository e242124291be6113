"""OpenAI's chat completions: requests read, answers written, whole or as events."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from hmrouter.run.stand_in.exchange import Answer, Request, texts_in
from hmrouter.run.stand_in.messages import Event
from hmrouter.run.stand_in.tools import Tool


def read(body: Mapping[str, Any]) -> Request:
    """Read the body of a request."""
    messages = body.get("messages") or []
    offered = [tool.get("function") or {} for tool in body.get("tools") or []]
    return Request(
        model=str(body.get("model")),
        texts=list(texts_in(messages)),
        tools=[Tool(tool["name"], tool.get("parameters") or {}) for tool in offered if "name" in tool],
        results=sum(message.get("role") == "tool" for message in messages),
        stream=bool(body.get("stream")),
    )


def document(request: Request, answer: Answer) -> dict[str, Any]:
    """Write the whole answer."""
    model = answer.behaviour
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.call:
        name, arguments = answer.call
        function = {"name": name, "arguments": json.dumps(arguments)}
        message["tool_calls"] = [{"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": function}]
    reason = "tool_calls" if answer.call else "stop"
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}", "object": "chat.completion", "created": int(time.time()),
        "model": request.model, "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": model.input_tokens, "completion_tokens": model.output_tokens,
            "total_tokens": model.input_tokens + model.output_tokens,
            "prompt_tokens_details": {"cached_tokens": model.cached_tokens},
        },
    }  # fmt: skip


def events(whole: Mapping[str, Any]) -> Iterator[Event]:
    """Write the same answer as a stream."""
    choice = whole["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    delta = {**choice["message"], **({"tool_calls": [{**calls[0], "index": 0}]} if calls else {})}
    base = {name: whole[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield "", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield "", {**base, "choices": [], "usage": whole["usage"]}
