"""OpenHands: `openhands --headless --json`, which leaves its conversation in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hmrouter.run.drivers.base import Command, Driver, Ended, Endpoint, Job, Needs, Reader, Usage
from hmrouter.run.drivers.json_fields import amount, count, field, parsed, text
from hmrouter.run.drivers.litellm import KEYS, litellm_spelling
from hmrouter.run.drivers.permission import require_bypass

ADDRESS = "LLM_BASE_URL"
KEY = "LLM_API_KEY"
CONVERSATIONS = "conversations"


class OpenHands(Driver):
    """OpenHands. Without its interface it never asks, so it runs only with the user's word."""

    name = "openhands"
    program = "openhands"
    install = "pip install openhands (with Python 3.12 or newer)"
    get_key = "set LLM_API_KEY, or the key of a provider, such as ANTHROPIC_API_KEY"
    in_front = "openai/"
    only_bypassed = True

    def needs(self) -> Needs:
        """Return its own variables, and the keys of providers that one of them is filled from."""
        return Needs((KEY, *KEYS), (ADDRESS,))

    def endpoint(self) -> Endpoint | None:
        """List the user's own service."""
        return self.own_service(ADDRESS, KEY)

    def own_spelling(self, model: str) -> str | None:
        """Spell a model as LiteLLM does."""
        return litellm_spelling(model, self.environ, ADDRESS)

    def command(self, job: Job) -> Command:
        """Run one task; its conversation is kept in the job's output folder."""
        require_bypass(self, job)
        model = self.model(job)
        env = {
            "LLM_MODEL": model, "OPENHANDS_SUPPRESS_BANNER": "1", "OPENHANDS_WORK_DIR": str(job.cwd),
            "OPENHANDS_CONVERSATIONS_DIR": str(job.output / CONVERSATIONS),
        }  # fmt: skip
        of_provider = f"{model.partition('/')[0].upper()}_API_KEY"
        if not self.setting(job, KEY) and of_provider in KEYS and self.setting(job, of_provider):
            env[KEY] = self.setting(job, of_provider)
        argv = ("openhands", "--headless", "--json", "--override-with-envs", f"--task={job.prompt}")
        return Command(argv, env)

    def reader(self, job: Job) -> Reader:
        """Read its events, and the conversation that it leaves."""
        return OpenHandsReader(job.output / CONVERSATIONS)


class OpenHandsReader(Reader):
    """Its events tell actions and errors; usage stands in the conversation's state only, so it is read at the end."""

    def __init__(self, conversations: Path) -> None:
        super().__init__()
        self._conversations = conversations

    def line(self, text_line: str) -> None:
        """Take in one event; the lines between them are for people."""
        event = parsed(text_line)
        kind = text(event, "kind")
        if kind == "ConversationErrorEvent":
            self.error = text(event, "detail") or text(event, "code")
        elif kind == "ActionEvent" or (kind == "MessageEvent" and text(event, "source") == "agent"):
            self.usage = self.usage.plus(Usage(turns=1))

    def close(self, exit_code: int | None) -> None:
        """Read the state: it says how it ended, and the exit code is 0 also after an API error."""
        states = sorted(self._conversations.glob("*/base_state.json"))
        try:
            state = json.loads(states[0].read_text(encoding="utf-8")) if states else None
        except (OSError, ValueError):
            state = None
        if state is None:
            return
        self.usage = _usage(state, self.usage.turns)
        status = text(state, "execution_status")
        if status == "finished":
            self.ended, self.error = Ended.FINISHED, ""
        elif status == "error":
            self.ended = Ended.API_ERROR
        elif status == "stuck":  # it repeated itself and gave up: its own doing
            self.ended, self.error = Ended.FINISHED, ""


def _usage(state: Any, turns: int | None) -> Usage:
    """The sum over what a conversation uses models for: the agent itself, and shortening its history."""
    usage = Usage(turns=turns)
    for used in (field(state, "stats.usage_to_metrics") or {}).values():
        tokens = field(used, "accumulated_token_usage")
        dollars = amount(used, "accumulated_cost") or None  # 0 is what it says of a model that has no price
        usage = usage.plus(
            Usage(
                dollars, "list" if dollars else "none", count(tokens, "prompt_tokens"),
                count(tokens, "cache_read_tokens"), count(tokens, "completion_tokens"),
            )
        )  # fmt: skip
    return usage
