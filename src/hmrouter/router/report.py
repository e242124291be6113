"""Report the data that a router was fitted on: counts, suites, ignored outcomes, results of other suites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from hmrouter.evidence.dataset import Dataset
from hmrouter.history.public import Background
from hmrouter.history.records import Record


@dataclass(frozen=True, slots=True)
class FitReport:
    """Counts of the data that a router was fitted on."""

    outcomes: int
    """Executions behind the cells."""
    cells: int
    tasks: int
    routes: int
    observed_routes: int
    models: int
    harnesses: int
    suites: tuple[str, ...]
    ignored: dict[str, int]
    """Outcomes that say nothing about their route, by status."""
    history: Background | None = None
    """The results of other suites that were used; None if there were none."""
    half_life: dict[str, float] = field(default_factory=dict)
    """Days after which a suite's outcomes count half, for suites where they fade."""

    @classmethod
    def of(cls, data: Dataset, heard: Sequence[Record]) -> Self:
        """Count a data set, and the records `heard` of other suites that the fit used."""
        outcomes = int(data.cells.trials.sum())
        return cls(
            outcomes=outcomes, cells=len(data.cells), tasks=len(data.tasks), routes=len(data.routes),
            observed_routes=int(data.observed.sum()), models=len(data.models), harnesses=len(data.harnesses),
            suites=data.suites, ignored={str(status): n for status, n in data.ignored.items()},
            history=Background.of(heard, outcomes) if heard else None,
            half_life=dict(data.half_life),
        )  # fmt: skip

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Self:
        """Restore a report from what `dataclasses.asdict` made of it."""
        history = Background.from_dict(kept["history"]) if kept.get("history") else None
        return cls(**{**kept, "suites": tuple(kept["suites"]), "history": history})
