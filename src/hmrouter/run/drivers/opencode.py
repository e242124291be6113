"""OpenCode: `opencode run --format json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hmrouter.run.drivers.base import Command, Driver, Ended, Job, Needs, Reader, Usage
from hmrouter.run.drivers.json_fields import amount, count, parsed, text, total
from hmrouter.run.drivers.spelling import EFFORTS, plain_spelling, provider_spelling

ADDRESS = "OPENAI_BASE_URL"
CONFIG = "OPENCODE_CONFIG_CONTENT"
PROVIDERS = {
    "anthropic": "anthropic", "openai": "openai", "google": "google", "x-ai": "xai", "deepseek": "deepseek",
    "moonshotai": "moonshotai", "zai": "zai", "mistral": "mistral",
}  # fmt: skip
"""Maker -> what OpenCode calls it."""
KEYS = (
    "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "XAI_API_KEY",
    "DEEPSEEK_API_KEY", "MOONSHOT_API_KEY", "ZHIPU_API_KEY", "MISTRAL_API_KEY", "OPENROUTER_API_KEY",
)  # fmt: skip
NO_TITLE = {"title": {"disable": True}}
"""It would ask a second model for a title of the session."""
OWN_FAILURES = ("MessageOutputLengthError", "ContextOverflowError", "MessageAbortedError")
"""Errors that the service is not to blame for."""
EDITS_ONLY = {"edit": "allow", "bash": "deny", "webfetch": "deny", "external_directory": "deny"}
"""What it may do without the user's word."""


class OpenCode(Driver):
    """OpenCode. Without the user's word it edits files only."""

    name = "opencode"
    program = "opencode"
    install = "npm install -g opencode-ai"
    get_key = "set the key of a provider, such as ANTHROPIC_API_KEY, or run: opencode auth login"
    efforts = EFFORTS

    def needs(self) -> Needs:
        """Return the keys of the providers that it knows."""
        data = Path(self.environ.get("XDG_DATA_HOME") or Path(self.environ.get("HOME", "~"), ".local", "share"))
        return Needs(KEYS, (ADDRESS, CONFIG), (data / "opencode" / "auth.json",))

    def own_spelling(self, model: str) -> str | None:
        """Spell a model as `provider/name`; at an address of the user's own, any name goes as it is written."""
        if self.environ.get(ADDRESS):
            return f"openai/{plain_spelling(model)}"
        return provider_spelling(model, PROVIDERS)

    def command(self, job: Job) -> Command:
        """Run one prompt, with permissions and an address of the user's own in its configuration."""
        model = self.model(job)
        argv = ["opencode", "run", "--format", "json", "-m", model]
        if effort := self.effort(job):
            argv += ["--variant", effort]
        config: dict[str, Any] = {"autoupdate": False, "share": "disabled", "agent": NO_TITLE}
        if job.bypass:
            argv.append("--auto")
        else:
            config["permission"] = EDITS_ONLY
        if address := self.setting(job, ADDRESS):
            named = model.removeprefix("openai/")
            config["provider"] = {"openai": {"options": {"baseURL": address}, "models": {named: {}}}}
        given = parsed(self.setting(job, CONFIG)) or {}
        # A word with a space in it would reach the model in quotes; words are put together again with spaces.
        words = job.prompt.split(" ")
        return Command((*argv, "--", *words), {CONFIG: json.dumps({**given, **config})})

    def reader(self, job: Job) -> Reader:
        """Read its events."""
        return OpenCodeReader()


class OpenCodeReader(Reader):
    """Adds up steps; the step that stops is the end, as the program itself may never exit after it."""

    def line(self, text_line: str) -> None:
        """Take in one event."""
        event = parsed(text_line)
        kind = text(event, "type")
        if kind == "step_finish":
            self._step(event)
            if text(event, "part.reason") == "stop":
                self.ended, self.error = Ended.FINISHED, ""
        elif kind == "error":
            self.ended = Ended.CRASHED if text(event, "error.name") in OWN_FAILURES else Ended.API_ERROR
            self.error = text(event, "error.data.message") or text(event, "error.name")

    def _step(self, event: Any) -> None:
        names = ("part.tokens.input", "part.tokens.cache.read", "part.tokens.cache.write")  # each counted by itself
        written = total(count(event, "part.tokens.output"), count(event, "part.tokens.reasoning"))
        dollars = amount(event, "part.cost") or None  # 0 is what it says of a model that it has no price of
        self.usage = self.usage.plus(
            Usage(
                dollars, "list" if dollars else "none",
                total(*(count(event, name) for name in names)), count(event, "part.tokens.cache.read"), written, 1,
            )
        )  # fmt: skip
