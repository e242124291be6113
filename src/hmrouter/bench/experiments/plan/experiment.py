"""`plan`: ordered attempts with a verifier beside single choices, in cost and accuracy.

Random, Fixed and Oracle are single attempts. Every other method has a weight of cost, lambda. The one marked `train` is
chosen on the training tasks alone, by cross-validation: least cost as a share of the best fixed pair's, where each
point of accuracy below that pair counts as 0.3 of its cost. A hard floor instead would turn on single tasks; this finds
the knee of the frontier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.cost.pool import costed, costed_pool
from hmrouter.bench.experiments.path import embedded, line, product_of, split_of
from hmrouter.bench.experiments.plan import report as plan_report
from hmrouter.bench.experiments.plan.replay import Outlook, Sums
from hmrouter.bench.judge.choices import choose, dense, shares_of, tie_order
from hmrouter.bench.judge.evaluate import Metrics, realise
from hmrouter.bench.judge.history import informed
from hmrouter.bench.judge.predict import predict, scorer_of
from hmrouter.bench.methods import REFERENCES
from hmrouter.costs import RouteCosts
from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset, Split, hash_rank
from hmrouter.plan.verifier import VerifierErrors
from hmrouter.scorers.base import Training
from hmrouter.state import Floats

SCORER = "safe_alone"
"""Behind all methods but Fixed, so that they differ only in how they use its probabilities."""
LAMBDAS = (0.0, *(float(f"{v:.3g}") for v in np.geomspace(1e-3, 30.0, 35)))
FOLDS = 5
POINT = 0.3
"""What a point of accuracy below Fixed counts for in the choice of lambda, as a share of Fixed's cost."""
PERFECT, NOISY = VerifierErrors(), VerifierErrors(0.05, 0.05)
VERIFIERS = {"perfect": PERFECT, "5%/5%": NOISY}


