"""Anthropic's messages: requests read, answers written, whole or as events."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from hmrouter.run.stand_in.exchange import Answer, Request, texts_in
from hmrouter.run.stand_in.tools import Tool

Event = tuple[str, Mapping[str, Any]]


def read(body: Mapping[str, Any]) -> Request:
    """Read the body of a request."""
    messages = body.get("messages") or []
    blocks = [b for m in messages if isinstance(m.get("content"), list) for b in m["content"] if isinstance(b, dict)]
    return Request(
        model=str(body.get("model")),
        texts=[*texts_in(body.get("system")), *texts_in(messages)],
        tools=[Tool(t["name"], t.get("input_schema") or {}) for t in body.get("tools") or [] if "name" in t],
        results=sum(block.get("type") == "tool_result" for block in blocks),
        stream=bool(body.get("stream")),
    )


def document(request: Request, answer: Answer) -> dict[str, Any]:
    """Write the whole answer."""
    model = answer.behaviour
    block: dict[str, Any] = {"type": "text", "text": answer.text}
    if answer.call:
        name, arguments = answer.call
        block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:20]}", "name": name, "input": arguments}
    return {
        "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": request.model,
        "content": [block], "stop_reason": "tool_use" if answer.call else "end_turn", "stop_sequence": None,
        "usage": {
            "input_tokens": model.input_tokens - model.cached_tokens, "output_tokens": model.output_tokens,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": model.cached_tokens,
        },
    }  # fmt: skip


def events(whole: Mapping[str, Any]) -> Iterator[Event]:
    """Write the same answer as a stream."""
    block = whole["content"][0]
    if block["type"] == "tool_use":
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    for event in (
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": whole["usage"]},
        {"type": "message_stop"},
    ):
        yield str(event["type"]), event
