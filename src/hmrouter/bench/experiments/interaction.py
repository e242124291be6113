"""`interaction` (Table interaction, Fig. learned_representations b): what the interaction term knows.

For two models and two harnesses, does the difference between the harnesses change with the model, and was that
predicted? A contrast is measured on the test tasks of a split that all four pairs were run on. Agreement in sign counts
where the contrast is resolved: 1.96 standard errors, paired by task, from 0. Everything is compared within a split:
in averages over splits the test tasks of one are training tasks of another, and even noise agrees with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.deviations import deviations
from hmrouter.bench.experiments.base import Experiment, Figure, ReportTable, Row, RunRequest, Unit
from hmrouter.bench.experiments.common import prepared, product_of, split_of
from hmrouter.bench.experiments.interaction_report import deviation_figures, interaction_tables, main_finding
from hmrouter.bench.experiments.judged import judge
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.judge.evaluate import dense
from hmrouter.bench.methods import METHODS, REFERENCES
from hmrouter.bench.rectangles import Contrast, contrasts, correlation, rectangles, sign_agreement
from hmrouter.scorers.base import Scorer

NOTHING: dict[str, Any] = {"sign_agreement": None, "pearson": None, "contrasts": [], "deviations": []}
"""What is known of a method that predicts nothing."""


class Interaction(Experiment):
    """The component-only scorer against the full one."""

    name: ClassVar[str] = "interaction"
    title: ClassVar[str] = "What the interaction term adds"
    methods: ClassVar[Sequence[str]] = ("random", "fixed", "component_average", "component_only", "hm", "safe",
                                        "oracle")  # fmt: skip
    quick: ClassVar[Quick] = Quick(splits=None)

    def refusal(self, benchmark: Benchmark) -> str:
        """Without a rectangle there is nothing to look at."""
        data = benchmark.data()
        routes = [r for r, seen in zip(data.routes, data.observed, strict=True) if seen]
        return "" if rectangles(routes) else "no two models were run on the same two harnesses"

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, split and method."""
        return product_of(self.name, request)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Fit as in `routing`, then hold predicted contrasts and deviations against the observed ones."""
        split = split_of(benchmark, request.seed, unit.split)
        routes, observed = split.test.routes, dense(split.test)
        if unit.method in REFERENCES:
            found = contrasts(routes, observed, np.zeros(observed.shape))
            return [judge(unit, split, request).row | _counts(found) | NOTHING]
        scorer: Scorer = METHODS.load(unit.method)()
        row = judge(unit, split, request, scorer).row
        x_test = prepared(split, request)[1]
        found = contrasts(routes, observed, scorer.success(x_test, routes))
        return [
            row
            | _counts(found)
            | {
                "sign_agreement": sign_agreement(found),
                "pearson": correlation(found),
                "contrasts": [
                    [*c.rectangle.models, *c.rectangle.harnesses, c.tasks, c.observed, c.error, c.predicted]
                    for c in found
                ],
                "deviations": [
                    [d.route.model, d.route.harness, d.observed, d.predicted]
                    for d in deviations(routes, observed, scorer.score(x_test, routes))
                ],
            }
        ]

    def headline(self, rows: Sequence[Row]) -> str:
        """Sign agreement with and without the interaction term."""
        return main_finding(rows)

    def tables(self, rows: Sequence[Row]) -> list[ReportTable]:
        """The paper's table over all rectangles, and its parts per benchmark."""
        return interaction_tables(rows)

    def figures(self, rows: Sequence[Row]) -> list[Figure]:
        """Predicted against observed deviations, pair by pair."""
        return deviation_figures(rows)


def _counts(found: Sequence[Contrast]) -> dict[str, Any]:
    return {"rectangles": len(found), "resolved": sum(c.resolved for c in found)}
