"""`unseen` (Table unseen): routing when some routes of the pool were never run.

The training outcomes of some routes are hidden, the routes stay in the pool, and everything is learned anew from what
is left. The paper hides the routes that were best on training tasks. Then every hidden route beats every visible one
by construction, and a method that prefers hidden routes looks good, whichever of them it picks: so a blind pick among
the hidden routes stands beside the others, and everything is repeated with routes hidden at random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.path import fit, product_of, row, split_of
from hmrouter.bench.experiments.unseen import report as unseen_report
from hmrouter.bench.experiments.unseen.hiding import OBSERVED, SETTINGS, hidden_split
from hmrouter.bench.judge.choices import blind_among, share_of, shares_of
from hmrouter.bench.judge.predict import Predictions
from hmrouter.evidence.dataset import Split


class Unseen(Experiment):
    """Measures who finds good routes among those that were never run."""

    name: ClassVar[str] = "unseen"
    title: ClassVar[str] = "Routing with unobserved combinations"
    report: ClassVar[Report] = unseen_report
    methods: ClassVar[Sequence[str]] = (
        "random", "fixed", "component_average", "hm", "hm_observed", "safe_alone", "safe", "blind", "oracle"
    )  # fmt: skip
    own_methods: ClassVar[Mapping[str, str]] = {"hm_observed": "hm", "blind": "random"}

    def refusal(self, benchmark: Benchmark) -> str:
        """Two routes leave no choice once one of them is hidden."""
        return "" if len(benchmark.data().routes) > 2 else "fewer than three routes"

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, setting, split and method."""
        return product_of(self.name, request, SETTINGS)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Hide, fit, choose."""
        split = split_of(benchmark, request.seed, unit.split)
        shown = hidden_split(split, unit.setting, request.seed)
        found = _fit_once(self.behind(unit.method), split, shown, request, self.told_by(unit, request))
        hidden = ~shown.train.observed
        if unit.method == "blind":
            shares = blind_among(shown.test, hidden)
        else:
            shares = shares_of(unit.method, shown, found, ~hidden if unit.method in OBSERVED else None)
        return [
            row(unit, shown, shares, found, n_routes=len(shown.train.routes), n_hidden=int(hidden.sum()),
                hidden_picked=share_of(hidden, shares))
        ]  # fmt: skip


@lru_cache(maxsize=2)
def _fit_once(
    method: str, split: Split, shown: Split, request: RunRequest, sources: tuple[Benchmark, ...]
) -> Predictions | None:
    """Fit once for `hm` and `hm_observed`, which follow each other."""
    return fit(method, split, request, sources, shown.train)
