"""Planted worlds: the same every time, and never to be taken for real."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from hmrouter.bench.benchmarks.worlds import SIMULATED_SUITE, demo_world
from hmrouter.evidence.dataset import Dataset


def test_the_same_seed_gives_the_same_world() -> None:
    one, other = demo_world(20, seed=3), demo_world(20, seed=3)
    assert one.tasks == other.tasks
    assert one.outcomes(0.5) == other.outcomes(0.5)
    assert one.outcomes(0.5) == one.outcomes(0.5)  # drawn once, not again at each call
    assert demo_world(20, seed=4).outcomes() != one.outcomes()


def test_everything_is_labelled_simulated() -> None:
    world = demo_world(20)
    assert SIMULATED_SUITE == "simulated"
    assert {t.suite for t in world.tasks} == {SIMULATED_SUITE}
    assert {(o.source, o.run) for o in world.outcomes()} == {("simulated", "seed-0")}


def test_a_share_of_the_cells_is_part_of_a_larger_share() -> None:
    world = demo_world(40)
    few, many, all_of_them = ({(o.task.id, o.route) for o in world.outcomes(s)} for s in (0.3, 0.7, 1.0))
    assert few < many < all_of_them
    assert len(all_of_them) == 40 * 12
    assert len(few) == pytest.approx(0.3 * len(all_of_them), rel=0.15)
    assert world.outcomes(0.0) == []


def test_outcomes_follow_the_planted_probabilities() -> None:
    world = demo_world(400, seed=7)
    drawn = np.asarray(Dataset(world.outcomes()).matrix().filled(np.nan))
    columns = [Dataset(world.outcomes()).routes.index(r) for r in world.routes]
    assert np.abs(drawn[:, columns].mean(axis=0) - world.success.mean(axis=0)).max() < 0.08
    assert {o.score for o in world.outcomes()} == {0.0, 1.0}
    assert all(o.cost is not None and o.cost > 0 for o in world.outcomes())


def test_the_best_pair_depends_on_the_kind_of_task() -> None:
    world = demo_world(200)
    best: dict[str, Counter[str]] = {}
    for task, row in zip(world.tasks, world.success, strict=True):
        best.setdefault(task.meta["kind"], Counter())[str(world.routes[int(row.argmax())])] += 1
    assert {kind: found.most_common(1)[0][0] for kind, found in best.items()} == {
        "bugfix": "terminal-loop:birch-coder",
        "analysis": "terminal-loop:birch-coder",
        "web": "browser-pilot:atlas-large",
        "writing": "office-planner:atlas-large",
    }
