from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.errors import UnknownName, UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.types import Outcome, Route, Status, Task

ROUTES = [Route(m, h) for m in ("m0", "m1", "m2") for h in ("h0", "h1")]
TASKS = [Task(f"t{i}", suite=s, text=f"text {i}") for s in ("alpha", "beta") for i in range(5)]

outcome_values = st.builds(
    Outcome,
    task=st.sampled_from(TASKS),
    route=st.sampled_from(ROUTES),
    score=st.floats(0, 1),
    n_trials=st.integers(0, 5),
    status=st.sampled_from([Status.OK, Status.OK, Status.OK, Status.INFRA_ERROR, Status.UNKNOWN]),
    cost=st.none() | st.floats(0, 100),
    cost_is_route_mean=st.booleans(),
    seconds=st.none() | st.floats(0, 1000),
)
outcome_lists = st.lists(outcome_values, max_size=40)


def ok(task: str, route: Route, score: float, n_trials: int = 1, cost: float | None = None) -> Outcome:
    return Outcome(Task(task), route, score, n_trials=n_trials, cost=cost)


def grid(n_tasks: int = 10, suite: str = "s") -> list[Outcome]:
    """Every task on every route."""
    return [
        Outcome(Task(f"t{i:03}", suite), route, float((i + j) % 2), cost=float(j))
        for i in range(n_tasks)
        for j, route in enumerate(ROUTES)
    ]


def same(a: Dataset, b: Dataset) -> bool:
    """Equal to the last bit."""
    return (a.tasks, a.routes, a.ignored) == (b.tasks, b.routes, b.ignored) and all(
        getattr(a.cells, f.name).tobytes() == getattr(b.cells, f.name).tobytes() for f in fields(a.cells)
    )


# -- from outcomes to cells -----------------------------------------------------------------------------------------


@given(outcome_lists)
def test_a_cell_is_there_exactly_if_it_was_run(outcomes: list[Outcome]) -> None:
    data = Dataset(outcomes, routes=ROUTES, tasks=TASKS)
    run = {(o.task.key, o.route) for o in outcomes if o.status is Status.OK}
    cells = data.cells
    held = [(data.tasks[t].key, data.routes[r]) for t, r in zip(cells.task, cells.route, strict=True)]
    assert len(held) == len(set(held))
    assert set(held) == run
    assert held == sorted(held)
    matrix = data.matrix()
    assert matrix.shape == (len(TASKS), len(ROUTES))
    assert matrix.count() == len(run)
    assert data.density == len(run) / (len(TASKS) * len(ROUTES))


@given(outcome_lists)
def test_cells_against_a_literal_average(outcomes: list[Outcome]) -> None:
    trials: dict[tuple[object, Route], list[Outcome]] = defaultdict(list)
    for o in outcomes:
        if o.status is Status.OK:
            trials[o.task.key, o.route].append(o)
    data = Dataset(outcomes)
    for i, (t, r) in enumerate(zip(data.cells.task, data.cells.route, strict=True)):
        cell = trials[data.tasks[t].key, data.routes[r]]

        def mean(name: str, cell: list[Outcome] = cell) -> float:
            known = [(max(o.n_trials, 1), getattr(o, name)) for o in cell if getattr(o, name) is not None]
            return sum(w * v for w, v in known) / sum(w for w, _ in known) if known else np.nan

        assert data.cells.score[i] == pytest.approx(mean("score"), abs=1e-12)
        assert data.cells.trials[i] == sum(o.n_trials for o in cell)
        assert data.cells.weight[i] == sum(max(o.n_trials, 1) for o in cell)
        assert data.cells.cost[i] == pytest.approx(mean("cost"), rel=1e-12, nan_ok=True)
        assert data.cells.seconds[i] == pytest.approx(mean("seconds"), rel=1e-12, nan_ok=True)
        assert data.cells.cost_is_route_mean[i] == any(o.cost_is_route_mean for o in cell)
    assert ((data.cells.score >= 0) & (data.cells.score <= 1)).all()


@given(outcome_lists, st.randoms(use_true_random=False))
def test_the_order_of_arrival_changes_nothing(outcomes: list[Outcome], random: Random) -> None:
    shuffled = list(outcomes)
    random.shuffle(shuffled)
    assert same(Dataset(outcomes), Dataset(shuffled))


