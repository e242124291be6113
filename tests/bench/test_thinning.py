"""The settings of `sparse` thin the training side exactly as they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.sparse import SETTINGS, thinned
from hmrouter.bench.judge.choices import dense

Plant = Callable[..., Path]
RowsOf = Callable[..., list[dict[str, Any]]]


@pytest.mark.parametrize("setting", SETTINGS)
def test_thinning_is_exactly_as_stated(plant: Plant, tmp_path: Path, setting: str) -> None:
    routes = [(f"m{j}", f"h{j % 3}") for j in range(8)]
    # task 5 was run on one route only: it keeps that one
    data = Benchmark.at(
        plant(tmp_path / "b", 100, routes=routes, score=lambda i, j: None if i == 5 and j else float((i * j) % 2))
    ).data()
    shares = {"tasks10": 7, "tasks20": 14, "tasks30": 21, "tasks20_routes2-5": 14}
    kept: list[tuple[str, ...]] = []
    sizes: set[int] = set()
    for split in data.splits(5):
        thin = thinned(split, setting, 0)
        assert thin.test is split.test
        assert thin.train.routes == split.train.routes
        assert len(thin.train.tasks) == shares.get(setting, 70)
        assert {t.key for t in thin.train.tasks} <= {t.key for t in split.train.tasks}
        full, got = split.train.restrict(tasks=[t.key for t in thin.train.tasks]), thin.train
        per_task, before = np.diff(got.starts), np.diff(full.starts)
        if setting.endswith("routes2-5"):
            assert all(2 <= k <= 5 or k == n == 1 for k, n in zip(per_task, before, strict=True))
            sizes |= set(per_task.tolist())
        else:
            assert per_task.tolist() == before.tolist()
        # what is kept is as it was
        assert np.array_equal(dense(got)[~np.isnan(dense(got))], dense(full)[~np.isnan(dense(got))])
        kept.append(tuple(t.id for t in got.tasks))
    assert len(set(kept)) == 5  # each split thins on its own
    if setting == "routes2-5":
        assert sizes >= {2, 3, 4, 5}
        assert (np.bincount(got.cells.route, minlength=8) > 10).all()  # at random, not the first ones


def test_thinning_is_the_same_every_time_and_nested(world: Benchmark) -> None:
    split = world.data().splits(1)[0]
    again = Benchmark.at(world.path).data().splits(1)[0]
    ids: dict[str, set[str]] = {}
    for setting in SETTINGS:
        a, b = thinned(split, setting, 0).train, thinned(again, setting, 0).train
        assert np.array_equal(dense(a), dense(b), equal_nan=True)
        ids[setting] = {t.id for t in a.tasks}
    assert ids["tasks10"] < ids["tasks20"] < ids["tasks30"] < ids["full"]
    assert ids["tasks20"] == ids["tasks20_routes2-5"]
