"""OpenAI's responses: requests read, answers written, whole or as events."""

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
    given = body.get("input") or []
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    return Request(
        model=str(body.get("model")),
        texts=[*texts_in(body.get("instructions")), *texts_in(given)],
        tools=[Tool(t["name"], t["parameters"]) for t in body.get("tools") or [] if t.get("parameters")],
        results=sum(str(item.get("type")).endswith("call_output") for item in items),
        stream=bool(body.get("stream")),
    )


def document(request: Request, answer: Answer) -> dict[str, Any]:
    """Write the whole answer."""
    model = answer.behaviour
    item: dict[str, Any] = {"id": f"item_{uuid.uuid4().hex[:20]}", "status": "completed"}
    if answer.call:
        name, arguments = answer.call
        call_id = f"call_{uuid.uuid4().hex[:20]}"
        item |= {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
    else:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        item |= {"type": "message", "role": "assistant", "content": content}
    return {
        "id": f"resp_{uuid.uuid4().hex}", "object": "response", "created_at": int(time.time()),
        "model": request.model, "status": "completed", "output": [item],
        "usage": {
            "input_tokens": model.input_tokens, "input_tokens_details": {"cached_tokens": model.cached_tokens},
            "output_tokens": model.output_tokens, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": model.input_tokens + model.output_tokens,
        },
    }  # fmt: skip


def events(whole: Mapping[str, Any]) -> Iterator[Event]:
    """Write the same answer as a stream."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    item = {"output_index": 0, "item": whole["output"][0]}
    place = {"output_index": 0, "content_index": 0, "item_id": whole["output"][0]["id"]}
    words = [
        {"type": "response.output_text.delta", **place, "delta": part["text"]}
        for part in whole["output"][0].get("content", ())
    ]
    for event in (
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", **item},
        *words,
        {"type": "response.output_item.done", **item},
        {"type": "response.completed", "response": whole},
    ):
        yield str(event["type"]), event
