"""GitHub Copilot's command line, over the Agent Client Protocol."""

from __future__ import annotations

from pathlib import Path

from hmrouter.run.drivers.acp import AcpDriver, AcpReader
from hmrouter.run.drivers.base import Command, Ended, Endpoint, Job, Needs, Reader, Usage
from hmrouter.run.drivers.json_fields import count, field, parsed, text
from hmrouter.run.drivers.spelling import dotted, maker_of, plain_spelling

ADDRESS = "COPILOT_PROVIDER_BASE_URL"
KEY = "COPILOT_PROVIDER_API_KEY"
MAKERS = ("anthropic", "openai", "google", "x-ai")
"""Whose models GitHub offers."""


class Copilot(AcpDriver):
    """GitHub Copilot with GitHub's models, or with those of `COPILOT_PROVIDER_BASE_URL`."""

    name = "copilot-cli"
    program = "copilot"
    install = "npm install -g @github/copilot (with Node 22 or newer)"
    get_key = "set COPILOT_GITHUB_TOKEN, or run: copilot login"
    efforts = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

    def needs(self) -> Needs:
        """Return GitHub's tokens, and the variables of a provider of the user's own."""
        keys = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", KEY, "COPILOT_PROVIDER_BEARER_TOKEN")
        settings = (ADDRESS, "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_WIRE_API", "COPILOT_OFFLINE", "COPILOT_HOME")
        return Needs(keys, settings, (self._home(self.environ.get("COPILOT_HOME", "")) / "config.json",))

    def endpoint(self) -> Endpoint | None:
        """List the user's own provider; GitHub has no list that a key opens."""
        return self.own_service(ADDRESS, KEY)

    def own_spelling(self, model: str) -> str | None:
        """Spell a model with a dot in its version, as GitHub does; a provider of the user's own has its own names."""
        if self.environ.get(ADDRESS):
            return plain_spelling(model)
        return dotted(model) if maker_of(model) in MAKERS or model.startswith(("gpt-", "claude-")) else None

    def agent(self, job: Job) -> Command:
        """Start it with the job's model and effort."""
        model = self.model(job)
        argv = ["copilot", "--acp", "--model", model]
        if effort := self.effort(job):
            argv += ["--reasoning-effort", effort]
        return Command(tuple(argv), {"COPILOT_MODEL": model})

    def reader(self, job: Job) -> Reader:
        """Read the protocol, and the session's own log for tokens and errors."""
        return CopilotReader(self._home(self.setting(job, "COPILOT_HOME") or "", job))

    def _home(self, given: str, job: Job | None = None) -> Path:
        home = (job.env.get("HOME") if job else None) or self.environ.get("HOME", "~")
        return Path(given) if given else Path(home, ".copilot")


class CopilotReader(AcpReader):
    """Over the protocol an API error is a plain message; the session's log has it and each call's tokens in fields."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self._home = home
        self._logged = Usage()
        self._failure = ""
        self._read = 0
        self._begun = b""

    def line(self, text_line: str) -> None:
        """Take in an event, and what was logged meanwhile."""
        super().line(text_line)
        self._follow_log()

    def close(self, exit_code: int | None) -> None:
        """Read the log to its end."""
        self._follow_log()

    def _follow_log(self) -> None:
        if not self.session.replace("-", "").isalnum():  # none yet
            return
        try:
            with (self._home / "session-state" / self.session / "events.jsonl").open("rb") as log:
                log.seek(self._read)
                new = log.read()
        except OSError:  # not there yet
            return
        self._read += len(new)
        *lines, self._begun = (self._begun + new).split(b"\n")
        for line in lines:
            self._take_in(parsed(line.decode("utf-8", "replace")))
        if self._logged.anything:
            self.usage = self._logged
        if self._failure and self.ended is not None:  # its message counted as the model's
            self.ended, self.error, self.usage = Ended.API_ERROR, self._failure, self._logged

    def _take_in(self, event: object) -> None:
        kind = text(event, "type")
        if kind == "session.usage_record":
            usage = field(event, "data.usage")
            self._logged = self._logged.plus(
                Usage(
                    input_tokens=count(usage, "inputTokens"), cached_tokens=count(usage, "cacheReadTokens"),
                    output_tokens=count(usage, "outputTokens"), turns=1,
                )
            )  # fmt: skip
        elif kind == "session.error":
            self._failure = text(event, "data.message") or f"status {field(event, 'data.statusCode')}"
