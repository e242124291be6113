"""The Agent Client Protocol with a scripted harness that asks for permissions: what the policy lets through."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hmrouter.errors import MissingExtra
from hmrouter.run.acp.policy import permitted
from hmrouter.run.attempt import run_harness
from hmrouter.run.drivers import acp
from hmrouter.run.drivers.base import Ended, Job
from hmrouter.run.drivers.template import TemplateDriver
from hmrouter.types import Status

JobOf = Callable[..., Job]

AGENT = '''#!{python}
"""Speaks the protocol on its standard streams, does what the prompt says in order, and tells what was allowed."""
import json, sys
if sys.argv[1:] == ["--version"]: sys.exit(print("0.1.0"))
def send(**message): print(json.dumps({{"jsonrpc": "2.0", **message}}), flush=True)
def read(): return json.loads(sys.stdin.readline())
def update(**content): send(method="session/update", params={{"sessionId": "s1", "update": content}})
OPTIONS = [{{"optionId": k, "name": k, "kind": k}} for k in ("allow_always", "allow_once", "reject_once")]
answers = []
while True:
    asked = read()
    if asked["method"] == "initialize":
        send(id=asked["id"], result={{"protocolVersion": 1, "agentCapabilities": {{}}, "authMethods": []}})
    elif asked["method"] == "session/new":
        cwd = asked["params"]["cwd"]
        send(id=asked["id"], result={{"sessionId": "s1"}})
    elif asked["method"] == "session/prompt":
        break
words = asked["params"]["prompt"][0]["text"].split()
for n, word in enumerate(words):
    if word == "refuse":
        send(id=asked["id"], error={{"code": -32603, "message": "Internal error", "data": {{"details": "429 busy"}}}})
        sys.exit()
    if word == "silent":
        send(id=asked["id"], result={{"stopReason": "end_turn"}})
        sys.exit()
    kind, _, path = word.partition(":")
    path = path.replace("HERE", cwd)
    call = {{"toolCallId": f"c{{n}}", "title": word, "kind": kind, "status": "pending"}}
    call |= {{"locations": [{{"path": path}}]}} if path else {{}}
    update(sessionUpdate="tool_call", **call)
    request = {{"sessionId": "s1", "toolCall": call, "options": OPTIONS}}
    send(id=100 + n, method="session/request_permission", params=request)
    chosen = read()["result"]["outcome"]["optionId"]
    answers.append(chosen)
    if chosen.startswith("allow") and kind == "edit":
        open(path, "w").write("written")
update(sessionUpdate="usage_update", used=10, size=100, cost={{"amount": 0.25, "currency": "USD"}})
update(sessionUpdate="agent_message_chunk", content={{"type": "text", "text": " ".join(answers)}})
usage = {{"totalTokens": 120, "inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 60}}
send(id=asked["id"], result={{"stopReason": "end_turn", "usage": usage}})
'''


@pytest.fixture
def agent(tmp_path: Path) -> TemplateDriver:
    path = tmp_path / "agent"
    path.write_text(AGENT.format(python=sys.executable))
    path.chmod(0o755)
    return TemplateDriver({"name": "scripted", "command": [str(path)], "acp": True}, dict(os.environ))


def answers(job: Job) -> str:
    """What was allowed, by the last message of the harness."""
    lines = (job.output / "stdout.log").read_text().splitlines()
    return next(line for line in lines if "agent_message_chunk" in line)


def test_edits_in_the_workspace_are_allowed_once_and_nothing_else(
    agent: TemplateDriver, job: JobOf, tmp_path: Path
) -> None:
    asked = job(
        prompt=f"edit:HERE/a.txt edit:{tmp_path}/outside.txt edit:HERE/.git/hooks/post-commit execute read:HERE/a.txt"
    )
    result = run_harness(agent, asked)
    assert (result.ended, result.status, result.transport) == (Ended.FINISHED, Status.OK, "acp")
    assert "allow_once reject_once reject_once reject_once allow_once" in answers(asked)
    assert (asked.cwd / "a.txt").read_text() == "written"
    assert not (tmp_path / "outside.txt").exists()
    used = result.usage
    assert (used.dollars, used.input_tokens, used.cached_tokens, used.output_tokens) == (0.25, 100, 60, 20)
    assert used.turns == 6  # five calls and a message


def test_with_the_users_word_everything_is_allowed(agent: TemplateDriver, job: JobOf) -> None:
    asked = job(prompt="execute fetch other", bypass=True)
    assert run_harness(agent, asked).ended is Ended.FINISHED
    assert "allow_once allow_once allow_once" in answers(asked)


def test_a_refusal_of_the_service_is_an_api_error(agent: TemplateDriver, job: JobOf) -> None:
    result = run_harness(agent, job(prompt="refuse"))
    assert (result.ended, result.status, result.error) == (Ended.API_ERROR, Status.INFRA_ERROR, "429 busy")


def test_a_turn_that_ends_without_a_word_says_nothing_about_the_route(agent: TemplateDriver, job: JobOf) -> None:
    result = run_harness(agent, job(prompt="silent"))
    assert (result.ended, result.status) == (Ended.CRASHED, Status.INFRA_ERROR)


def test_a_harness_that_does_not_speak_the_protocol_is_no_finished_run(agent: TemplateDriver, job: JobOf) -> None:
    path = Path(agent.program)
    path.write_text(f"#!{sys.executable}\nimport sys\nprint('1.0' if '--version' in sys.argv else 'hello')\n")
    result = run_harness(agent, job())
    assert result.ended in (Ended.API_ERROR, Ended.CRASHED)
    assert result.status is Status.INFRA_ERROR


def test_a_link_out_of_the_workspace_is_seen_through(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path)
    assert permitted("edits", "edit", ["plain.txt"], workspace)
    assert not permitted("edits", "edit", ["link/outside.txt"], workspace)
    assert not permitted("edits", "edit", ["../outside.txt"], workspace)
    assert not permitted("edits", "read", ["/etc/passwd"], workspace)
    assert not permitted("edits", "edit", [], workspace)
    assert not permitted("edits", None, ["plain.txt"], workspace)


def test_without_the_extra_it_is_said_how_to_get_it(
    agent: TemplateDriver, job: JobOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra) as refused:
        agent.command(job())
    assert refused.value.details["extra"] == "run"
