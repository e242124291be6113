"""Records: how one route did on one suite, as a mean; history is a list of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from hmrouter.evidence.dataset import Dataset
from hmrouter.types import Route


@dataclass(frozen=True, slots=True)
class Record:
    """How a route did on a suite.

    >>> Record("swe-bench", Route("gpt-5", "codex"), tasks=500, mean=0.7).family
    'swe-bench'
    """

    suite: str
    route: Route
    tasks: int
    """On how many tasks it was run."""
    mean: float
    """Mean score over them."""
    cost: float | None = None
    """Mean dollars per task, None if unknown."""
    family: str = ""
    """Suites of one family share tasks; the suite's own name if none is given."""
    source: str = ""
    """Where the figures were published; "" for own outcomes."""
    date: str = ""
    """When, as YYYY-MM or YYYY-MM-DD; "" if unknown."""

    def __post_init__(self) -> None:
        if not self.family:
            object.__setattr__(self, "family", self.suite)


def records_of(data: Dataset, families: Mapping[str, str] | None = None) -> list[Record]:
    """Compute the means of each suite's routes in a data set."""
    out = []
    for suite in data.suites:
        own = data.restrict(suites=[suite])
        tasks = np.bincount(own.cells.route, minlength=len(own.routes))
        means, family = own.route_means(), (families or {}).get(suite, suite)
        known = ~np.isnan(own.cells.cost)
        n_cost = np.bincount(own.cells.route[known], minlength=len(own.routes))
        cost = np.bincount(own.cells.route[known], weights=own.cells.cost[known], minlength=len(own.routes))
        out += [
            Record(
                suite, route, int(tasks[j]), float(means[j]), float(cost[j] / n_cost[j]) if n_cost[j] else None, family
            )
            for j, route in enumerate(own.routes)
            if tasks[j]
        ]
    return out


def once_per_family(records: Iterable[Record]) -> list[Record]:
    """Keep each route once in each family, from the suite where it was run on most tasks: shared tasks count once."""
    best: dict[tuple[str, Route], Record] = {}
    for record in sorted(records, key=lambda r: (-r.tasks, r.suite)):
        best.setdefault((record.family, record.route), record)
    return sorted(best.values(), key=lambda r: (r.family, r.route))
