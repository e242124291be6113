"""The options of `hmrouter run`, and what they mean for a repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hmrouter.cli.output import DEFAULT_ROUTER
from hmrouter.decide.pool import canonical_route
from hmrouter.plan import Goal
from hmrouter.run import permission
from hmrouter.run.task_runner import RunSettings
from hmrouter.run.trees.repository import Repository
from hmrouter.store.database import parse, sqlite_file
from hmrouter.types import HistorySources


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The options of `hmrouter run`."""

    text: str
    verify: str
    verify_paths: tuple[str, ...]
    setup: str
    tasks: Path | None
    concurrency: int
    budget: float | None
    stop_after: float | None
    timeout: float
    max_turns: int | None
    attempts: int
    cost_weight: float | None
    max_cost: float | None
    effort: str | None
    incumbent: str | None
    branch: str
    in_place: bool
    sandbox: str | None
    unattended: str | None
    harness: tuple[Path, ...]
    baseline: bool
    work: Path | None
    router: str | None
    pool: Path | None
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    suite: str | None
    task_id: str | None
    family: str | None
    history: HistorySources | None
    store: str
    as_json: bool

    def repository(self) -> Repository:
        """Find the repository, and keep what the user says about acting unasked in it."""
        found = Repository.at(Path.cwd())
        if self.unattended is not None:
            permission.say(found, self.unattended)
        return found

    def settings(self, repository: Repository) -> RunSettings:
        """How attempts are made."""
        return RunSettings(
            attempts=self.attempts, goal=None if self.cost_weight is None else Goal(self.cost_weight),
            max_cost=self.max_cost, stop_after=self.stop_after, max_seconds=self.timeout, max_turns=self.max_turns,
            effort=self.effort, bypass=permission.may_act_unasked(repository), in_place=self.in_place,
            own_files=self._own_files(repository),
            incumbent=canonical_route(self.incumbent) if self.incumbent else None,
        )  # fmt: skip

    def _own_files(self, repository: Repository) -> tuple[str, ...]:
        """Files of this program that lie in the tree: its store and its router."""
        file = sqlite_file(parse(self.store))
        own = [Path(self.router or DEFAULT_ROUTER)]
        own += [] if file is None else [file, *(file.with_name(file.name + end) for end in ("-wal", "-shm"))]
        inside = [path.resolve() for path in own if path.resolve().is_relative_to(repository.root.resolve())]
        return tuple(str(path.relative_to(repository.root.resolve())) for path in inside)
