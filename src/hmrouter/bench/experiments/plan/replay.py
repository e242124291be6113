"""Makes plans for test tasks, says what they promise, and replays them on the outcomes.

Outcomes are replayed: an attempt ends as the run of that route on that task did, and costs what it cost. Attempts are
made among the routes that were run on the task (decision 4), a route at most as often as it was run there; of several
runs each is as likely to be the next. A wrong check is counted in expectation. What passes is delivered with its score
and ends the plan; an attempt that does not pass delivers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hmrouter.bench.judge.choices import dense, tie_order
from hmrouter.bench.judge.predict import ask
from hmrouter.evidence.dataset import Dataset
from hmrouter.plan.difficulty import Difficulty, Scenarios, passed, passing
from hmrouter.plan.goal import Goal
from hmrouter.plan.steps import Steps
from hmrouter.plan.verifier import VerifierErrors
from hmrouter.scorers.base import Scorer, Training
from hmrouter.state import Bools, Floats, Ints

ATTEMPTS = 3
Sequences = list[tuple[int, ...]]
"""Per judged task, routes by their place in the pool."""


class Sums(NamedTuple):
    """Totals over tasks; those of the folds of a cross-validation add up."""

    tasks: int
    accuracy: float
    cost: float
    attempts: float


@dataclass(frozen=True)
class Outlook:
    """Predictions for test tasks, learned on training tasks, beside the outcomes there."""

    test: Dataset
    success: Floats
    """Predicted, (tasks, routes)."""
    merit: Floats
    dollars: Floats
    """Expected, (routes,)."""
    difficulty: Difficulty
    order: tuple[int, ...]
    """The routes from cheapest to dearest: who wins a tie."""
    worth: float
    """Mean score of what passes: 1 but for soft scores."""

    @classmethod
    def learn(cls, scorer: Scorer, training: Training, x_test: Floats, test: Dataset, dollars: Floats) -> Outlook:
        """Fit on the training side; `dollars` are those of the routes."""
        train = training.data
        found = ask(scorer.fit(training), x_test, test.routes)
        share = passed(train.cells)
        # Of several runs those that pass count as 1, as their mean is the share of them.
        scored = np.where(train.cells.trials > 1, share, share * train.cells.score)
        return cls(
            test, found.success, found.merit, dollars, Difficulty.fit(train),
            tuple(tie_order(train).tolist()), float(scored.sum() / max(share.sum(), 1e-12)),
        )  # fmt: skip

    @cached_property
    def available(self) -> Bools:
        """Whether a route was run on a task, (tasks, routes)."""
        return ~np.isnan(dense(self.test))

    @cached_property
    def judged(self) -> list[int]:
        """The tasks on which any route was run."""
        return np.flatnonzero(self.available.any(axis=1)).tolist()

    @cached_property
    def _scenarios(self) -> Scenarios:
        """What may come of a task; of the routes, the best ones first."""
        best = np.argsort(-self.merit.mean(axis=0), kind="stable")
        back = np.argsort(best, kind="stable")
        return self.difficulty.scenarios([self.test.routes[j] for j in best.tolist()]).of(back.tolist())

    @cached_property
    def _success(self) -> Floats:
        """Success in each scenario, (tasks, routes, scenarios)."""
        return self._scenarios.success(self.merit, within=1e-9)

    @cached_property
    def _trials(self) -> Floats:
        return np.nan_to_num(dense(self.test, "trials"))

    @cached_property
    def _passed(self) -> Floats:
        """Share of the runs that passed, (tasks, routes)."""
        out = np.zeros(self.available.shape)
        out[self.test.cells.task, self.test.cells.route] = passed(self.test.cells)
        return out

    def sequences(self, method: str, cost_weights: Sequence[float], verifier: VerifierErrors) -> dict[float, Sequences]:
        """Plan a method's attempts on each judged task, for each weight of cost."""
        out: dict[float, Sequences] = {weight: [] for weight in cost_weights}
        for i in self.judged:
            routes = np.array([j for j in self.order if self.available[i, j]])
            p, dollars = passing(self.merit[i, routes], self.difficulty.lift), self.dollars[routes]
            steps = self._steps(method, i, routes, verifier)
            for weight in cost_weights:
                if method == "plan_by_ratio":
                    found = _by_ratio(p, dollars, weight)
                else:
                    found = list(Goal(weight).serve(steps, ATTEMPTS).routes)
                out[weight].append(tuple(routes[found].tolist()))
        return out

    def promised(self, method: str, sequences: Sequences, verifier: VerifierErrors) -> Sums:
        """Sum what a method expects of its sequences."""
        success = cost = attempts = 0.0
        for i, sequence in zip(self.judged, sequences, strict=True):
            own = np.array(sorted(set(sequence)))
            steps = self._steps(method, i, own, verifier)
            prefixes = steps.prefixes(np.searchsorted(own, sequence).tolist())
            success += self.worth * prefixes[-1].success
            cost += prefixes[-1].cost
            attempts += sum(p.reached for p in prefixes)
        return Sums(len(sequences), success, cost, attempts)

    def replayed(self, sequences: Sequences, verifier: VerifierErrors) -> Sums:
        """Sum what the sequences came to when they are replayed."""
        score, dollars = dense(self.test), np.nan_to_num(dense(self.test, "cost"))
        accuracy = cost = attempts = 0.0
        for i, sequence in zip(self.judged, sequences, strict=True):
            reach = 1.0
            for place, j in enumerate(sequence):
                p = _next_passes(self._passed[i, j], self._trials[i, j], sequence[:place].count(j))
                worth = score[i, j] if self._trials[i, j] <= 1 else 1.0
                accuracy += reach * (1.0 - verifier.false_fail) * p * worth
                cost += reach * dollars[i, j]
                attempts += reach
                reach *= verifier.false_fail * p + (1.0 - verifier.false_pass) * (1.0 - p)
        return Sums(len(sequences), accuracy, cost, attempts)

    def _steps(self, method: str, task: int, routes: Ints, verifier: VerifierErrors) -> Steps:
        d = self.difficulty
        if method == "plan_independent":
            p = passing(self.merit[task, routes], d.lift)
            return Steps.of(np.ones(1), p[:, None], self.dollars[routes, None], verifier)
        again = np.array([self.test.routes[j] in d.repeated for j in routes])
        most = np.where(again, np.clip(self._trials[task, routes], 1, ATTEMPTS), 1).astype(np.int64)
        dollars = self._scenarios.of(routes.tolist()).dollars(self.dollars[routes])
        return Steps.of(self._scenarios.weights, self._success[task, routes], dollars, verifier, most, d.likeness)


def _by_ratio(p: Floats, dollars: Floats, cost_weight: float) -> list[int]:
    """The order that is best for independent attempts without a cap on their number: most success per dollar first."""
    value = p - cost_weight * dollars
    worth = np.flatnonzero(value > 0) if (value > 0).any() else np.array([int(value.argmax())])
    ratio = p[worth] / np.maximum(dollars[worth], 1e-9)
    return [int(i) for i in worth[np.argsort(-ratio, kind="stable")][:ATTEMPTS]]


def _next_passes(share: float, runs: float, tried: int) -> float:
    """The chance that the next of a cell's runs passes, after so many that did not."""
    good, left = share * max(runs, 1.0), max(runs, 1.0) - tried
    return float(min(good / left, 1.0)) if left > 0 else 0.0