class Plans(Experiment):
    """Measures what a verifier is worth."""

    name: ClassVar[str] = "plan"
    title: ClassVar[str] = "Plans with a verifier"
    report: ClassVar[Report] = plan_report
    methods: ClassVar[Sequence[str]] = (
        "random", "fixed", "single", "plan", "plan_independent", "plan_by_ratio", "oracle"
    )  # fmt: skip
    own_methods: ClassVar[Mapping[str, str]] = dict.fromkeys(methods[2:-1], SCORER)

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, split and method."""
        return product_of(self.name, request)

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """Give one row per lambda and verifier, and those of the lambdas that training tasks chose."""
        split = priced_split(split_of(benchmark, request.seed, unit.split))
        if not len(split.test.cells):
            raise InputError("no outcome of the test tasks can be replayed")
        if unit.method in REFERENCES:
            return [_reference_row(unit, split)]
        whole, folds = _learned(split, request, self.told_by(unit, request))
        fixed = _added([fold.fixed()[1] for fold in folds])
        if unit.method == "fixed":
            return [_row(unit, split, "train", "perfect", whole.fixed(), fixed)]
        rows = []
        weights = LAMBDAS if whole.priced else (0.0,)
        for name, verifier in VERIFIERS.items() if unit.method != "single" else [("perfect", PERFECT)]:
            end = "" if name == "perfect" else f" {name}"
            known = _cross_validated(folds, unit.method, weights, verifier)
            chosen = _chosen(known, fixed)
            made = whole.sequences(unit.method, weights, verifier)
            found = {
                w: (whole.promised(unit.method, m, verifier), whole.real(unit.method, m, verifier))
                for w, m in made.items()
            }
            rows += [_row(unit, split, f"lambda={w:g}{end}", name, found[w], known[w]) for w in weights]
            rows.append(_row(unit, split, f"train{end}", name, found[chosen], known[chosen]))
            if unit.method == "plan" and name == "perfect":
                unaware = (found[chosen][0], whole.real(unit.method, made[chosen], NOISY))
                rows.append(_row(unit, split, "train 5%/5% unaware", "5%/5%", unaware, known[chosen], aware=False))
        return rows


class Side:
    """Learns on one part of the tasks, plans for another, and replays the plans there."""

    def __init__(self, training: Training, x_test: Floats, test: Dataset, priced: bool) -> None:
        routes = training.data.routes
        costs = RouteCosts.fit(training.data).of_all(routes)
        known = [c.dollars for c in costs if c.dollars is not None]
        # A fold may lack the costs of a route: it then counts as the dearest.
        dollars = np.array([max(known, default=0.0) if c.dollars is None else c.dollars for c in costs])
        self.priced = priced
        self.outlook = Outlook.learn(scorer_of(SCORER), training, x_test, test, dollars * priced)
        self._known = predict("fixed", training, x_test, test)
        self._order = tie_order(training.data)

    def sequences(self, method: str, weights: Sequence[float], verifier: VerifierErrors) -> dict[float, Any]:
        """Decide for a method on each test task: attempts in order, or for `single` shares of routes."""
        o = self.outlook
        if method == "single":
            return {w: choose(o.merit - w * o.dollars, o.available, self._order) for w in weights}
        return dict(o.sequences(method, weights, verifier))

    def real(self, method: str, made: Any, verifier: VerifierErrors) -> Sums:
        """Replay what `sequences` decided: its real accuracy and cost."""
        if method == "single":
            return self._chosen(made, self.outlook.success)[1]
        return self.outlook.replayed(made, verifier)

    def promised(self, method: str, made: Any, verifier: VerifierErrors) -> Sums:
        """Give what the method expects of what `sequences` decided."""
        if method == "single":
            return self._chosen(made, self.outlook.success)[0]
        return self.outlook.promised(method, made, verifier)

    def fixed(self) -> tuple[Sums, Sums]:
        """Give promised and real sums of the pair with the best training accuracy."""
        shares = choose(self._known.merit, self.outlook.available, self._order)
        return self._chosen(shares, self._known.success)

    def _chosen(self, shares: Floats, success: Floats) -> tuple[Sums, Sums]:
        """Give promised and real sums of single attempts, which are delivered unchecked."""
        o, n = self.outlook, len(self.outlook.judged)
        score, dollars = np.nan_to_num(dense(o.test)), np.nan_to_num(dense(o.test, "cost"))
        return (
            Sums(n, float((shares * success).sum()), float((shares * o.dollars).sum()), n),
            Sums(n, float((shares * score).sum()), float((shares * dollars).sum()), n),
        )


@lru_cache(maxsize=4)
def priced_split(split: Split) -> Split:
    """Keep routes and cells with a known cost, if there are such routes (by the training side); else all."""
    pool = costed_pool(split.train)
    if pool is None:
        return split
    return Split(split.number, split.train.restrict(routes=pool), costed(split.test.restrict(routes=pool)))


@lru_cache(maxsize=2)
def _learned(split: Split, request: RunRequest, sources: tuple[Benchmark, ...]) -> tuple[Side, tuple[Side, ...]]:
    """Learn from the training side for the test side, and from the folds of the training side for each other."""
    training, x_test = embedded(split, request)
    training = informed(training, SCORER, sources)
    train = split.train
    priced = costed_pool(train) is not None
    ranked = sorted(range(len(train.tasks)), key=lambda i: hash_rank("fold", split.number, *train.tasks[i].key))
    fold = np.empty(len(ranked), dtype=np.int64)
    fold[ranked] = np.arange(len(ranked)) % FOLDS
    keys, folds = [t.key for t in train.tasks], []
    for held in range(FOLDS if priced else 0):
        inside = [key for key, f in zip(keys, fold, strict=True) if f != held]
        outside = [key for key, f in zip(keys, fold, strict=True) if f == held]
        if inside and outside:
            part = replace(training, data=train.restrict(tasks=inside), x=training.x[fold != held])
            judged = costed(train.restrict(tasks=outside))
            folds.append(Side(part, training.x[fold == held], judged, priced))
    return Side(training, x_test, split.test, priced), tuple(folds)


def _cross_validated(
    folds: Sequence[Side], method: str, weights: Sequence[float], verifier: VerifierErrors
) -> dict[float, Sums | None]:
    made = [side.sequences(method, weights, verifier) for side in folds]
    return {w: _added([s.real(method, m[w], verifier) for s, m in zip(folds, made, strict=True)]) for w in weights}


def _added(parts: Sequence[Sums]) -> Sums | None:
    return Sums(*(sum(column) for column in zip(*parts, strict=True))) if parts else None


def _chosen(known: Mapping[float, Sums | None], fixed: Sums | None) -> float:
    """The lambda that does best on training tasks beside Fixed; without costs there is only one."""
    sums = {w: s for w, s in known.items() if s is not None}
    if not sums or fixed is None:
        return min(known)

    def loss(weight: float) -> float:
        short = (fixed.accuracy - sums[weight].accuracy) / max(fixed.tasks, 1)
        return sums[weight].cost / max(fixed.cost, 1e-12) + POINT * max(0.0, 100.0 * short)

    return min(sums, key=loss)


def _reference_row(unit: Unit, split: Split) -> dict[str, Any]:
    """Write the row of random or oracle, which promise nothing."""
    metrics = realise(split.test, shares_of(unit.method, split, None))
    return _own_row(replace(unit, setting="train"), split, metrics, attempts=1.0)


def _row(
    unit: Unit, split: Split, setting: str, verifier: str, found: tuple[Sums, Sums], known: Sums | None,
    aware: bool = True,
) -> dict[str, Any]:  # fmt: skip
    promised, real = found
    n = max(real.tasks, 1)
    cost_known = not np.isnan(split.test.cells.cost).any()
    score = dense(split.test)
    oracle = float(np.nanmax(score[~np.isnan(score).all(axis=1)], axis=1).mean())
    accuracy = real.accuracy / n
    metrics = Metrics(
        accuracy, oracle, accuracy / oracle if oracle > 0 else None, real.cost / n if cost_known else None, n_test=n
    )
    return _own_row(
        replace(unit, setting=setting), split, metrics, promised_accuracy=promised.accuracy / n,
        promised_cost_usd=promised.cost / n if cost_known else None, verifier=verifier, aware=aware,
        attempts=real.attempts / n, train_accuracy=None if known is None else known.accuracy / max(known.tasks, 1),
        train_cost_usd=None if known is None else known.cost / max(known.tasks, 1),
    )  # fmt: skip


def _own_row(own: Unit, split: Split, metrics: Metrics, **known: Any) -> dict[str, Any]:
    """Write a line of results.json; keys that are not given are null."""
    keys = ("promised_accuracy", "promised_cost_usd", "train_accuracy", "train_cost_usd")
    usual = {**dict.fromkeys(keys), "verifier": "perfect", "aware": True}
    per_task = metrics.cost_usd is not None and not bool(split.test.cells.cost_is_route_mean.any())
    return line(own, metrics, split.train, None, cost_per_task=per_task, **(usual | known))
