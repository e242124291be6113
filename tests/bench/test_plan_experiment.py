"""`plan` against outcomes replayed by hand, and the choice of settings on training tasks alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.path import embedded, split_of
from hmrouter.bench.experiments.plan import report
from hmrouter.bench.experiments.plan.experiment import LAMBDAS, NOISY, PERFECT, Plans, Side, priced_split
from hmrouter.bench.experiments.plan.replay import Outlook
from hmrouter.bench.judge.choices import dense
from hmrouter.plan.difficulty import Difficulty
from hmrouter.types import Outcome, Route, Task

Plant = Callable[..., Path]
RowsOf = Callable[..., list[dict[str, Any]]]
FORMAT = Path(__file__).parents[2] / "docs" / "results-format.md"

ROUTES = [("cheap", "x"), ("fair", "x"), ("good", "x"), ("twin", "x")]
LEVEL, DOLLARS = (0.3, 0.45, 0.6, 0.59), (0.05, 0.3, 2.0, 2.1)


def coin(*parts: object) -> float:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4]) / 2**32


def planted_score(i: int, j: int) -> float:
    """Half of what decides is the task's difficulty, half luck."""
    return float(0.6 * coin(i) + 0.4 * coin(i, j) < LEVEL[j])


@pytest.fixture(scope="module")
def graded(plant: Plant, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Cheap routes solve the easy tasks, dear ones more of them."""
    folder = tmp_path_factory.mktemp("graded") / "graded"
    return Benchmark.at(plant(folder, 60, routes=ROUTES, score=planted_score, cost=lambda i, j: DOLLARS[j]))


@pytest.fixture(scope="module")
def rows(graded: Benchmark, rows_of: RowsOf) -> list[dict[str, Any]]:
    """All methods on two splits."""
    return rows_of("plan", graded, *Plans.methods)


def side_of(benchmark: Benchmark) -> tuple[Side, Any]:
    split = priced_split(split_of(benchmark, 0, 0))
    training, x_test = embedded(split, RunRequest([benchmark], ()))
    return Side(training, x_test, split.test, priced=True), split


def test_a_plan_costs_less_than_the_best_pair_and_solves_as_much(rows: list[dict[str, Any]]) -> None:
    train = [r for r in rows if r["setting"] == "train"]
    mean = {m: np.mean([[r["accuracy"], r["cost_usd"]] for r in train if r["method"] == m], axis=0)
            for m in ("fixed", "single", "plan")}  # fmt: skip
    assert mean["plan"][1] < 0.7 * mean["fixed"][1]
    assert mean["plan"][0] >= mean["fixed"][0] - 0.01
    assert mean["single"][0] <= mean["plan"][0] + 1e-9


@pytest.mark.parametrize("verifier", [PERFECT, NOISY])
def test_outcomes_are_replayed_attempt_by_attempt(graded: Benchmark, verifier: Any) -> None:
    side, split = side_of(graded)
    made = side.sequences("plan", [0.05], verifier)[0.05]
    real = side.real("plan", made, verifier)
    score, dollars = dense(split.test), dense(split.test, "cost")
    accuracy = cost = 0.0
    for i, sequence in enumerate(made):
        reach = 1.0
        for j in sequence:
            cost += reach * dollars[i, j]
            accuracy += reach * score[i, j] * (1 - verifier.false_fail)
            reach *= verifier.false_fail if score[i, j] else 1 - verifier.false_pass
    assert (real.accuracy, real.cost, real.tasks) == pytest.approx((accuracy, cost, len(score)))


def test_the_test_side_does_not_choose_the_setting(
    graded: Benchmark, rows: list[dict[str, Any]], plant: Plant, tmp_path: Path, rows_of: RowsOf
) -> None:
    tested = {int(t.id[1:]) for t in graded.data().splits(1)[0].test.tasks}
    other = Benchmark.at(
        plant(
            tmp_path / "other" / "graded", 60, routes=ROUTES, cost=lambda i, j: DOLLARS[j],
            score=lambda i, j: 1.0 - planted_score(i, j) if i in tested else planted_score(i, j),
        )
    )  # fmt: skip
    (one,) = [r for r in rows if (r["method"], r["setting"], r["split"]) == ("plan", "train", 0)]
    (two,) = [r for r in rows_of("plan", other, "plan", splits=1) if r["setting"] == "train"]
    same = ("train_accuracy", "train_cost_usd", "promised_accuracy", "promised_cost_usd")
    assert [one[k] for k in same] == [two[k] for k in same]
    assert one["accuracy"] != two["accuracy"]


def test_rows_are_the_documented_ones(rows: list[dict[str, Any]]) -> None:
    methods, rows = Plans.methods, [r for r in rows if r["split"] == 0]
    settings = {m: [r["setting"] for r in rows if r["method"] == m] for m in methods}
    frontier = [f"lambda={w:g}" for w in LAMBDAS]
    noisy = [*(f"{s} 5%/5%" for s in frontier), "train 5%/5%"]
    assert settings["random"] == settings["fixed"] == settings["oracle"] == ["train"]
    assert settings["single"] == [*frontier, "train"]
    assert settings["plan"] == [*frontier, "train", "train 5%/5% unaware", *noisy]
    assert settings["plan_independent"] == settings["plan_by_ratio"] == [*frontier, "train", *noisy]
    assert all(r["verifier"] == ("5%/5%" if "5%/5%" in r["setting"] else "perfect") for r in rows)
    assert [r["setting"] for r in rows if not r["aware"]] == ["train 5%/5% unaware"]
    for r in rows:
        if r["method"] in ("random", "oracle"):
            assert r["promised_accuracy"] is r["promised_cost_usd"] is None
        else:
            assert 0 <= r["promised_accuracy"] <= 1
            assert r["promised_cost_usd"] > 0
        assert 1 <= r["attempts"] <= 3
    (train,) = [r for r in rows if r["method"] == "plan" and r["setting"] == "train"]
    assert any(
        {**r, "setting": "train"} == train for r in rows if r["method"] == "plan" and r["setting"].startswith("lambda=")
    )


def test_random_and_oracle_are_single_attempts(graded: Benchmark, rows: list[dict[str, Any]]) -> None:
    score = dense(side_of(graded)[1].test)
    (random, oracle) = [r for m in ("random", "oracle") for r in rows if (r["method"], r["split"]) == (m, 0)]
    assert random["accuracy"] == pytest.approx(score.mean())
    assert random["cost_usd"] == pytest.approx(np.mean(DOLLARS))
    assert oracle["accuracy"] == pytest.approx(score.max(axis=1).mean())
    cheapest = [min(DOLLARS[j] for j in range(4) if line[j] == line.max()) for line in score]
    assert oracle["cost_usd"] == pytest.approx(np.mean(cheapest))
    assert random["attempts"] == oracle["attempts"] == 1


def test_a_frontier_spends_less_and_less(rows: list[dict[str, Any]]) -> None:
    rows = [r for r in rows if r["method"] == "plan" and r["split"] == 0]
    promised = [
        r["promised_cost_usd"] for r in rows if r["setting"].startswith("lambda=") and r["verifier"] == "perfect"
    ]
    assert promised == sorted(promised, reverse=True)
    assert promised[0] > promised[-1]


def test_independence_promises_too_much_and_the_scenarios_do_not(rows: list[dict[str, Any]]) -> None:
    error = {
        m: np.mean(
            [r["promised_accuracy"] - r["accuracy"] for r in rows if r["method"] == m and r["setting"] == "lambda=0"]
        )
        for m in ("plan", "plan_independent")
    }
    assert abs(error["plan"]) < 0.06
    assert error["plan_independent"] > 0.06


def test_order_by_ratio_takes_what_is_worth_its_cost_by_success_per_dollar(graded: Benchmark) -> None:
    side, _ = side_of(graded)
    made, dollars = side.sequences("plan_by_ratio", [0.0, 0.4], PERFECT), side.outlook.dollars
    for weight, sequences in made.items():
        for p, sequence in zip(side.outlook.merit, sequences, strict=True):
            worth = [j for j in range(4) if p[j] > weight * dollars[j]]
            assert list(sequence) == sorted(worth, key=lambda j: -p[j] / dollars[j])[:3]
    assert {len(sequence) for sequence in made[0.0]} == {3}
    assert min(len(sequence) for sequence in made[0.4]) < 3


def test_a_benchmark_without_costs_has_plans_for_success(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    path = plant(tmp_path / "free", 40, routes=ROUTES, score=planted_score, cost=lambda i, j: None)
    rows = rows_of("plan", Benchmark.at(path), *Plans.methods, splits=1)
    assert {r["setting"] for r in rows if r["method"] == "plan"} == {
        "lambda=0", "train", "lambda=0 5%/5%", "train 5%/5%", "train 5%/5% unaware",
    }  # fmt: skip
    assert {(r["cost_usd"], r["promised_cost_usd"]) for r in rows} == {(None, None)}
    accuracy = {r["method"]: r["accuracy"] for r in rows if r["setting"] == "train"}
    assert accuracy["plan"] >= accuracy["fixed"]


def test_holes_and_soft_scores_are_judged(sparse_world: Benchmark, rows_of: RowsOf) -> None:
    for r in rows_of("plan", sparse_world, *Plans.methods, splits=1):
        assert 0 <= r["accuracy"] <= r["oracle_accuracy"] + 1e-9  # of single runs the best is the most there is
    side, split = side_of(sparse_world)
    ran = ~np.isnan(dense(split.test))
    for i, sequence in zip(side.outlook.judged, side.sequences("plan", [0.0], PERFECT)[0.0], strict=True):
        assert ran[i, list(sequence)].all()


def outlook(cells: list[Outcome], repeated: frozenset[Route] = frozenset()) -> Outlook:
    from hmrouter.evidence.dataset import Dataset

    data = Dataset(cells)
    shape = (len(data.tasks), len(data.routes))
    return Outlook(
        data, np.full(shape, 0.5), np.full(shape, 0.5), np.ones(shape[1]), Difficulty(repeated=repeated, likeness=0.1),
        tuple(range(shape[1])), 1.0,
    )  # fmt: skip


def test_of_several_runs_each_is_as_likely_to_be_the_next() -> None:
    """Two of four runs passed: the second attempt after a failure is one of three, of which two passed."""
    route = Route("gpt-5", "codex")
    one = outlook([Outcome(Task("t"), route, 0.5, n_trials=4, cost=1.0)], frozenset({route}))
    assert one.sequences("plan", [0.0], PERFECT)[0.0] == [(0, 0, 0)]
    real = one.replayed([(0, 0, 0)], PERFECT)
    reached = [1.0, 1 / 2, 1 / 2 * 1 / 3]
    assert real.accuracy == pytest.approx(sum(r * p for r, p in zip(reached, [1 / 2, 2 / 3, 1.0], strict=True)))
    assert real.cost == pytest.approx(sum(reached))


def test_a_route_is_tried_no_more_often_than_it_was_run() -> None:
    route = Route("gpt-5", "codex")
    for runs, longest in ((1, 1), (2, 2), (5, 3)):
        one = outlook([Outcome(Task("t"), route, 0.5, n_trials=runs, cost=1.0)], frozenset({route}))
        assert one.sequences("plan", [0.0], PERFECT)[0.0] == [(0,) * longest]


def test_a_soft_score_below_the_threshold_is_not_delivered() -> None:
    routes = [Route("a", "codex"), Route("b", "codex")]
    cells = [Outcome(Task("t"), r, s, cost=1.0) for r, s in zip(routes, (0.4, 0.75), strict=True)]
    assert outlook(cells).replayed([(0, 1)], PERFECT) == (1, 0.75, 2.0, 2.0)
    assert outlook(cells).replayed([(0,)], PERFECT) == (1, 0.0, 1.0, 1.0)


def test_the_report_is_made_of_rows(rows: list[dict[str, Any]]) -> None:
    tables = {t.title: t for t in report.tables(rows)}
    assert list(tables) == ["Cost beside Fixed", "Accuracy beside Fixed", "Promises", "A verifier that is wrong"]
    own = {m: [r for r in rows if r["method"] == m and r["setting"] == "train"] for m in ("fixed", "plan")}
    cost = {m: np.mean([r["cost_usd"] for r in own[m]]) for m in own}
    at = list(tables["Cost beside Fixed"].columns).index("plan")
    line = tables["Cost beside Fixed"].rows[0]
    assert line[0] == "graded"
    assert line[at] == pytest.approx(cost["plan"] / cost["fixed"])
    accuracy = {m: np.mean([r["accuracy"] for r in own[m]]) for m in own}
    assert tables["Accuracy beside Fixed"].rows[-1][at] == pytest.approx(100 * (accuracy["plan"] - accuracy["fixed"]))
    assert not any(c.startswith(("random", "oracle")) for c in tables["Promises"].columns)
    sentence = report.headline(rows)
    assert f"plan {cost['plan'] / cost['fixed']:.2f}x its cost" in sentence
    assert [f.name for f in report.figures(rows)] == ["plan", "plan_chosen"]
    assert report.tables([r for r in rows if r["method"] == "fixed"]) == []
    assert report.figures([]) == []


def test_every_key_is_documented(rows: list[dict[str, Any]]) -> None:
    text = FORMAT.read_text()
    assert [key for key in rows[0] if f"`{key}`" not in text] == []
    assert "\n`plan`, with one row per weight of cost" in text
