"""`interaction` (Table interaction, Fig. learned_representations b): does the interaction term predict interactions?

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
from hmrouter.bench.benchmarks.rectangles import rectangles
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.interaction import report as interaction_report
from hmrouter.bench.experiments.interaction.contrasts import Contrast, contrasts, correlation, sign_agreement
from hmrouter.bench.experiments.interaction.deviations import deviations
from hmrouter.bench.experiments.path import embedded, fit, product_of, row, split_of
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.judge.choices import dense, shares_of

NOTHING: dict[str, Any] = {"sign_agreement": None, "pearson": None, "contrasts": [], "deviations": []}
"""The keys of a method that predicts nothing."""


class Interaction(Experiment):
    """Compares the component-only scorer with the full one."""

    name: ClassVar[str] = "interaction"
    title: ClassVar[str] = "What the interaction term adds"
    report: ClassVar[Report] = interaction_report
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
        found = fit(unit.method, split, request, self.told_by(unit, request))
        judged = row(unit, split, shares_of(unit.method, split, found), found)
        if found is None:
            return [judged | _counts(contrasts(routes, observed, np.zeros(observed.shape))) | NOTHING]
        measured = contrasts(routes, observed, found.success)
        logits = found.scorer.score(embedded(split, request)[1], routes)
        return [
            judged
            | _counts(measured)
            | {
                "sign_agreement": sign_agreement(measured),
                "pearson": correlation(measured),
                "contrasts": [
                    [*c.rectangle.models, *c.rectangle.harnesses, c.tasks, c.observed, c.error, c.predicted]
                    for c in measured
                ],
                "deviations": [
                    [d.route.model, d.route.harness, d.observed, d.predicted]
                    for d in deviations(routes, observed, logits)
                ],
            }
        ]


def _counts(found: Sequence[Contrast]) -> dict[str, Any]:
    return {"rectangles": len(found), "resolved": sum(c.resolved for c in found)}
