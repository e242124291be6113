"""The values that drivers speak in: a job, what it used, how it ended, and what a harness needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from hmrouter.run.drivers.json_fields import total
from hmrouter.types import Route, Status

CostBasis = Literal["billed", "list", "none"]
"""`billed`: somebody charged this. `list`: tokens at list prices, also on a subscription. `none`: nothing is known."""


@dataclass(frozen=True, slots=True)
class Job:
    """One prompt for one route in one folder, with its limits."""

    route: Route
    prompt: str
    cwd: Path
    output: Path
    """A folder of its own for what the harness prints and leaves; made when it is not there."""
    max_seconds: float
    max_dollars: float | None = None
    """Stop after this many dollars: the call that goes over it is paid for."""
    max_turns: int | None = None
    effort: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment for the harness, on top of what `hmrouter.run.secrets.environment_for` passes on."""
    bypass: bool = False
    """Whether the harness may act without asking; only where the user said so for this workspace."""
    sandbox: tuple[str, ...] = ()
    """A command that the harness's own command is appended to."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an attempt has used so far; None where the harness does not tell."""

    dollars: float | None = None
    cost_basis: CostBasis = "none"
    input_tokens: int | None = None
    """Prompt tokens, cached ones included."""
    cached_tokens: int | None = None
    """Those of them that were read from a cache."""
    output_tokens: int | None = None
    turns: int | None = None
    """Answers of the model."""

    @property
    def anything(self) -> bool:
        """Whether a model answered at least once."""
        return bool(self.output_tokens or self.dollars or self.turns)

    def plus(self, other: Usage) -> Usage:
        """Add what another call used.

        >>> Usage(input_tokens=10, turns=1).plus(Usage(input_tokens=5, output_tokens=2, turns=1))
        Usage(dollars=None, cost_basis='none', input_tokens=15, cached_tokens=None, output_tokens=2, turns=2)
        """
        dollars = [usage.dollars for usage in (self, other) if usage.dollars is not None]
        return Usage(
            sum(dollars) if dollars else None,
            self.cost_basis if other.cost_basis == "none" else other.cost_basis,
            total(self.input_tokens, other.input_tokens),
            total(self.cached_tokens, other.cached_tokens),
            total(self.output_tokens, other.output_tokens),
            total(self.turns, other.turns),
        )


class Ended(StrEnum):
    """Why a harness stopped."""

    FINISHED = "finished"
    """It came to its own end; whether the task is done is the verifier's to say."""
    API_ERROR = "api_error"
    """The model's service refused or failed, whatever the exit code says."""
    TIMEOUT = "timeout"
    CAP = "cap"
    """It reached the limit of dollars or turns."""
    CANCELLED = "cancelled"
    CRASHED = "crashed"
    """It stopped without saying that it was done."""


@dataclass(frozen=True, slots=True)
class HarnessResult:
    """What came of a job."""

    ended: Ended
    usage: Usage
    seconds: float
    error: str = ""
    """One line, with keys masked; empty where nothing went wrong."""
    version: str = ""
    """The harness's version."""
    transport: str = ""
    """How it was driven (`cli` or `acp`): the same task costs differently over each."""
    exit_code: int | None = None
    """For the record; nothing is concluded from it where the harness has a structured field."""

    @property
    def status(self) -> Status:
        """Whether a verifier's score of this attempt counts for the route.

        >>> HarnessResult(Ended.API_ERROR, Usage(), 1.0, exit_code=0).status
        <Status.INFRA_ERROR: 'infra_error'>
        >>> HarnessResult(Ended.CRASHED, Usage(turns=7), 60.0).status  # it worked, then broke: its own failure
        <Status.OK: 'ok'>
        """
        if self.ended is Ended.API_ERROR or (self.ended is Ended.CRASHED and not self.usage.anything):
            return Status.INFRA_ERROR
        return Status.UNKNOWN if self.ended is Ended.CANCELLED else Status.OK


@dataclass(frozen=True, slots=True)
class Installed:
    """Where a harness is, and which version."""

    path: Path
    version: str


@dataclass(frozen=True, slots=True)
class Needs:
    """What opens a harness: one of the keys, or a sign-in of its own; and what else it listens to."""

    keys: tuple[str, ...]
    """Variables that hold a key; any one of them is enough."""
    settings: tuple[str, ...] = ()
    """Further variables that are passed on to it: addresses, regions, folders."""
    sign_in: tuple[Path, ...] = ()
    """Files that its own sign-in leaves behind. Only whether they exist is ever looked at."""

    def met(self, environ: Mapping[str, str]) -> bool:
        """Whether the harness can reach its models, as far as can be seen without asking them."""
        return not self.keys or any(environ.get(key) for key in self.keys) or any(p.exists() for p in self.sign_in)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service that lists its models."""

    url: str
    """Its base address, with `/v1`."""
    key: str
    """The variable that holds its key."""
    style: Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Command:
    """What to start: the arguments, and environment on top of the job's."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
