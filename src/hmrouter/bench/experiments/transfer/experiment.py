"""`transfer` (Fig. intro a, b): is the best model the same under every harness?

(a) Mean score of every pair, with the best model of each harness and the best harness of each model. (b) Per task, the
oracle's model under one harness is used under another, among the models that both have: how much worse is it than the
oracle there? A single run is partly luck, and the luck of one harness does not follow to another. So the same is done
where coins decide which of a model's two scores on a task stands under which harness (`oracle_moved_exchanged`): what
is lost there is lost although a harness helps every model alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import Experiment, Report, RunRequest, Unit
from hmrouter.bench.experiments.path import line, product_of, row, split_of
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.experiments.transfer import report as transfer_report
from hmrouter.bench.experiments.transfer.moved_choices import (
    Move,
    any_of,
    best_moved,
    best_of,
    exchanged,
    moves,
    one_model,
)
from hmrouter.bench.judge.choices import best_among, dense
from hmrouter.bench.judge.evaluate import Metrics
from hmrouter.errors import InputError
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.scorers.rng import named_rng

PAIRS = "pairs"
"""The setting of the row with the mean score of every pair over all tasks."""
TOSSES = 20
"""How often all coins are tossed; the mean is reported."""


class Transfer(Experiment):
    """Measures what a model choice is worth under another harness."""

    name: ClassVar[str] = "transfer"
    title: ClassVar[str] = "Moving model choices across harnesses"
    report: ClassVar[Report] = transfer_report
    methods: ClassVar[Sequence[str]] = (
        "random", "fixed", "fixed_moved", "oracle_moved", "oracle_moved_exchanged", "oracle"
    )  # fmt: skip
    own_methods: ClassVar[dict[str, str]] = {
        "fixed_moved": "fixed", "oracle_moved": "oracle", "oracle_moved_exchanged": "oracle"
    }  # fmt: skip
    quick: ClassVar[Quick] = Quick(splits=None)

    def refusal(self, benchmark: Benchmark) -> str:
        """There must be two harnesses with two models in common."""
        data = benchmark.data()
        found = any(True for _ in moves(data.routes, dense(data)))
        return "" if found else "no two harnesses were run with the same two models"

    def units(self, request: RunRequest) -> list[Unit]:
        """One per benchmark, split and method, and one per benchmark for all pairs."""
        pairs = [Unit(self.name, b.name, "oracle", 0, PAIRS) for b in request.benchmarks]
        return [*pairs, *(u for u in product_of(self.name, request) if u.method in self.methods)]

    def run(self, unit: Unit, benchmark: Benchmark, request: RunRequest) -> list[dict[str, Any]]:
        """The mean over all moves, each counting the same."""
        if unit.setting == PAIRS:
            return [_pairs(unit, benchmark.data())]
        split = split_of(benchmark, request.seed, unit.split)
        levels = [
            _levels(unit.method, move, split, request.seed) for move in moves(split.test.routes, dense(split.test))
        ]
        if not levels:
            raise InputError("on the test tasks of this split no two harnesses were run with the same two models")
        accuracy, oracle = np.mean(levels, axis=0).tolist()
        metrics = Metrics(accuracy, oracle, accuracy / oracle if oracle else None, None, n_test=len(split.test.tasks))
        return [line(unit, metrics, split.train, None, moves=len(levels), loss=oracle - accuracy, pairs=None)]


def _levels(method: str, move: Move, split: Split, seed: int) -> tuple[float, float]:
    """Mean score of a method's choices under the target of a move, and of the oracle there."""
    if method == "oracle_moved_exchanged":
        rng = named_rng(seed, "exchange", str(split.number), move.source, move.target)
        worlds = [exchanged(move, rng) for _ in range(TOSSES)]
        levels = [(best_moved(before, after).mean(), best_of(after).mean()) for before, after in worlds]
        moved, there = np.mean(levels, axis=0).tolist()
        return moved, there
    oracle = best_of(move.after)
    if method == "oracle":
        values = oracle
    elif method == "oracle_moved":
        values = best_moved(move.before, move.after)
    elif method == "random":
        values = any_of(move.after)
    else:
        means = dict(zip(split.train.routes, split.train.route_means().tolist(), strict=True))
        values = one_model(move, means, move.target if method == "fixed" else move.source)
    return float(values.mean()), float(oracle.mean())


def _pairs(unit: Unit, data: Dataset) -> dict[str, Any]:
    """The mean score of every pair over all tasks; nothing is learned and nothing is held out."""
    pairs = [
        [route.model, route.harness, mean]
        for route, mean in zip(data.routes, data.route_means().tolist(), strict=True)
        if not np.isnan(mean)
    ]
    shares = best_among(data, dense(data), np.arange(len(data.routes)))
    return row(unit, Split(0, data, data), shares, None, moves=None, loss=None, pairs=pairs) | {"n_train": 0}
