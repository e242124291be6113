"""The contract of a driver: what it knows about one harness, and the values that it speaks in.

A driver never starts a process. It says which command to run and reads what that prints; `hmrouter.run.attempt` does
the rest, so every harness has the same time limit, the same output folder and the same end.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from hmrouter.errors import HarnessError
from hmrouter.names import canonical_model
from hmrouter.run.drivers.json_fields import total
from hmrouter.run.drivers.spelling import split_effort
from hmrouter.run.drivers.versions import version_of, which
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


class Reader(ABC):
    """Reads what a harness prints, line by line, from structured fields only."""

    def __init__(self) -> None:
        self.usage = Usage()
        """What was used so far."""
        self.ended: Ended | None = None
        """How the harness says that it ended; None while it has not said so."""
        self.error = ""
        """What the harness says went wrong."""

    @abstractmethod
    def line(self, text: str) -> None:
        """Take in one line of standard output."""

    def error_line(self, text: str) -> None:  # noqa: B027  # most harnesses say nothing structured there
        """Take in one line of standard error."""

    def close(self, exit_code: int | None) -> None:  # noqa: B027  # most harnesses leave nothing else to read
        """Take in what the harness left in files; called once, when no process is left.

        The exit code is for harnesses that have no terminal event; where there is one, it is not looked at.
        """


class Driver(ABC):
    """Knows one harness: its command, its names of models, its output."""

    name: str
    """The canonical name of the harness."""
    program: str
    """The command to look for on the path."""
    transport: str = "cli"
    install: str = ""
    """The command that installs it."""
    get_key: str = ""
    """How to get a key or sign in, in one line."""
    efforts: tuple[str, ...] = ()
    """The efforts that it can be asked for, least first; empty where it has none."""
    in_front: str = ""
    """What stands in front of a name that its service lists."""
    only_bypassed: bool = False
    """Whether it cannot work in a folder without acting unasked."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """`environ`: where keys, addresses and the path are looked up; this process's environment by default."""
        self.environ: Mapping[str, str] = os.environ if environ is None else environ
        self.spellings: dict[str, str] = {}
        """Canonical model name -> the harness's own, where its service was asked; comes before `own_spelling`."""

    def installed(self) -> Installed | None:
        """Find the harness on the path, with its version; None where it is not there or does not start."""
        path = which(self.program, self.environ)
        version = version_of(path, self.environ) if path else None
        return Installed(path, version) if path and version is not None else None

    def spelling(self, model: str) -> str | None:
        """Spell a canonical model name as this harness wants it; None where it cannot run that model.

        An effort at the end of the name (`gpt-5-high`) goes a way of its own, see `effort`.
        """
        name, effort = split_effort(model)
        if effort is not None and effort not in self.efforts:
            return None
        return self.spellings.get(name) or self.own_spelling(name)

    def learn(self, ids: Iterable[str]) -> None:
        """Learn the spellings of models from the list of the service that `endpoint` names."""
        for name in sorted(ids, key=len, reverse=True):  # of two spellings of one model the shorter is the plain one
            self.spellings[canonical_model(name)] = f"{self.in_front}{name}"

    def effort(self, job: Job) -> str | None:
        """The effort that a job asks for, by itself or in the name of its model; refused where there is none such."""
        wanted = job.effort or split_effort(job.route.model)[1]
        if wanted is not None and wanted not in self.efforts:
            raise HarnessError(
                f"the harness {self.name} has no effort {wanted!r}; it has {', '.join(self.efforts) or 'none'}",
                argument="effort", value=wanted, valid=self.efforts,
            )  # fmt: skip
        return wanted

    def model(self, job: Job) -> str:
        """The model of a job as this harness spells it; refused where it cannot run it, or not with that effort."""
        self.effort(job)
        spelled = self.spelling(job.route.model)
        if spelled is None:
            raise HarnessError(f"the harness {self.name} does not run the model {job.route.model!r}")
        return spelled

    def setting(self, job: Job, name: str) -> str:
        """The value of a variable as the harness will see it, "" where it has none."""
        return job.env.get(name) or self.environ.get(name, "")

    def endpoint(self) -> Endpoint | None:
        """Where the models of this harness can be listed; None where nobody tells."""
        return None

    @abstractmethod
    def own_spelling(self, model: str) -> str | None:
        """Spell a canonical model name without an effort by the harness's own rules."""

    @abstractmethod
    def needs(self) -> Needs:
        """Name the keys and variables that the harness works with."""

    @abstractmethod
    def command(self, job: Job) -> Command:
        """Say what to start for a job."""

    @abstractmethod
    def reader(self, job: Job) -> Reader:
        """Make a reader of what that command prints."""
