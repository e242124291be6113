"""Collect what a router learns from: the outcomes of some suites, and the results of other suites.

`hmrouter train`, a router without a file, probes and the Python of the README all go this way, so that the same store
gives the same numbers whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hmrouter.costs import priced
from hmrouter.evidence.dataset import Dataset
from hmrouter.history.families import families_of_suites, own_families
from hmrouter.history.public import HistoryTables
from hmrouter.history.records import Record, records_of
from hmrouter.types import HistorySources, Outcome, Task

if TYPE_CHECKING:
    from hmrouter.evidence.fading import HalfLife
    from hmrouter.store import OutcomeStore


@dataclass(frozen=True, slots=True)
class Workload:
    """The data that a router, or a probe, learns from."""

    data: Dataset
    records: tuple[Record, ...] = ()
    """Results of routes on other suites, without those that share tasks or a name with the data's own."""

    @classmethod
    def of_store(
        cls,
        store: OutcomeStore | None,
        *,
        suites: Collection[str] = (),
        history: HistorySources = HistorySources.ALL,
        half_life: HalfLife | str = "store",
        old_versions: float | None = None,
        tasks: Iterable[Task] = (),
        new_suites: bool = False,
        watch: Callable[[Outcome], None] | None = None,
    ) -> Workload:
        """Collect the outcomes of some suites, by default of all, and the results of the others.

        Runs without a reported cost count with their tokens at list prices. `half_life`: days after which an outcome
        counts half; by default as the store has it set for each suite. `tasks` adds ones that were never run. A suite
        that the store does not have is refused, unless `new_suites`: then it has no outcomes yet, and so it is without
        a store. `watch` is shown every outcome.
        """
        fades = stored_half_lives(store) if isinstance(half_life, str) else half_life
        outcomes = priced(_watched(_outcomes(store, suites, new_suites), watch))
        data = Dataset(outcomes, tasks=tasks, half_life=fades, old_versions=old_versions)
        return cls(data, tuple(_elsewhere(data, {*suites, *data.suites}, store, history, fades)))

    @classmethod
    def of_outcomes(cls, outcomes: Iterable[Outcome], *, history: Iterable[Record] | None = None) -> Workload:
        """Collect outcomes that are in no store, and the results of other suites in `history`.

        `history` is by default the published tables; its records of the outcomes' own suites are left out.

        >>> from hmrouter.types import Route
        >>> ran = [Outcome(Task("t", "swe-bench"), Route("gpt-5", "codex"), 1.0)]
        >>> "swe-bench" in {record.family for record in Workload.of_outcomes(ran).records}
        False
        """
        data = Dataset(priced(outcomes))
        published = HistoryTables().records() if history is None else history
        return cls(data, tuple(_others(data, set(data.suites), {}, published)))


def stored_half_lives(store: OutcomeStore | None) -> dict[str, float]:
    """Read the half-lives that are set in a store, by suite."""
    settings = {} if store is None else store.suite_settings()
    return {suite: s.half_life_days for suite, s in settings.items() if s.half_life_days is not None}


def _outcomes(store: OutcomeStore | None, suites: Collection[str], new_suites: bool) -> Iterator[Outcome]:
    if store is None:
        return
    there = store.suites() if new_suites else suites
    for suite in [s for s in suites if s in there] if suites else [None]:
        yield from store.outcomes(suite)


def _watched(outcomes: Iterator[Outcome], watch: Callable[[Outcome], None] | None) -> Iterator[Outcome]:
    for outcome in outcomes:
        if watch is not None:
            watch(outcome)
        yield outcome


def _elsewhere(
    data: Dataset, own: set[str], store: OutcomeStore | None, history: HistorySources, half_life: HalfLife
) -> list[Record]:
    """Collect the records of other suites, from the sources that `history` allows: the store, the published tables."""
    if history is HistorySources.NONE:
        return []
    published = HistoryTables().records() if history in (HistorySources.PUBLIC, HistorySources.ALL) else []
    others: dict[str, Dataset] = {}
    if store is not None and history in (HistorySources.STORE, HistorySources.ALL):
        others = {s: Dataset(priced(store.outcomes(s)), half_life=half_life) for s in store.suites() if s not in own}
    return _others(data, own, others, published)


def _others(
    data: Dataset, suites: set[str], others: Mapping[str, Dataset], published: Iterable[Record]
) -> list[Record]:
    """Keep the records of suites that share no tasks with ours and are not named like them."""
    published = list(published)
    tasks = {s: [t for t in data.tasks if t.suite == s] for s in suites} | {s: d.tasks for s, d in others.items()}
    family = families_of_suites(tasks, published)
    own = {family[s] for s in suites}
    own |= own_families([s for s in family if family[s] in own], published)
    found = [*published, *(record for other in others.values() for record in records_of(other, family))]
    return [record for record in found if record.family not in own]
