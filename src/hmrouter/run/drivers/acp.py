"""Harnesses that speak the Agent Client Protocol: each action arrives as a request that our policy answers."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from hmrouter.errors import MissingExtra
from hmrouter.run.drivers.base import Command, Driver, Ended, Job, Reader, Usage
from hmrouter.run.drivers.json_fields import amount, count, field, parsed, text

ENDS = {"end_turn": Ended.FINISHED, "refusal": Ended.FINISHED, "max_tokens": Ended.FINISHED}
"""What a stop reason means; `max_turn_requests` is a cap, and any other a crash."""


class AcpDriver(Driver):
    """A harness behind the protocol; a subclass says how it is started and how its model is chosen."""

    transport = "acp"

    def agent(self, job: Job) -> Command:
        """Say what to start for a job: a command that speaks the protocol on its standard streams."""
        raise NotImplementedError

    def command(self, job: Job) -> Command:
        """Start the harness behind our own client, which answers its requests."""
        return behind_client(self.name, self.agent(job), job)

    def reader(self, job: Job) -> Reader:
        """Read the events of our client."""
        return AcpReader()


def behind_client(harness: str, agent: Command, job: Job) -> Command:
    """Put our client in front of a command that speaks the protocol; it answers requests by the job's permissions."""
    if find_spec("acp") is None:
        raise MissingExtra(f"driving {harness} over the Agent Client Protocol", "run")
    policy = "everything" if job.bypass else "edits"
    order = {"agent": agent.argv, "cwd": str(job.cwd), "prompt": job.prompt, "policy": policy}
    return Command((sys.executable, "-m", "hmrouter.run.acp", json.dumps(order)), agent.env)


class AcpReader(Reader):
    """Reads the protocol's events. Tool calls and the last message count as turns: model calls are not to be seen."""

    def __init__(self) -> None:
        super().__init__()
        self.session = ""
        """The harness's own id of the session."""
        self._calls: set[str] = set()
        self._spoke = False

    def line(self, text_line: str) -> None:
        """Take in one event."""
        event = parsed(text_line)
        kind = text(event, "event")
        if kind == "session":
            self.session = text(event, "sessionId")
        elif kind == "update":
            self.update(event)
        elif kind == "end":
            self._end(event)
        elif kind == "error":
            details = text(event, "data.details") or text(event, "data.message")
            self.ended, self.error = Ended.API_ERROR, details or text(event, "message")

    def update(self, event: Any) -> None:
        """Take in what the harness tells while it works."""
        kind = text(event, "sessionUpdate")
        if kind == "tool_call":
            self._calls.add(text(event, "toolCallId"))
        elif kind == "agent_message_chunk" and text(event, "content.text"):
            self._spoke = True
        elif kind == "usage_update" and text(event, "cost.currency") in ("", "USD"):
            dollars = amount(event, "cost.amount")
            if dollars is not None:
                self.usage = replace(self.usage, dollars=dollars, cost_basis="list")
        turns = len(self._calls) + self._spoke
        self.usage = replace(self.usage, turns=turns or None)

    def _end(self, event: Any) -> None:
        if field(event, "usage"):
            told = tokens(field(event, "usage"))
            self.usage = replace(
                told, dollars=self.usage.dollars, cost_basis=self.usage.cost_basis, turns=self.usage.turns
            )
        reason = text(event, "stopReason")
        self.ended = ENDS.get(reason, Ended.CAP if reason == "max_turn_requests" else Ended.CRASHED)
        self.error = "" if self.ended is Ended.FINISHED else f"it stopped for {reason}"
        if not self.usage.anything:  # seen where the service refused: a turn that ends without a word
            self.ended, self.error = Ended.CRASHED, "the turn ended without an answer of the model"


def tokens(usage: Any) -> Usage:
    """The protocol's counts of tokens, cached ones among the input."""
    return Usage(
        input_tokens=count(usage, "inputTokens"), cached_tokens=count(usage, "cachedReadTokens"),
        output_tokens=count(usage, "outputTokens"),
    )  # fmt: skip
