"""Refusing to run a harness unasked where the user did not allow it."""

from __future__ import annotations

from hmrouter.errors import HarnessError
from hmrouter.run.drivers.base import Driver, Job


def require_bypass(driver: Driver, job: Job) -> None:
    """Refuse a harness that always acts without asking, unless the user allowed that for the workspace."""
    if driver.only_bypassed and not job.bypass:
        raise HarnessError(
            f"the harness {driver.name} runs commands without asking, and that was not allowed in {job.cwd}",
            argument="bypass", hint="allow_bypass",
        )  # fmt: skip
