"""Cline's command line: `cline --json`.

It speaks the Agent Client Protocol too, but there only with an account of Cline's; its own events work with any
provider.
"""

from __future__ import annotations

from pathlib import Path

from hmrouter.run.drivers.base import Command, Driver, Ended, Job, Needs, Reader, Usage
from hmrouter.run.drivers.json_fields import amount, count, field, parsed, text
from hmrouter.run.drivers.permission import require_bypass
from hmrouter.run.drivers.spelling import maker_of, plain_spelling

PROVIDER = "CLINE_PROVIDER"
"""Our own setting: which of the providers that were set up with `cline auth` is used; Cline's own by default."""


ENDS = {"completed": Ended.FINISHED, "error": Ended.API_ERROR}
"""What a finish reason means; any other is a crash."""


class Cline(Driver):
    """Cline with a provider that was set up with `cline auth`. It never asks, so it runs only with the user's word."""

    name = "cline-cli"
    program = "cline"
    install = "npm install -g cline (with Node 22 or newer)"
    get_key = "run: cline auth; for a provider other than Cline's set CLINE_PROVIDER to its id"
    efforts = ("none", "low", "medium", "high", "xhigh")
    only_bypassed = True

    def needs(self) -> Needs:
        """Return nothing but its sign-in: keys are in its own settings."""
        data = Path(self.environ.get("HOME", "~"), ".cline", "data")
        return Needs(("CLINE_API_KEY",), (PROVIDER,), (data / "settings" / "providers.json",))

    def own_spelling(self, model: str) -> str | None:
        """Spell a model as its maker does; Cline's own provider wants the maker in front."""
        maker = maker_of(model)
        if self.environ.get(PROVIDER):
            return plain_spelling(model)
        return f"{maker}/{plain_spelling(model)}" if maker else None

    def command(self, job: Job) -> Command:
        """Run one prompt."""
        require_bypass(self, job)
        argv = ["cline", "--json", "-c", str(job.cwd), "-m", self.model(job)]
        if provider := self.setting(job, PROVIDER):
            argv += ["-P", provider]
        if effort := self.effort(job):
            argv += ["--thinking", effort]
        return Command((*argv, "--", job.prompt))

    def reader(self, job: Job) -> Reader:
        """Read its events."""
        return ClineReader()


class ClineReader(Reader):
    """Running totals come with each call of the model; the last event is `run_result`."""

    def line(self, text_line: str) -> None:
        """Take in one event."""
        event = parsed(text_line)
        if text(event, "event.type") == "usage":
            names = ("totalInputTokens", "totalCacheReadTokens", "totalOutputTokens", "totalCost")
            self._told(field(event, "event"), names, (self.usage.turns or 0) + 1)
        elif text(event, "type") == "run_result":
            names = ("inputTokens", "cacheReadTokens", "outputTokens", "totalCost")
            self._told(field(event, "aggregateUsage"), names, self.usage.turns)
            self.ended = ENDS.get(text(event, "finishReason"), Ended.CRASHED)
            self.error = "" if self.ended is Ended.FINISHED else text(event, "text")

    def _told(self, totals: object, names: tuple[str, str, str, str], turns: int | None) -> None:
        put, cached, out, cost = names
        dollars = amount(totals, cost) or None  # 0 is what it says of a model that it has no price of
        tokens = (count(totals, put), count(totals, cached), count(totals, out))
        self.usage = Usage(dollars, "list" if dollars else "none", *tokens, turns)
