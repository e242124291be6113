"""The contract of a driver: what it knows about one harness, and a reader of what that prints.

A driver never starts a process. It says which command to run and reads what that prints; `hmrouter.run.attempt` does
the rest, so every harness has the same time limit, the same output folder and the same end.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from hmrouter.errors import HarnessError
from hmrouter.names import canonical_model
from hmrouter.run.drivers.spelling import split_effort
from hmrouter.run.drivers.values import (
    Command,
    CostBasis,
    Ended,
    Endpoint,
    HarnessResult,
    Installed,
    Job,
    Needs,
    Usage,
)
from hmrouter.run.drivers.versions import version_of, which

__all__ = [
    "Command",
    "CostBasis",
    "Driver",
    "Ended",
    "Endpoint",
    "HarnessResult",
    "Installed",
    "Job",
    "Needs",
    "Reader",
    "Usage",
]


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

    def own_service(self, address: str, key: str) -> Endpoint | None:
        """The OpenAI-compatible service whose address a variable holds, where it holds one."""
        url = self.environ.get(address)
        return Endpoint(url, key, "openai") if url else None

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
