"""Kimi Code, over the Agent Client Protocol."""

from __future__ import annotations

from pathlib import Path

from hmrouter.run.drivers.acp import AcpDriver
from hmrouter.run.drivers.base import Command, Endpoint, Job, Needs
from hmrouter.run.drivers.spelling import maker_spelling, plain_spelling

ADDRESS = "KIMI_MODEL_BASE_URL"
KEY = "KIMI_MODEL_API_KEY"
CONTEXT = "KIMI_MODEL_MAX_CONTEXT_SIZE"
LEAST_CONTEXT = "128000"
"""Tokens, where the user says nothing of a model that Kimi Code does not know."""


class Kimi(AcpDriver):
    """Moonshot's Kimi Code. It tells neither tokens nor dollars, and ends a turn without a word after an API error."""

    name = "kimi-cli"
    program = "kimi"
    install = "npm install -g @moonshot-ai/kimi-code (with Node 22 or newer)"
    get_key = "run: kimi login; or set KIMI_MODEL_API_KEY, KIMI_MODEL_BASE_URL and KIMI_MODEL_PROVIDER_TYPE"

    def needs(self) -> Needs:
        """Return the variables of a model of the user's own."""
        home = Path(self.environ.get("HOME", "~"), ".kimi-code")
        return Needs((KEY,), (ADDRESS, "KIMI_MODEL_PROVIDER_TYPE", CONTEXT), (home / "credentials",))

    def endpoint(self) -> Endpoint | None:
        """List the user's own service."""
        return self.own_service(ADDRESS, KEY)

    def own_spelling(self, model: str) -> str | None:
        """Spell a Kimi as Moonshot does; at an address of the user's own, any model goes."""
        return plain_spelling(model) if self.environ.get(ADDRESS) else maker_spelling(model, "moonshotai")

    def agent(self, job: Job) -> Command:
        """Start it with the job's model, which it takes from its environment."""
        model = self.model(job)
        if not self.setting(job, ADDRESS):
            return Command(("kimi", "-m", model, "acp"))
        env = {"KIMI_MODEL_NAME": model, CONTEXT: self.setting(job, CONTEXT) or LEAST_CONTEXT}
        env["KIMI_MODEL_PROVIDER_TYPE"] = self.setting(job, "KIMI_MODEL_PROVIDER_TYPE") or "openai"
        return Command(("kimi", "acp"), env)
