"""Codex: `codex exec --json`."""

from __future__ import annotations

import json
from pathlib import Path

from hmrouter.run.drivers.base import Command, Driver, Ended, Endpoint, Job, Needs, Reader, Usage
from hmrouter.run.drivers.json_fields import count, parsed, text
from hmrouter.run.drivers.spelling import maker_spelling

ADDRESS = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"
OWN_KEY = "CODEX_API_KEY"
"""The key that `codex exec` takes for one run."""
NO_ANSWER = ("error", "reasoning", "todo_list")
"""Kinds of items that are no action or answer of the model."""


class Codex(Driver):
    """OpenAI's Codex. Without the user's word, commands run in its own sandbox: the workspace writable, no network."""

    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex"
    get_key = "set OPENAI_API_KEY, or run: codex login"
    efforts = ("minimal", "low", "medium", "high", "xhigh")

    def needs(self) -> Needs:
        """Return OpenAI's variables."""
        home = Path(self.environ.get("CODEX_HOME") or Path(self.environ.get("HOME", "~"), ".codex"))
        return Needs((KEY, OWN_KEY), (ADDRESS, "CODEX_HOME"), (home / "auth.json",))

    def endpoint(self) -> Endpoint | None:
        """OpenAI's service, or the address that takes its place."""
        return Endpoint(self.environ.get(ADDRESS) or "https://api.openai.com/v1", KEY, "openai")

    def own_spelling(self, model: str) -> str | None:
        """Spell a model as OpenAI does; at an address of the user's own, any name goes as it is written."""
        return maker_spelling(model, "openai") or (model if self.environ.get(ADDRESS) else None)

    def command(self, job: Job) -> Command:
        """Run one prompt; its standard input is /dev/null, or it would wait for more."""
        argv = ["codex", "exec", "--json", "--skip-git-repo-check", "-C", str(job.cwd), "-m", self.model(job)]
        if effort := self.effort(job):
            argv += ["-c", f"model_reasoning_effort={json.dumps(effort)}"]
        address = self.setting(job, ADDRESS)
        if address:
            provider = f'{{name="own",base_url={json.dumps(address)},env_key="{KEY}",wire_api="responses"}}'
            argv += ["-c", "model_provider=own", "-c", f"model_providers.own={provider}"]
        argv += ["--dangerously-bypass-approvals-and-sandbox"] if job.bypass else ["--sandbox", "workspace-write"]
        env = {}
        signed_in = any(path.exists() for path in self.needs().sign_in)
        if not (address or signed_in or self.setting(job, OWN_KEY)) and self.setting(job, KEY):
            env[OWN_KEY] = self.setting(job, KEY)
        return Command((*argv, "--", job.prompt), env)

    def reader(self, job: Job) -> Reader:
        """Read its events."""
        return CodexReader()


class CodexReader(Reader):
    """Counts items while it works; tokens come with the end of the turn only, cached ones among the input."""

    def line(self, text_line: str) -> None:
        """Take in one event."""
        event = parsed(text_line)
        kind = text(event, "type")
        if kind == "item.completed" and text(event, "item.type") not in NO_ANSWER:
            self.usage = self.usage.plus(Usage(turns=1))
        elif kind == "turn.completed":
            self.usage = self.usage.plus(
                Usage(
                    input_tokens=count(event, "usage.input_tokens"),
                    cached_tokens=count(event, "usage.cached_input_tokens"),
                    output_tokens=count(event, "usage.output_tokens"),
                )
            )
            self.ended, self.error = Ended.FINISHED, ""
        elif kind == "turn.failed":
            self.ended, self.error = Ended.API_ERROR, _plain(text(event, "error.message"))
        elif kind == "error":  # it may still try again
            self.error = _plain(text(event, "message"))


def _plain(message: str) -> str:
    """The message of a service's JSON error, where the message is one; else as it is."""
    return text(parsed(message), "error.message") or message
