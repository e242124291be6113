"""Which benchmarks are other for each other, and what a scorer that wants their outcomes is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Self

import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.benchmarks.cells import outcomes_of
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment, RunRequest
from hmrouter.bench.judge import history
from hmrouter.bench.run.unit_keys import UnitKeys
from hmrouter.evidence.dataset import Dataset
from hmrouter.history import SuiteBelief
from hmrouter.plugins import Registry
from hmrouter.scorers.base import Training
from hmrouter.scorers.fixed import Fixed

Plant = Callable[..., Path]


class Listening(Fixed):
    """Fixed, but told of other suites."""

    listens: ClassVar[bool] = True
    heard: ClassVar[list[Training]] = []

    def fit(self, training: Training) -> Self:
        Listening.heard.append(training)
        return super().fit(training)


@pytest.fixture
def four(plant: Plant, tmp_path: Path) -> list[Benchmark]:
    """Two of the same tasks, one of other tasks under the same ids, one of the same ids without texts."""
    texts = {"one": "mend", "twin": "mend", "other": "sort", "silent": ""}
    return [
        Benchmark.at(plant(tmp_path / name, 30, text=lambda i, word=word: word and f"{word} part {i}"))
        for name, word in texts.items()
    ]


def names(benchmarks: Sequence[Benchmark]) -> list[str]:
    return [b.name for b in benchmarks]


def test_what_shares_a_task_is_not_other(four: list[Benchmark]) -> None:
    one, twin, other, silent = four
    assert names(history.others(one, four)) == names(history.others(twin, four)) == ["other"]
    assert names(history.others(other, four)) == ["one", "twin"]
    assert history.others(silent, four) == ()  # nothing tells its tasks from theirs


def test_a_scorer_that_listens_is_told(four: list[Benchmark], monkeypatch: pytest.MonkeyPatch) -> None:
    methods = Registry(
        "method", "none", {"fixed": "hmrouter.scorers.fixed:Fixed", "listening": f"{__name__}:Listening"}
    )
    for module in ("judge.history", "judge.predict", "run.unit_keys"):
        monkeypatch.setattr(f"hmrouter.bench.{module}.METHODS", methods)
    one, _, other, _ = four
    for name in ("routing", "sparse", "forecast", "cost", "interaction", "unseen", "fewshot", "heldout"):
        experiment: Experiment = EXPERIMENTS.load(name)()
        request = RunRequest(four, ["fixed", "listening"], 1)
        units = {u.method: u for u in experiment.units(request) if u.benchmark == "one"}
        Listening.heard.clear()
        rows = {m: experiment.run(u, one, request) for m, u in units.items()}
        heard = Listening.heard[0]
        assert isinstance(heard.belief, SuiteBelief)
        assert {r.suite for r in heard.belief.records} == {"other"}
        # on a held-out benchmark nothing but the training tasks of the others is known
        assert max(r.tasks for r in heard.belief.records) == (21 if name == "heldout" else 30)
        assert len(heard.data.cells) == 0 if name == "heldout" else len(heard.data.cells) > 0
        assert len(rows["fixed"]) == len(rows["listening"])
        keys = {m: UnitKeys({name: request}).of(u).get("also") for m, u in units.items()}
        assert keys["listening"] == {"other": other.hash}
        assert keys["fixed"] == ({"other": other.hash} if name == "heldout" else None)


def test_suites_that_share_tasks_count_once(four: list[Benchmark]) -> None:
    one, twin, other, _ = four
    belief = history.believed([one, twin])
    assert belief is not None
    assert {r.family for r in belief.records} == {"one"}
    assert len(belief.records) == len(one.data().routes)
    assert history.believed([]) is None
    assert history.others(other, [one, twin]) == (one, twin)


def test_cells_as_outcomes_are_the_same_cells(four: list[Benchmark]) -> None:
    data = four[0].data()
    again = Dataset(outcomes_of(data))
    assert again.routes == data.routes
    for field in ("score", "trials", "cost", "seconds"):
        assert again.matrix(field).tolist() == data.matrix(field).tolist()
    assert [o.score for o in outcomes_of(data, [3, 5])] == data.cells.score[[3, 5]].tolist()