def test_rounding_does_not_depend_on_the_order_of_arrival() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((40, 3))
    trials = [Outcome(Task("t"), ROUTES[0], s, cost=c, seconds=t, n_trials=i % 4) for i, (s, c, t) in enumerate(values)]
    for _ in range(20):
        shuffled = [trials[i] for i in rng.permutation(len(trials))]
        assert same(Dataset(trials), Dataset(shuffled))


def test_trials_are_averaged_by_their_number() -> None:
    data = Dataset([ok("t", ROUTES[0], 1.0, n_trials=3, cost=1.0), ok("t", ROUTES[0], 0.0, n_trials=1)])
    assert data.cells.score.tolist() == [0.75]
    assert data.cells.trials.tolist() == [4]
    assert data.cells.cost.tolist() == [1.0]  # the mean of those that are known


def test_an_absent_run_counts_once_and_is_no_trial() -> None:
    data = Dataset([ok("t", ROUTES[0], 0.0, n_trials=0), ok("t", ROUTES[0], 1.0), ok("u", ROUTES[0], 0.0, n_trials=0)])
    assert data.cells.score.tolist() == [0.5, 0.0]
    assert data.cells.trials.tolist() == [1, 0]
    assert data.observed.tolist() == [True]


@pytest.mark.parametrize("status", [Status.INFRA_ERROR, Status.UNKNOWN])
def test_what_says_nothing_is_no_failure_but_is_known(status: Status) -> None:
    silent = [Outcome(Task("u"), ROUTES[1], score, status=status) for score in (None, 0.0, 1.0)]
    data = Dataset([ok("t", ROUTES[0], 1.0), *silent])
    assert [t.id for t in data.tasks] == ["t", "u"]
    assert data.routes == (ROUTES[0], ROUTES[1])
    assert len(data.cells) == 1
    assert data.observed.tolist() == [True, False]
    assert np.isnan(data.route_means()[1])
    assert data.ignored == {status: 3}


def test_a_missing_text_is_filled_by_another_record_of_the_task() -> None:
    records = [Task("t"), Task("t", text="Fix the"), Task("t", text="Fix the bug")]
    for tasks in (records, records[::-1]):
        data = Dataset([Outcome(t, ROUTES[0], 1.0) for t in tasks])
        assert [t.text for t in data.tasks] == ["Fix the bug"]
        assert [t.text for t in Dataset([], tasks=tasks).tasks] == ["Fix the bug"]
    assert Dataset([Outcome(records[2], ROUTES[0], 1.0)], tasks=records[:1]).tasks[0].text == "Fix the bug"


def test_the_same_id_in_two_suites_is_two_tasks() -> None:
    data = Dataset([Outcome(Task("t", s), ROUTES[0], score) for s, score in (("b", 1.0), ("a", 0.0))])
    assert [t.key for t in data.tasks] == [("a", "t"), ("b", "t")]
    assert data.suites == ("a", "b")
    assert data.cells.score.tolist() == [0.0, 1.0]


def test_nothing_at_all() -> None:
    data = Dataset([])
    assert repr(data) == "Dataset(0 tasks, 0 routes, 0 cells)"
    assert data.matrix().shape == (0, 0)
    assert data.starts.tolist() == [0]
    assert data.density == 0.0
    assert data.restrict(routes=[]).routes == ()
    assert len(data.withhold(fraction=0.5).cells) == 0
    assert [len(s.train.tasks) for s in data.splits()] == [0] * 5


def test_many_outcomes() -> None:
    n_tasks, n_routes = 3000, 100
    tasks = [Task(f"t{i}") for i in range(n_tasks)]
    routes = [Route(f"m{j // 10}", f"h{j % 10}") for j in range(n_routes)]

    def outcomes() -> Iterator[Outcome]:
        for task in tasks:
            for route in routes:
                yield Outcome(task, route, 1.0)

    data = Dataset(outcomes())
    assert len(data.cells) == n_tasks * n_routes == 300_000
    assert (len(data.models), len(data.harnesses)) == (10, 10)
    assert sum(getattr(data.cells, f.name).nbytes for f in fields(data.cells)) < 72 * len(data.cells)


# -- views ----------------------------------------------------------------------------------------------------------


def test_matrix_masks_what_is_not_known() -> None:
    data = Dataset([ok("t", ROUTES[0], 1.0, cost=2.0), ok("u", ROUTES[1], 0.0, n_trials=4)])
    assert data.matrix().mask.tolist() == [[False, True], [True, False]]
    assert data.matrix("cost").compressed().tolist() == [2.0]  # run, but its cost is not known
    assert data.matrix("trials").compressed().tolist() == [1.0, 4.0]
    assert data.matrix("seconds").count() == 0
    with pytest.raises(UnknownName, match="field 'scores' is not known; did you mean 'score'"):
        data.matrix("scores")


