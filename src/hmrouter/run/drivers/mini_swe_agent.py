"""mini-SWE-agent: `mini`, which leaves a trajectory file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hmrouter.run.drivers.base import Command, Driver, Ended, Job, Needs, Reader, Usage
from hmrouter.run.drivers.json_fields import amount, count, field, text, total
from hmrouter.run.drivers.litellm import ADDRESS, KEYS, litellm_spelling
from hmrouter.run.drivers.permission import require_bypass

TRAJECTORY = "trajectory.json"
TRIES = "3"
"""Calls before it gives up on a service; its own number waits for minutes."""

_RETRY = re.compile(r"^Retrying .* as it raised (.+)$")


class MiniSweAgent(Driver):
    """mini-SWE-agent. Each of its actions is a shell command, so it runs only with the user's word."""

    name = "mini-swe-agent"
    program = "mini"
    install = "pip install mini-swe-agent"
    get_key = "set the key of a provider, such as ANTHROPIC_API_KEY or OPENAI_API_KEY"
    only_bypassed = True

    def needs(self) -> Needs:
        """Return the keys of the providers that LiteLLM knows."""
        return Needs(KEYS, (ADDRESS, "MSWEA_GLOBAL_CONFIG_DIR"))

    def own_spelling(self, model: str) -> str | None:
        """Spell a model as LiteLLM does."""
        return litellm_spelling(model, self.environ)

    def command(self, job: Job) -> Command:
        """Run one task; models without a price in its list are run all the same."""
        require_bypass(self, job)
        argv = ["mini", "-m", self.model(job), "-y", "--exit-immediately", "-o", str(job.output / TRAJECTORY)]
        argv += ["-l", str(job.max_dollars or 0)]
        env = {"MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1", "MSWEA_COST_TRACKING": "ignore_errors"}
        env["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] = self.setting(job, "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT") or TRIES
        if job.max_turns is not None:
            env["MSWEA_GLOBAL_CALL_LIMIT"] = str(job.max_turns)
        return Command((*argv, f"--task={job.prompt}"), env)

    def reader(self, job: Job) -> Reader:
        """Read the trajectory."""
        return MiniReader(job.output / TRAJECTORY)


class MiniReader(Reader):
    """Reads the trajectory when it is over; what it prints is for people."""

    def __init__(self, trajectory: Path) -> None:
        super().__init__()
        self._trajectory = trajectory

    def line(self, text_line: str) -> None:
        """Leave it: nothing there is structured."""

    def error_line(self, text_line: str) -> None:
        """Remember a call that failed and is tried again, which nothing else tells."""
        if found := _RETRY.search(text_line):
            self.error = found[1]

    def close(self, exit_code: int | None) -> None:
        """Read how it ended, and the usage of each call."""
        try:
            left = json.loads(self._trajectory.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # it ended before its first answer
            return
        self.usage = _usage(left)
        status = text(left, "info.exit_status")
        if status == "Submitted":
            self.ended = Ended.FINISHED
        elif status == "LimitsExceeded":
            self.ended, self.error = Ended.CAP, status
        elif status:
            self.ended, self.error = Ended.API_ERROR, text(left, "messages.-1.extra.exception_str") or status


def _usage(left: Any) -> Usage:
    calls = [field(message, "extra.response.usage") for message in field(left, "messages") or []]
    dollars = amount(left, "info.model_stats.instance_cost") or None
    return Usage(
        dollars, "list" if dollars else "none",
        total(*(count(call, "prompt_tokens") for call in calls)),
        total(*(count(call, "prompt_tokens_details.cached_tokens") for call in calls)),
        total(*(count(call, "completion_tokens") for call in calls)),
        count(left, "info.model_stats.api_calls"),
    )  # fmt: skip
