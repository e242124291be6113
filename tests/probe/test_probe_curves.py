"""What tasks tell about a new route."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.evidence.dataset import Dataset
from hmrouter.probe.curves import Ability, Calibrate, Curves
from hmrouter.types import Outcome, Route, Task

N_ROUTES = 8


def planted(i: int, j: int) -> float:
    """Tasks 0-9 everybody solves, 10-19 nobody, 20-29 the better half of the routes, 30-39 any route by chance."""
    return (1.0, 0.0, float(j >= N_ROUTES // 2), float((7 * i + 3 * j) % 5 < 2))[i // 10]


def world(n_tasks: int = 40) -> Dataset:
    routes = [Route(f"m{j}", "h") for j in range(N_ROUTES)]
    return Dataset(
        Outcome(Task(f"t{i:02d}"), route, planted(i, j)) for i in range(n_tasks) for j, route in enumerate(routes)
    )


def test_tasks_that_tell_good_routes_from_bad_ones_come_first() -> None:
    curves = Curves.fit(world().cells, 40, N_ROUTES)
    told, variance = Ability(curves, 0.45, 0.15).told()
    assert set(np.argsort(-told)[:10].tolist()) == set(range(20, 30))
    assert told[:20].max() < 0.5 * told[20:30].min()
    assert 0.0 < told.max() < variance


def test_chance_decides_among_the_tasks_that_tell_most() -> None:
    preferred = Ability(Curves.fit(world().cells, 40, N_ROUTES), 0.45, 0.15).preferred()
    assert set(np.flatnonzero(preferred == preferred.max()).tolist()) >= set(range(20, 30))
    assert 10 <= (preferred == preferred.max()).sum() <= 20
    assert preferred[10:20].max() < preferred.max()


def test_without_other_routes_all_tasks_tell_the_same() -> None:
    curves = Curves.fit(Dataset([], tasks=[Task(f"t{i}") for i in range(5)]).cells, 5, 0)
    told, _ = Ability(curves, 0.5, 0.2).told()
    assert told == pytest.approx(np.full(5, told[0]))


def test_a_prior_is_about_the_success_rate() -> None:
    curves = Curves.fit(world().cells, 40, N_ROUTES)
    mean, sd = Ability(curves, 0.45, 0.05).estimate()
    assert mean == pytest.approx(0.45, abs=0.02)
    assert 0.04 < sd < 0.1


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=40, max_size=40))
def test_what_was_run_everywhere_is_known(scores: list[float]) -> None:
    ability = Ability(Curves.fit(world().cells, 40, N_ROUTES), 0.5, 0.2)
    for task, score in enumerate(scores):
        ability.add(task, score)
    assert ability.estimate() == pytest.approx((np.mean(scores), 0.0), abs=1e-12)


def test_success_where_it_counts_raises_the_estimate_and_an_imagined_run_leaves_it() -> None:
    def fresh() -> Ability:
        return Ability(Curves.fit(world().cells, 40, N_ROUTES), 0.45, 0.15)

    good, bad, imagined = fresh(), fresh(), fresh()
    good.add(20, 1.0)
    bad.add(20, 0.0)
    imagined.imagine(20)
    assert bad.estimate()[0] < fresh().estimate()[0] < good.estimate()[0]
    assert imagined.estimate()[0] == pytest.approx(fresh().estimate()[0], abs=0.02)
    assert imagined.told()[1] < fresh().told()[1]


def test_own_runs_of_a_pair_are_not_part_of_the_curves() -> None:
    data = world()
    own = data.cells.route == 7
    curves = Curves.fit(data.cells.take(~own), 40, N_ROUTES)
    known = Ability.of(curves, data.cells.take(own), 0.5, 0.2)
    assert known.estimate() == pytest.approx((data.route_means()[7], 0.0), abs=1e-12)
    alone = Ability(curves, 0.5, 0.2)
    for task in range(40):
        alone.add(task, planted(task, 7))
    np.testing.assert_allclose(alone.density, known.density, atol=1e-12)


def test_what_has_faded_says_less() -> None:
    curves = Curves.fit(world().cells, 40, N_ROUTES)
    fresh, faded = Ability(curves, 0.45, 0.15), Ability(curves, 0.45, 0.15)
    fresh.add(20, 1.0)
    faded.add(20, 1.0, fade=0.1)
    assert fresh.told()[1] != faded.told()[1]
    assert fresh.density @ curves.rate > faded.density @ curves.rate > Ability(curves, 0.45, 0.15).density @ curves.rate


def test_an_estimate_has_the_spread_of_what_may_come() -> None:
    """Rates over the tasks that are left, drawn: first an ability, then each task's ending."""
    curves, rng = Curves.fit(world().cells, 40, N_ROUTES), np.random.default_rng(0)
    ability = Ability(curves, 0.45, 0.15)
    for task in range(34):
        ability.add(task, float(task % 2))
    of = rng.choice(len(ability.density), size=40_000, p=ability.density)
    endings = rng.random((6, 40_000)) < curves.success[34:][:, of]
    drawn = (17 + endings.sum(axis=0)) / 40
    mean, sd = ability.estimate()
    assert mean == pytest.approx(drawn.mean(), abs=0.002)
    assert sd == pytest.approx(drawn.std(), rel=0.02)


def test_when_every_task_is_imagined_nothing_is_left_open() -> None:
    ability = Ability(Curves.fit(world().cells, 40, N_ROUTES), 0.45, 0.15)
    for task in range(40):
        ability.imagine(task)
    assert ability.estimate()[1] == pytest.approx(0.0, abs=1e-12)


def test_several_pairs_are_asked_about_each_by_itself() -> None:
    curves = Curves.fit(world().cells, 40, N_ROUTES)
    aim = Calibrate({2: Ability(curves, 0.5, 0.3), 5: Ability(curves, 0.5, 0.1)})
    told = aim.told(np.arange(N_ROUTES))
    assert told.routes.tolist() == [2, 5]
    assert told.variance[:, 0].max() > told.variance[:, 1].max()
    aim.imagine(20, 2)
    after = aim.told(np.array([2, 5])).of
    assert after[0] < told.of[0]
    assert after[1] == told.of[1]