@given(outcome_lists)
def test_starts_delimit_the_cells_of_each_task(outcomes: list[Outcome]) -> None:
    data = Dataset(outcomes, tasks=TASKS)
    assert len(data.starts) == len(data.tasks) + 1
    for i in range(len(data.tasks)):
        assert (data.cells.task[data.starts[i] : data.starts[i + 1]] == i).all()
    assert (data.starts[0], data.starts[-1]) == (0, len(data.cells))


@given(outcome_lists)
def test_components_and_means_of_routes(outcomes: list[Outcome]) -> None:
    data = Dataset(outcomes)
    for i, route in enumerate(data.routes):
        assert data.models[data.route_model[i]] == route.model
        assert data.harnesses[data.route_harness[i]] == route.harness
        column = data.matrix()[:, i].compressed()
        assert data.observed[i] == (len(column) > 0)
        assert data.route_means()[i] == pytest.approx(column.mean() if len(column) else np.nan, nan_ok=True)


# -- parts ----------------------------------------------------------------------------------------------------------


def test_restrict_keeps_exactly_what_is_asked_for() -> None:
    data = Dataset(grid(4, "a") + grid(4, "b"))
    part = data.restrict(tasks=[("a", "t001"), ("b", "t003")], routes=ROUTES[1:3])
    assert [t.key for t in part.tasks] == [("a", "t001"), ("b", "t003")]
    assert part.routes == tuple(ROUTES[1:3])
    assert (part.matrix() == data.matrix()[[1, 7]][:, 1:3]).all()
    assert len(part.cells) == 4
    assert part.models == ("m0", "m1")
    assert data.restrict(suites=["b"]).tasks == data.tasks[4:]
    assert same(data.restrict(), data)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"suites": ["alpa"]}, "suite 'alpa' is not in the outcomes; did you mean 'alpha'"),
        ({"routes": [Route("m1", "h9")]}, "route 'h9:m1' is not in the outcomes; did you mean 'h[01]:m1'"),
        ({"tasks": [("alpha", "t9")]}, "task 'alpha/t9' is not in the outcomes; did you mean 'alpha/t[0-4]'"),
    ],
)
def test_restrict_to_what_is_not_there(wanted: dict[str, Any], message: str) -> None:
    data = Dataset([], tasks=TASKS, routes=ROUTES)
    with pytest.raises(UnknownName, match=message):
        data.restrict(**wanted)


@given(st.integers(2, 60), st.integers(1, 40), st.integers(0, 3), st.sampled_from([0.5, 0.7, 0.9]))
def test_splits_are_a_partition_in_proportion(n_a: int, n_b: int, seed: int, share: float) -> None:
    tasks = [Task(f"t{i}", s) for s, n in (("a", n_a), ("b", n_b)) for i in range(n)]
    data = Dataset([], tasks=tasks, routes=ROUTES)
    for number, split in enumerate(data.splits(3, seed=seed, train=share)):
        assert split.number == number
        train, test = {t.key for t in split.train.tasks}, {t.key for t in split.test.tasks}
        assert not train & test
        assert train | test == {t.key for t in data.tasks}
        assert split.train.routes == split.test.routes == data.routes
        for suite, n in (("a", n_a), ("b", n_b)):
            got = sum(key[0] == suite for key in train)
            assert abs(got - share * n) <= 0.5 or (n <= 5 and 0 < got <= n)


def test_splits_are_fixed() -> None:
    data, shuffled = Dataset(grid(10)), Dataset(grid(10)[::-1])
    train = [[t.id for t in s.train.tasks] for s in data.splits()]
    assert train == [[t.id for t in s.train.tasks] for s in shuffled.splits()]
    assert all(len(t) == 7 for t in train)
    # Written down once: another machine and another version must divide the tasks in the same way.
    assert [" ".join(t.id for t in s.test.tasks) for s in data.splits()] == [
        "t002 t005 t007",
        "t004 t005 t009",
        "t007 t008 t009",
        "t004 t007 t008",
        "t001 t004 t009",
    ]


def test_splits_differ_by_number_and_seed() -> None:
    data = Dataset(grid(30))
    chosen = {frozenset(t.id for t in s.train.tasks) for seed in (0, 1) for s in data.splits(5, seed=seed)}
    assert len(chosen) == 10


