"""One harness on one prompt: from the command to what it used and how it ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from hmrouter.errors import HarnessError
from hmrouter.run.drivers.base import Driver, Ended, HarnessResult, Job, Reader, Usage
from hmrouter.run.process import Exit, How, Limits, Listener, supervise
from hmrouter.run.secrets import environment_for, masker

LONGEST_ERROR = 300
"""Characters of an error that are kept; it is one line for people."""

Watch = Callable[[Usage, float], None]
"""Told usage and seconds so far, several times a second."""


def run_harness(
    driver: Driver, job: Job, watch: Watch | None = None, stop: threading.Event | None = None, grace: float = 5.0
) -> HarnessResult:
    """Run a job to its end and say what came of it; no process of it is left when this returns or raises.

    `stop` ends it early (as cancelled). `grace`: seconds between SIGTERM and SIGKILL. Limits of dollars and turns mean
    "stop after", by what the harness has told so far.
    """
    here = driver.installed()
    if here is None:
        raise HarnessError(
            f"the harness {driver.name} is not installed here, or does not start",
            hint="install_harness" if driver.install else "", command=driver.install,
        )  # fmt: skip
    command = driver.command(job)
    env = environment_for(driver.needs(), driver.environ, {**job.env, **command.env})
    mask = masker(driver.environ, env)
    reader = driver.reader(job)

    def enough(seconds: float) -> bool:
        usage = priced(reader.usage, job.route.model)
        if watch is not None:
            watch(usage, seconds)
        return over_cap(usage, job)

    listener = Listener(reader.line, reader.error_line, lambda: reader.ended is not None, enough)
    end = supervise(
        (*job.sandbox, *command.argv), cwd=job.cwd, env=env, output=job.output,
        limits=Limits(job.max_seconds, grace=grace), listener=listener, mask=mask, stop=stop,
    )  # fmt: skip
    reader.close(end.code)
    ended, error = conclusion(end, reader)
    if not end.clean:
        error = f"{error or ended.value}; a process of it could not be ended"
    usage = priced(reader.usage, job.route.model)
    if watch is not None:
        watch(usage, end.seconds)
    said = " ".join(mask(error).split())[:LONGEST_ERROR]
    return HarnessResult(ended, usage, end.seconds, said, here.version, driver.transport, end.code)


def priced(usage: Usage, model: str) -> Usage:
    """Fill in dollars at list prices where the harness tells tokens only.

    >>> priced(Usage(input_tokens=200_000, output_tokens=10_000), "gpt-5").dollars
    0.35
    """
    if usage.dollars is not None or not usage.input_tokens:
        return usage
    from hmrouter.names.prices import token_cost

    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    dollars = token_cost(model, usage.input_tokens, cached, usage.output_tokens or 0)
    return usage if dollars is None else replace(usage, dollars=dollars, cost_basis="list")


def over_cap(usage: Usage, job: Job) -> bool:
    """Whether a job has used up its dollars or turns."""
    dear = job.max_dollars is not None and (usage.dollars or 0.0) >= job.max_dollars
    return dear or (job.max_turns is not None and (usage.turns or 0) > job.max_turns)


def conclusion(end: Exit, reader: Reader) -> tuple[Ended, str]:
    """How a harness ended, and the error: by what it said, and only where it said nothing by how its process ended."""
    if end.how is How.STOPPED:
        return Ended.CANCELLED, "cancelled"
    if end.how is How.TIMEOUT:
        if reader.error and not reader.usage.anything:  # it kept asking a service that kept failing
            return Ended.API_ERROR, reader.error
        return Ended.TIMEOUT, f"no end after {end.seconds:.0f} seconds"
    if end.how is How.ENOUGH:
        return Ended.CAP, "the limit of dollars or turns was reached"
    if reader.ended is None:
        said = f": {reader.error}" if reader.error else ""
        return Ended.CRASHED, f"it ended with exit code {end.code} and did not say that it was done{said}"
    return reader.ended, "" if reader.ended is Ended.FINISHED else reader.error or reader.ended.value
