"""Qwen Code, over the Agent Client Protocol."""

from __future__ import annotations

from typing import Any

from hmrouter.run.drivers.acp import AcpDriver, AcpReader, tokens
from hmrouter.run.drivers.base import Command, Endpoint, Job, Needs, Reader
from hmrouter.run.drivers.json_fields import field
from hmrouter.run.drivers.spelling import maker_spelling, plain_spelling

ADDRESS = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"


class QwenCode(AcpDriver):
    """Qwen Code with any service that speaks OpenAI's chat completions."""

    name = "qwen-coder"
    program = "qwen"
    install = "npm install -g @qwen-code/qwen-code (with Node 22 or newer)"
    get_key = "set OPENAI_API_KEY, and OPENAI_BASE_URL to a service that has the model"

    def needs(self) -> Needs:
        """Return the variables of an OpenAI-compatible service."""
        return Needs((KEY,), (ADDRESS,))

    def endpoint(self) -> Endpoint | None:
        """The service that the variables name."""
        return Endpoint(self.environ.get(ADDRESS) or "https://api.openai.com/v1", KEY, "openai")

    def own_spelling(self, model: str) -> str | None:
        """Spell a model as its maker does; at an address of the user's own, any other goes as it is written."""
        return plain_spelling(model) if self.environ.get(ADDRESS) else maker_spelling(model, "openai")

    def agent(self, job: Job) -> Command:
        """Start it so that it asks before each action; its own default lets a model judge what is safe."""
        argv = ("qwen", "--acp", "--auth-type", "openai", "--approval-mode", "default", "-m", self.model(job))
        return Command(argv)

    def reader(self, job: Job) -> Reader:
        """Read the protocol, with the tokens that Qwen Code adds to it."""
        return QwenReader()


class QwenReader(AcpReader):
    """Each call of the model comes with its tokens, cached ones among the input."""

    def update(self, event: Any) -> None:
        """Take in an update and the tokens beside it."""
        super().update(event)
        if told := field(event, "_meta.usage"):
            self.usage = self.usage.plus(tokens(told))
