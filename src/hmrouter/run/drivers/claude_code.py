"""Claude Code: `claude -p`, with its events as lines of JSON."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hmrouter.run.drivers.base import Command, Driver, Ended, Endpoint, Job, Needs, Reader, Usage
from hmrouter.run.drivers.json_fields import amount, count, field, parsed, text, total
from hmrouter.run.drivers.spelling import maker_spelling

ADDRESS = "ANTHROPIC_BASE_URL"
CAPS = ("error_max_budget_usd", "error_max_turns")
"""How a result says that a limit was reached."""


class ClaudeCode(Driver):
    """Anthropic's Claude Code. Without the user's word it edits files only (`acceptEdits`)."""

    name = "claude-code"
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code (with Node 22 or newer)"
    get_key = "set ANTHROPIC_API_KEY, or start claude once and sign in"
    efforts = ("low", "medium", "high", "xhigh", "max")

    def needs(self) -> Needs:
        """Return Anthropic's variables; the cloud providers' own are passed on where they are switched on."""
        cloud: tuple[str, ...] = ()
        if self.environ.get("CLAUDE_CODE_USE_BEDROCK"):
            cloud = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
        elif self.environ.get("CLAUDE_CODE_USE_VERTEX"):
            cloud = ("GOOGLE_APPLICATION_CREDENTIALS",)
        home = Path(self.environ.get("CLAUDE_CONFIG_DIR") or Path(self.environ.get("HOME", "~"), ".claude"))
        # On a Mac the sign-in is in the key chain; that it was started there is all that can be seen.
        sign_in = home.parent / ".claude.json" if sys.platform == "darwin" else home / ".credentials.json"
        keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", *cloud)
        return Needs(keys, (ADDRESS, "CLAUDE_CONFIG_DIR"), (sign_in,))

    def endpoint(self) -> Endpoint | None:
        """Anthropic's service, or the address that takes its place."""
        url = self.environ.get(ADDRESS) or "https://api.anthropic.com"
        return Endpoint(f"{url.rstrip('/')}/v1", "ANTHROPIC_API_KEY", "anthropic")

    def own_spelling(self, model: str) -> str | None:
        """Spell a Claude as Anthropic does; at an address of the user's own, any name goes as it is written."""
        return maker_spelling(model, "anthropic") or (model if self.environ.get(ADDRESS) else None)

    def command(self, job: Job) -> Command:
        """Print events as they happen. No fallback model: another model would be another route."""
        argv = ["claude", "-p", "--output-format", "stream-json", "--verbose", "--model", self.model(job)]
        if effort := self.effort(job):
            argv += ["--effort", effort]
        if job.max_dollars is not None:
            argv += ["--max-budget-usd", f"{job.max_dollars:.6f}"]
        if job.max_turns is not None:
            argv += ["--max-turns", str(job.max_turns)]
        env = {}
        if job.bypass:
            argv.append("--dangerously-skip-permissions")
            if os.geteuid() == 0:  # it refuses that flag to root unless it is told that this is meant
                env["IS_SANDBOX"] = "1"
        else:
            argv += ["--permission-mode", "acceptEdits"]
        return Command((*argv, "--", job.prompt), env)

    def reader(self, job: Job) -> Reader:
        """Read its events."""
        return ClaudeReader()


class ClaudeReader(Reader):
    """Adds up the model's messages while it works; the last event, `result`, has the totals."""

    def __init__(self) -> None:
        super().__init__()
        self._messages: dict[str, Usage] = {}

    def line(self, text_line: str) -> None:
        """Take in one event."""
        event = parsed(text_line)
        kind = text(event, "type")
        if kind == "assistant" and field(event, "message.model") != "<synthetic>":  # that one is an error's text
            # One message comes as several events, each with what was used so far.
            self._messages[text(event, "message.id")] = _tokens(field(event, "message.usage"))
            self._add_up()
        elif kind == "system" and text(event, "subtype") == "api_retry":
            self.error = f"{field(event, 'error_status')} {text(event, 'error')}"
        elif kind == "result":
            self._result(event)

    def _add_up(self) -> None:
        self.usage = Usage()
        for used in self._messages.values():
            self.usage = self.usage.plus(used)

    def _result(self, event: Any) -> None:
        models = list((field(event, "modelUsage") or {}).values())
        if models:  # `usage` beside it is all zero where a limit ended the run
            self.usage = replace(
                self.usage,
                input_tokens=total(*(count(m, name) for m in models for name in _INPUTS)),
                cached_tokens=total(*(count(m, "cacheReadInputTokens") for m in models)),
                output_tokens=total(*(count(m, "outputTokens") for m in models)),
            )
        dollars = amount(event, "total_cost_usd")
        # For a model that it has no price of, it guesses one and says so.
        if dollars and all(text(model, "costBasis") in ("", "list") for model in models):
            self.usage = replace(self.usage, dollars=dollars, cost_basis="list")
        self.error = text(event, "result") if field(event, "is_error") else ""
        self.error = self.error or "; ".join(map(str, field(event, "errors") or ()))
        if text(event, "terminal_reason") == "api_error" or field(event, "api_error_status") is not None:
            self.ended = Ended.API_ERROR
        elif text(event, "subtype") in CAPS:
            self.ended = Ended.CAP
        elif field(event, "is_error"):
            self.ended = Ended.CRASHED if self.usage.anything else Ended.API_ERROR
        else:
            self.ended = Ended.FINISHED


_INPUTS = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")


def _tokens(usage: Any) -> Usage:
    """The usage of one message; Anthropic counts what is read from a cache beside the input, not in it."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Usage(
        input_tokens=total(*(count(usage, name) for name in names)),
        cached_tokens=count(usage, "cache_read_input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        turns=1,
    )