def test_a_split_is_not_changed_by_another_suite() -> None:
    alone, together = Dataset(grid(10, "a")), Dataset(grid(10, "a") + grid(20, "b"))
    for one, two in zip(alone.splits(), together.splits(), strict=True):
        assert one.test.tasks == two.test.restrict(suites=["a"]).tasks


@pytest.mark.parametrize("train", [0.0, 1.0, -1.0, float("nan")])
def test_a_split_has_two_sides(train: float) -> None:
    with pytest.raises(UsageError, match="training share"):
        Dataset(grid(2)).splits(train=train)


@pytest.mark.parametrize(
    ("hidden", "is_hidden"),
    [
        ({"routes": [ROUTES[2], ROUTES[5]]}, lambda r: r in (ROUTES[2], ROUTES[5])),
        ({"model": "m1"}, lambda r: r.model == "m1"),
        ({"harness": "h0"}, lambda r: r.harness == "h0"),
        ({"model": "m1", "harness": "h0"}, lambda r: r.model == "m1" or r.harness == "h0"),
    ],
)  # fmt: skip
def test_withhold_hides_outcomes_and_keeps_routes(hidden: dict[str, Any], is_hidden: Callable[[Route], bool]) -> None:
    data = Dataset(grid(6))
    rest = data.withhold(**hidden)
    assert (rest.routes, rest.tasks) == (data.routes, data.tasks)
    want = np.array([not is_hidden(r) for r in data.routes])
    assert rest.observed.tolist() == want.tolist()
    assert (rest.matrix().mask == ~want[None, :]).all()
    assert len(data.cells) == 36  # the whole is as it was
    built = Dataset([o for o in grid(6) if not is_hidden(o.route)], routes=ROUTES)
    assert same(rest, built)


def test_keep_hides_the_other_cells() -> None:
    data = Dataset(grid(3))
    part = data.keep(data.cells.score == 1.0)
    assert (part.tasks, part.routes) == (data.tasks, data.routes)
    assert np.ma.getmaskarray(part.matrix()).tolist() == (data.matrix() == 0.0).tolist()
    assert data.matrix().count() == 18


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 3))
def test_withheld_fractions_are_nested(a: float, b: float, seed: int) -> None:
    data = Dataset(grid(5))
    less, more = (data.withhold(fraction=f, seed=seed).matrix().mask for f in sorted((a, b)))
    assert less.sum() == round(min(a, b) * 30)
    assert (more | ~less).all()


def test_fractions_differ_by_seed_only() -> None:
    data = Dataset(grid(10))
    assert same(data.withhold(fraction=0.5), Dataset(grid(10)[::-1]).withhold(fraction=0.5))
    assert not same(data.withhold(fraction=0.5), data.withhold(fraction=0.5, seed=1))


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 3))
def test_revealed_tasks_are_nested(j: int, k: int, seed: int) -> None:
    data = Dataset(grid(10))
    parts = [data.withhold(model="m1", reveal=n, seed=seed) for n in sorted((j, k))]
    few, many = (~np.ma.getmaskarray(part.matrix()) for part in parts)
    assert few[:, 2].sum() == min(j, k, 10)
    assert (few[:, 2] == few[:, 3]).all()  # both routes of the model, on the same tasks
    assert (many | ~few).all()
    assert few[:, [0, 1, 4, 5]].all()


def test_reveal_counts_tasks_that_have_something_hidden() -> None:
    data = Dataset([*grid(10), *(ok(f"u{i}", ROUTES[0], 1.0) for i in range(50))])
    assert len(data.withhold(routes=[ROUTES[5]], reveal=3).cells) == len(data.cells) - 10 + 3


@pytest.mark.parametrize(
    ("hidden", "error", "message"),
    [
        ({"model": "m9"}, UnknownName, "model 'm9' is not in the outcomes"),
        ({"harness": "h9"}, UnknownName, "harness 'h9' is not in the outcomes"),
        ({"routes": [Route("m9", "h0")]}, UnknownName, "route 'h0:m9' is not in the outcomes"),
        ({"fraction": 1.5}, UsageError, "fraction 1.5 is not between 0 and 1"),
        ({"fraction": -0.1}, UsageError, "fraction -0.1 is not between 0 and 1"),
        ({"reveal": -1}, UsageError, "-1, is negative"),
    ],
)
def test_withhold_what_is_not_there(hidden: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Dataset(grid(2)).withhold(**hidden)
