"""How choices are judged, against brute force and against worlds whose answer is known."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.benchmarks.worlds import demo_world
from hmrouter.bench.judge.choices import choose, dense, tie_order, uniform
from hmrouter.bench.judge.evaluate import evaluate, realise
from hmrouter.bench.judge.forecasts import auc, log_loss
from hmrouter.bench.judge.predict import prepare
from hmrouter.evidence.dataset import Dataset, Split
from hmrouter.scorers.base import Training
from hmrouter.scorers.knn import KNN
from hmrouter.types import Outcome, Route, Task

A, B, C = Route("a", "codex"), Route("b", "codex"), Route("c", "codex")


def cell(task: str, route: Route, score: float, cost: float | None = None) -> Outcome:
    return Outcome(Task(task, text=f"Do {task}"), route, score, cost=cost)


def split_of(train: list[Outcome], test: list[Outcome]) -> Split:
    routes = {o.route for o in [*train, *test]}
    return Split(0, Dataset(train, routes=routes), Dataset(test, routes=routes))


TRAIN = [
    cell("r1", A, 1, 2.0),
    cell("r1", B, 1, 1.0),
    cell("r1", C, 0, 0.1),
    cell("r2", A, 1, 2.0),
    cell("r2", B, 1, 1.0),
]
TEST = [
    cell("t1", A, 1.0, 3.0), cell("t1", B, 0.0, 1.0), cell("t1", C, 1.0, 0.5),
    cell("t2", A, 0.25, 2.0), cell("t2", C, 1.0, 0.5),
    cell("t3", C, 0.5, 0.25),
]  # fmt: skip


def judged(method: str, train: list[Outcome] = TRAIN, test: list[Outcome] = TEST) -> dict[str, float | None]:
    split = split_of(train, test)
    metrics = evaluate(method, split, *prepare(split))
    assert metrics.n_test == 3
    return {"accuracy": metrics.accuracy, "oracle": metrics.oracle_accuracy, "cost": metrics.cost_usd}


def test_oracle_takes_the_best_outcome_of_each_task() -> None:
    assert judged("oracle") == pytest.approx({"accuracy": 2.5 / 3, "oracle": 2.5 / 3, "cost": 1.25 / 3})


def test_random_is_the_mean_over_all_that_could_be_chosen() -> None:
    # Brute force: every way to choose one route that was run per task.
    ways = list(itertools.product(*([o for o in TEST if o.task.id == t] for t in ("t1", "t2", "t3"))))
    accuracy = np.mean([np.mean([o.score for o in way]) for way in ways])
    cost = np.mean([np.mean([o.cost for o in way]) for way in ways])
    assert judged("random") == pytest.approx({"accuracy": accuracy, "oracle": 2.5 / 3, "cost": cost})


def test_fixed_takes_the_best_of_training_ties_to_the_cheaper_and_only_what_was_run() -> None:
    # A and B are even on training, B is cheaper; on t2 only A of the two was run, on t3 only C.
    assert judged("fixed") == pytest.approx({"accuracy": (0.0 + 0.25 + 0.5) / 3, "oracle": 2.5 / 3, "cost": 3.25 / 3})
    swapped = [replace(o, cost=3.0 - o.cost) if o.cost and o.route != C else o for o in TRAIN]
    assert judged("fixed", train=swapped)["accuracy"] == pytest.approx((1.0 + 0.25 + 0.5) / 3)


def test_a_cost_that_is_not_known_is_not_made_up() -> None:
    unknown = [replace(o, cost=None) if o.task.id == "t3" else o for o in TEST]
    assert judged("fixed", test=unknown)["cost"] is None
    elsewhere = [replace(o, cost=None) if o.route == A and o.task.id == "t1" else o for o in TEST]
    assert judged("fixed", test=elsewhere)["cost"] == pytest.approx(3.25 / 3)  # not of what was chosen
    assert judged("random", test=elsewhere)["cost"] is None


def test_tasks_without_an_outcome_do_not_count() -> None:
    split = split_of(TRAIN, TEST)
    more = Dataset(TEST, routes=split.test.routes, tasks=[Task("nothing")])
    assert realise(more, uniform(more)) == realise(split.test, uniform(split.test))


def test_nothing_but_failures_has_no_normalised_accuracy() -> None:
    split = split_of(TRAIN, [replace(o, score=0.0) for o in TEST])
    metrics = evaluate("fixed", split, *prepare(split))
    assert (metrics.accuracy, metrics.oracle_accuracy, metrics.normalized_accuracy) == (0.0, 0.0, None)
    assert metrics.auc is None


@pytest.mark.parametrize("method", ["fixed", "component_average", "knn"])
def test_the_test_outcomes_do_not_change_a_choice(method: str) -> None:
    # Every cell has a price of its own, so that the mean price tells which ones were chosen.
    rng = np.random.default_rng(0)
    drawn = [replace(o, cost=float(rng.random())) for o in demo_world(40).outcomes(share=0.6)]
    (split,) = Dataset(drawn).splits(1)
    training, x_test = prepare(split)
    held = {t.key for t in split.test.tasks}
    altered = [replace(o, score=1.0 - (o.score or 0.0)) if o.task.key in held else o for o in drawn]
    (other,) = Dataset(altered).splits(1)
    assert {t.key for t in other.test.tasks} == held
    honest = evaluate(method, split, training, x_test)
    blind = evaluate(method, other, *prepare(other))
    assert blind.cost_usd == honest.cost_usd
    assert blind.accuracy == pytest.approx(1.0 - honest.accuracy)  # the same choices, every outcome reversed


def test_the_embedder_sees_training_texts_only() -> None:
    (split,) = demo_split()
    words = Dataset([replace(o, task=replace(o.task, text="ZZZZ")) for o in split_outcomes(split.test)])
    other = Split(0, split.train, words)
    (one, _), (two, _) = prepare(split), prepare(other)
    assert isinstance(one, Training)
    assert np.array_equal(one.x, two.x)


def demo_split() -> list[Split]:
    return Dataset(demo_world(30).outcomes(share=0.5)).splits(1)


def split_outcomes(data: Dataset) -> list[Outcome]:
    c = data.cells
    return [
        Outcome(data.tasks[t], data.routes[r], s) for t, r, s in zip(c.task, c.route, c.score.tolist(), strict=True)
    ]


def test_planted_preferences_are_found() -> None:
    # Two kinds of tasks, two routes, each perfect on one kind: a fixed choice gets half, the nearest tasks tell all.
    kinds = {"parser": ("Fix the parser in module", A), "invoice": ("Send the invoice to customer", B)}
    made = [
        Outcome(Task(f"{kind}-{i}", text=f"{words} {i}"), route, float(route == good))
        for kind, (words, good) in kinds.items()
        for i in range(20)
        for route in (A, B)
    ]
    (split,) = Dataset(made).splits(1)
    training, x_test = prepare(split)
    assert evaluate("oracle", split, training, x_test).accuracy == 1.0
    assert evaluate("random", split, training, x_test).accuracy == 0.5
    near = evaluate(KNN(k=5), split, training, x_test)
    assert (near.accuracy, near.auc) == (1.0, 1.0)
    assert evaluate("fixed", split, training, x_test).accuracy == pytest.approx(0.5, abs=0.2)


# -- choices ----------------------------------------------------------------------------------------------------------

GRID = st.integers(0, 4).map(lambda n: n / 4)
MATRIX = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.tuples(GRID, st.booleans()), min_size=k, max_size=k), min_size=1, max_size=5)
)


@given(MATRIX)
def test_a_choice_is_the_best_that_was_run(cells: list[list[tuple[float, bool]]]) -> None:
    value, run = np.array([[v for v, _ in row] for row in cells]), np.array([[r for _, r in row] for row in cells])
    order = np.arange(value.shape[1])[::-1].copy()  # the last one wins a tie
    shares = choose(value, run, order)
    for i, row in enumerate(shares):
        assert row.sum() == (1.0 if run[i].any() else 0.0)
        if run[i].any():
            best = max(v for v, r in cells[i] if r)
            assert row.argmax() == max(j for j, (v, r) in enumerate(cells[i]) if r and v == best)


def test_who_wins_a_tie() -> None:
    routes = [Route("a", "x"), Route("b", "x"), Route("c", "y"), Route("d", "z")]
    cost = {0: 2.0, 1: 0.5, 2: 0.5}
    train = Dataset([Outcome(Task("t"), r, 1.0, cost=cost.get(j)) for j, r in enumerate(routes)])
    assert tie_order(train).tolist() == [1, 2, 0, 3]  # the cheaper, then the name, then those of unknown cost


def test_uniform_shares_are_over_what_was_run() -> None:
    test = split_of(TRAIN, TEST).test
    assert uniform(test).tolist() == [[1 / 3] * 3, [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
    assert np.isnan(dense(test)).tolist() == [[False] * 3, [False, True, False], [True, True, False]]


# -- forecasts --------------------------------------------------------------------------------------------------------

FORECASTS = st.lists(st.tuples(GRID, st.integers(0, 8).map(lambda n: n / 8)), max_size=12)


@given(FORECASTS)
def test_auc_equals_the_count_of_pairs(pairs: list[tuple[float, float]]) -> None:
    y, p = [a for a, _ in pairs], [b for _, b in pairs]
    # Each outcome is y successes and 1 - y failures of the same forecast.
    weight = sum(a * (1.0 - b) for a in y for b in y)
    won = sum(
        y[i] * (1.0 - y[j]) * (1.0 if p[i] > p[j] else 0.5 if p[i] == p[j] else 0.0)
        for i in range(len(y))
        for j in range(len(y))
    )
    found = auc(y, p)
    if sum(y) == 0 or sum(y) == len(y):
        assert found is None
    else:
        assert found == pytest.approx(won / weight)


@given(FORECASTS)
def test_log_loss_equals_its_definition(pairs: list[tuple[float, float]]) -> None:
    def one(y: float, p: float) -> float:
        p = min(max(p, 1e-6), 1 - 1e-6)
        return -(y * math.log(p) + (1 - y) * math.log(1 - p))

    found = log_loss([a for a, _ in pairs], [b for _, b in pairs])
    if pairs:
        assert found == pytest.approx(sum(one(*pair) for pair in pairs) / len(pairs))
    else:
        assert found is None
