"""The stand-in for model services: the three wire formats, and each behaviour."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from hmrouter.errors import UsageError
from hmrouter.run.stand_in import Behaviour, StandIn, files_asked_for
from hmrouter.run.stand_in.tools import Tool, call_for

TASK = 'Do it. Write "a/b.txt" with: it\'s\\nhere'
SHELL = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "why": {"type": "string"}},
    "required": ["why"],
}
WRITE = {"type": "object", "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}}}


@pytest.fixture
def models() -> Iterator[StandIn]:
    behaviours = {"fake-error": "error=529", "fake-hang": "hang", "fake-some": "only=parser", "fake-wrong": "wrong"}
    with StandIn({name: Behaviour.parse(text) for name, text in behaviours.items()}) as models:
        yield models


def post(url: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return str(answer.read().decode())


def bodies(model: str, task: str = TASK, stream: bool = False) -> dict[str, dict[str, Any]]:
    """The same request on each wire, with a tool for files and one for commands."""
    base = {"model": model, "stream": stream}
    message = {"role": "user", "content": task}
    functions = [{"name": "Bash", "parameters": SHELL}, {"name": "Write", "parameters": WRITE}]
    wrapped = [{"type": "function", "function": function} for function in functions]
    return {
        "messages": base | {"messages": [message], "tools": [
            {"name": "Bash", "input_schema": SHELL}, {"name": "Write", "input_schema": WRITE},
        ]},
        "chat/completions": base | {"messages": [message], "tools": wrapped},
        "responses": base | {"input": [message], "tools": [{"type": "function", **f} for f in functions]},
    }  # fmt: skip


def called(path: str, answer: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool call in a whole answer."""
    if path == "messages":
        block = answer["content"][0]
        return block["name"], block["input"]
    item = answer["output"][0] if path == "responses" else answer["choices"][0]["message"]["tool_calls"][0]["function"]
    return item["name"], json.loads(item["arguments"])


@pytest.mark.parametrize("path", ["messages", "chat/completions", "responses"])
def test_it_writes_the_file_on_every_wire(models: StandIn, path: str) -> None:
    answer = json.loads(post(f"{models.v1}/{path}", bodies("any-model")[path]))
    assert called(path, answer) == ("Write", {"file_path": "a/b.txt", "content": "it's\nhere\n"})
    assert sum(n for name, n in answer["usage"].items() if name in ("input_tokens", "prompt_tokens")) in (800, 1000)
    assert models.requests[-1].task == TASK


@pytest.mark.parametrize("path", ["messages", "chat/completions", "responses"])
def test_a_stream_holds_the_same_answer(models: StandIn, path: str) -> None:
    lines = post(f"{models.v1}/{path}", bodies("any-model", stream=True)[path]).splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    assert len(events) >= 3
    text = json.dumps(events)
    assert "Write" in text
    assert "b.txt" in text
    assert any("usage" in event or "usage" in event.get("response", {}) for event in events)
    assert (lines[-2:] == ["data: [DONE]", ""]) == (path == "chat/completions")


def test_the_next_answer_follows_the_results(models: StandIn) -> None:
    body = bodies("any-model", 'Write "a" with: 1\nWrite "b" with: 2')["chat/completions"]
    for expected in ("a", "b"):
        answer = json.loads(post(f"{models.v1}/chat/completions", body))
        assert called("chat/completions", answer)[1]["file_path"] == expected
        body["messages"] += [answer["choices"][0]["message"], {"role": "tool", "content": "done"}]
    assert json.loads(post(f"{models.v1}/chat/completions", body))["choices"][0]["message"]["content"] == "Done."


def test_behaviours(models: StandIn) -> None:
    def content(model: str, task: str) -> str:
        answer = json.loads(post(f"{models.v1}/messages", bodies(model, task)["messages"]))
        return str(called("messages", answer)[1]["content"])

    assert content("fake-some", 'Mend the parser. Write "a" with: right') == "right\n"
    assert content("fake-some", 'Mend the report. Write "a" with: right') == "something else\n"
    assert content("provider/fake-wrong", TASK) == "something else\n"
    with pytest.raises(urllib.error.HTTPError) as refused:
        content("fake-error", TASK)
    assert refused.value.code == 529
    refused.value.close()
    with pytest.raises(UsageError, match="is no behaviour"):
        Behaviour.parse("sleep")


def test_a_model_that_hangs_answers_only_when_the_server_ends() -> None:
    over = threading.Event()

    def ask(url: str) -> None:
        with pytest.raises(OSError):  # noqa: PT011  # the connection is closed without an answer, in one way or another
            post(f"{url}/v1/messages", bodies("fake-hang")["messages"])
        over.set()

    with StandIn({"fake-hang": Behaviour(hangs=True)}) as models:
        thread = threading.Thread(target=ask, args=(models.url,))
        thread.start()
        assert not over.wait(0.3)
    thread.join(600)
    assert over.is_set()


def test_tools_are_called_as_their_schemas_want() -> None:
    def call(name: str, properties: dict[str, Any], with_shell: bool = False) -> Any:
        found = call_for("a.txt", "x\n", [Tool(name, {"properties": properties})], "/tree", with_shell)
        return found and found.arguments

    text = {"type": "string"}
    assert call("create", {"path": text, "file_text": text}) == {"path": "/tree/a.txt", "file_text": "x\n"}
    assert call("file_editor", {"command": text, "path": text, "file_text": text})["command"] == "create"
    assert "*** Add File: /tree/a.txt\n+x\n" in call("apply_patch", {"patchText": text})["patchText"]
    assert call("shell", {"command": {"type": "array"}})["command"][:2] == ["bash", "-lc"]
    assert len(call("run_commands", {"commands": {"type": "array"}})["commands"]) == 1
    assert call("Write", {"file_path": text, "content": text}, with_shell=True) is None
    assert call("weather", {"city": text}) is None


def test_the_models_are_listed(models: StandIn) -> None:
    with urllib.request.urlopen(f"{models.v1}/models", timeout=600) as answer:
        assert {model["id"] for model in json.load(answer)["data"]} == set(models.models)


def test_only_whole_lines_ask_for_files() -> None:
    assert files_asked_for('Write "a" with: b') == {"a": "b\n"}
    assert files_asked_for("Write a with b") == {}
