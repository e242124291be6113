"""Gather the inputs of `hmrouter probe`: a suite's outcomes, its tasks, the pool, and results of other suites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hmrouter.cli.asking import asked_pool
from hmrouter.cli.history import opened_store
from hmrouter.cli.words import counted
from hmrouter.errors import InputError, NoRoute, UsageError
from hmrouter.types import DEFAULT_SUITE, HistorySources, Outcome, Route, Status, Task

if TYPE_CHECKING:
    from hmrouter.probe import Prober
    from hmrouter.probe.orders import CellKey
    from hmrouter.store import OutcomeStore


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """The options of `hmrouter probe` that select its inputs."""

    store: str
    suite: str | None
    history: HistorySources
    pool: Path | None
    allow: Sequence[str]
    deny: Sequence[str]
    max_cost: float | None
    tasks: Path | None
    pair: str | None
    new_model: str | None
    new_harness: str | None

    @property
    def certain_pairs(self) -> bool:
        """Whether certain pairs are asked about."""
        return any((self.pair, self.new_model, self.new_harness))


@dataclass(frozen=True, slots=True)
class ProbeInputs:
    """The inputs of `hmrouter probe`, ready to ask."""

    suite: str
    prober: Prober
    pairs: tuple[Route, ...]
    """The pairs that are asked about; empty where the whole pool is."""
    done: Collection[CellKey]
    failures: Mapping[CellKey, int]
    """How many outcomes without a score there are of each cell."""
    folders: dict[str, Path] | None
    basis: str
    """A line that says how many runs and results the answer rests on."""
    notes: tuple[str, ...]


def gather(asked: ProbeOptions) -> ProbeInputs:
    """Read the store, the tasks and the tables of results, and make a prober of them."""
    from hmrouter.costs import RouteCosts
    from hmrouter.decide.pool import select
    from hmrouter.history.public import Background, believe
    from hmrouter.probe import Prober
    from hmrouter.probe.handover import task_folders
    from hmrouter.workload import Workload

    folders = task_folders(asked.tasks) if asked.tasks is not None and asked.tasks.is_dir() else None
    failures: Counter[CellKey] = Counter()
    with opened_store(asked.store) as kept:
        suite = _suite(asked.suite, kept, asked.tasks is not None)
        more = [Task(name, suite) for name in (folders if folders is not None else _names(asked.tasks))]
        workload = Workload.of_store(
            kept, suites=[suite], history=asked.history, tasks=more, new_suites=True, watch=partial(_count, failures)
        )
    data, records = workload.data, workload.records
    base = asked_pool(asked.pool) or data.routes or _general(r.route for r in records)
    new = _asked_pairs(asked, base)
    pool = select(tuple(dict.fromkeys((*base, *new))), asked.allow, asked.deny)
    pairs = tuple(r for r in pool if r in new)
    if new and not pairs:
        raise NoRoute(f"--allow and --deny leave none of the pairs that are asked about: {', '.join(map(str, new))}")
    belief = believe(records)
    elsewhere = RouteCosts()
    for record in records if belief is None else belief.records:
        if record.cost is not None:
            elsewhere.add(record.route, record.cost)
    prober = Prober(data, pool, belief, elsewhere, asked.max_cost)
    cells = zip(data.cells.task.tolist(), data.cells.route.tolist(), strict=True)
    done = {(*data.tasks[t].key, data.routes[r]) for t, r in cells}
    own = int(data.cells.trials.sum())
    basis = f"{counted(own, 'own run')} only" if belief is None else str(Background.of(belief.records, own))
    notes = []
    if never := [str(r) for r in pairs if asked.pair is not None and r not in data.routes]:
        notes.append(f"{', '.join(never)} was never run here; of other pairs and suites follows what is expected of it")
    if not len(data.cells):
        notes.append(f"there is no outcome of suite {suite!r} yet")
    return ProbeInputs(suite, prober, pairs, done, failures, folders, basis, tuple(notes))


def _general(routes: Iterable[Route]) -> tuple[Route, ...]:
    """Return the routes whose harness can be given any task."""
    from hmrouter.features.descriptions import HarnessDescriptions

    known = HarnessDescriptions()
    return tuple(sorted({r for r in routes if known.general(r.harness)}))


def _suite(asked: str | None, kept: OutcomeStore | None, tasks_given: bool) -> str:
    """Return the suite that is meant; tasks of a suite without outcomes have to be named."""
    there = {} if kept is None else kept.suites()
    if asked is None and len(there) > 1:
        raise UsageError(f"the store has {len(there)} suites; choose one with --suite: {', '.join(sorted(there))}")
    suite = asked if asked is not None else next(iter(there), DEFAULT_SUITE)
    if suite not in there and not tasks_given:
        known = f" (there are: {', '.join(sorted(there))})" if there else ""
        raise InputError(
            f"there is no outcome of suite {suite!r}{known}; import some with: hmrouter import PATH, or name its tasks "
            "with --tasks"
        )
    return suite


def _count(failures: Counter[CellKey], outcome: Outcome) -> None:
    """Count an outcome without a score."""
    if outcome.status is not Status.OK:
        failures[(*outcome.task.key, outcome.route)] += 1


def _names(file: Path | None) -> list[str]:
    """Read a file with one task id per line."""
    if file is None:
        return []
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as e:
        reason = getattr(e, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"cannot read the tasks in {file}: {reason}; give a folder of tasks, or a file of ids") from e
    names = [name for line in lines if (name := line.strip())]
    if not names:
        raise InputError(f"there is no task in {file}; write one id per line, or name a folder of Harbor tasks")
    return names


def _asked_pairs(asked: ProbeOptions, base: Sequence[Route]) -> tuple[Route, ...]:
    """Return the pairs that are asked about.

    One by name, those of a new model with the pool's harnesses, of a new harness with the pool's models. Names are
    taken as written where the pool has them so, else in their canonical form.
    """
    from hmrouter.decide.pool import canonical_route
    from hmrouter.names import canonical_harness, canonical_model

    out: list[Route] = []
    if asked.pair is not None:
        written = Route.parse(asked.pair)
        out.append(written if written in base else canonical_route(asked.pair))
    models, harnesses = sorted({r.model for r in base}), sorted({r.harness for r in base})
    if asked.new_model is not None:
        models = [asked.new_model if asked.new_model in models else canonical_model(asked.new_model)]
    if asked.new_harness is not None:
        harnesses = [asked.new_harness if asked.new_harness in harnesses else canonical_harness(asked.new_harness)]
    if asked.new_model is not None or asked.new_harness is not None:
        out += [Route(model, harness) for model in models for harness in harnesses]
        if not out:
            raise UsageError("there is no pair to make of it: the pool is empty; name one with --pair or --pool")
    return tuple(dict.fromkeys(out))
