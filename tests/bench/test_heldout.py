"""`heldout`: what is learned elsewhere carries over when factors are shared, and not when they are shuffled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest, Unit
from hmrouter.bench.experiments.heldout.experiment import HeldOut, heldout_split
from hmrouter.bench.run.suite import plan_suite
from hmrouter.bench.run.unit_keys import UnitKeys
from hmrouter.errors import InputError
from hmrouter.types import Route

Plant = Callable[..., Path]
FORMAT = Path(__file__).parents[2] / "docs" / "results-format.md"

MODELS, HARNESSES = ("ash", "birch", "cedar"), ("loop", "pilot", "shell")
STRENGTH = (0.5, 0.0, -0.5)
PAIRS = tuple(product(MODELS, HARNESSES))
ELSEWHERE = tuple(pair for pair in PAIRS if pair != ("ash", "loop"))
"""The best pair is run nowhere but on the benchmark that is held out."""


def coin(*parts: object) -> float:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4]) / 2**32


def score_of(name: str, routes: Sequence[tuple[str, str]], models: int, harnesses: int) -> Callable[[int, int], float]:
    """Strengths add up; the names of models and harnesses are moved on by so many places."""

    def score(i: int, j: int) -> float:
        m = (MODELS.index(routes[j][0]) + models) % 3
        h = (HARNESSES.index(routes[j][1]) + harnesses) % 3
        return float(coin(name, i) < 0.5 + 0.4 * (STRENGTH[m] + STRENGTH[h]))

    return score


@pytest.fixture
def planted(plant: Plant, tmp_path: Path) -> Callable[..., Benchmark]:
    def make(folder: str, *, tasks: str = "", shift: tuple[int, int] = (0, 0), n: int = 40, **more: Any) -> Benchmark:
        routes = more.pop("routes", PAIRS)
        tasks = tasks or folder
        more.setdefault("text", lambda i: f"{tasks} {i}: {'mend' if i % 2 else 'sort'} part {i % 7}")
        return Benchmark.at(plant(tmp_path / folder, n, routes=routes, score=score_of(tasks, routes, *shift), **more))

    return make


def judged(benchmark: Benchmark, benchmarks: Sequence[Benchmark], *methods: str) -> dict[str, dict[str, Any]]:
    request = RunRequest(benchmarks, methods, 1)
    units = [u for u in HeldOut().units(request) if u.benchmark == benchmark.name]
    return {u.method: HeldOut().run(u, benchmark, request)[0] for u in units}


def test_it_transfers_when_factors_are_shared(planted: Callable[..., Benchmark]) -> None:
    new, first, second = planted("new", n=80), *(planted(b, routes=ELSEWHERE, n=80) for b in ("first", "second"))
    rows = judged(new, [new, first, second], "random", "fixed", "component_average", "hm", "safe", "oracle")
    accuracy = {m: r["normalized_accuracy"] for m, r in rows.items()}
    assert accuracy["component_average"] == accuracy["oracle"] == 1.0
    assert accuracy["hm"] > accuracy["fixed"] + 0.05  # which does not know the best pair
    assert accuracy["fixed"] > accuracy["random"] + 0.1
    assert rows["hm"]["n_routes"] == 9
    assert rows["hm"]["n_routes_elsewhere"] == 8
    assert rows["hm"]["learned_from"] == ["first", "second"]


def test_it_does_not_when_they_are_shuffled(planted: Callable[..., Benchmark]) -> None:
    # Nine benchmarks with the same tasks, in which the names stand for other factors each time: whichever pair is
    # chosen, it is every kind of pair once, so the mean is that of a blind choice, but for which tasks are tested.
    shuffled = [planted(f"new{m}{h}", tasks="new", shift=(m, h)) for m in range(3) for h in range(3)]
    known = [planted("first", n=20), planted("second", n=20)]
    rows = [judged(b, [*shuffled, *known], "random", "hm") for b in shuffled]
    assert {tuple(r["hm"]["learned_from"]) for r in rows} == {("first", "second")}
    mean = {m: np.mean([r[m]["accuracy"] for r in rows]) for m in ("random", "hm")}
    assert mean["hm"] == pytest.approx(mean["random"], abs=0.03)
    assert rows[0]["hm"]["accuracy"] > mean["hm"] + 0.2  # the one that is not shuffled


def test_methods_that_know_routes_choose_among_those_run_elsewhere(planted: Callable[..., Benchmark]) -> None:
    new = planted("new")
    benchmarks = [new, planted("first", routes=[("cedar", "shell")])]
    rows = judged(new, benchmarks, "fixed", "knn", "avengers", "component_average", "hm")
    split = heldout_split(new, (benchmarks[1],), 0, 0)
    only = split.test.route_means()[split.test.routes.index(Route("cedar", "shell"))]
    for method in ("fixed", "knn", "avengers"):
        assert rows[method]["accuracy"] == pytest.approx(only)


def test_nothing_of_the_benchmark_itself_is_learned(planted: Callable[..., Benchmark]) -> None:
    new, first = planted("new"), planted("first")
    twin = planted("twin", tasks="new")  # the same tasks under another name
    split = heldout_split(new, (first,), 0, 0)
    assert split.train.suites == ("first",)
    assert split.test.suites == ("new",)
    assert split.train.routes == split.test.routes
    assert not {t.key for t in split.train.tasks} & {t.key for t in first.data().splits(1)[0].test.tasks}
    rows = judged(new, [new, first, twin], "fixed")
    assert rows["fixed"]["learned_from"] == ["first"]


def test_benchmarks_that_cannot_be_held_out(planted: Callable[..., Benchmark]) -> None:
    new, twin = planted("new"), planted("twin", tasks="new")
    strange = planted("strange", routes=[("ash", "loop"), ("birch", "loop")])
    apart = planted("apart", routes=[("cedar", "shell")])
    with pytest.raises(InputError, match="no other benchmark that shares no task"):
        judged(new, [new, twin], "random")
    with pytest.raises(InputError, match="none of its routes was run on another benchmark"):
        judged(strange, [strange, apart], "random")


def test_results_are_kept_under_everything_that_was_learned_from(planted: Callable[..., Benchmark]) -> None:
    new, first, second = planted("new"), planted("first"), planted("second")
    unit = Unit("heldout", "new", "hm", 0)
    keys = [
        UnitKeys({"heldout": RunRequest(benchmarks, ["hm"])}).of(unit)["also"]
        for benchmarks in ([new, first], [new, first, second], [new, first, planted("second", n=41)])
    ]
    assert [list(key) for key in keys] == [["first"], ["first", "second"], ["first", "second"]]
    assert keys[1]["second"] != keys[2]["second"]


def test_tables_and_figures(planted: Callable[..., Benchmark], tmp_path: Path) -> None:
    benchmarks = [planted(name, n=20) for name in ("scicode", "first")]
    methods = ("random", "fixed", "component_average", "oracle")
    rows = [row for b in benchmarks for row in judged(b, benchmarks, *methods).values()]
    experiment = HeldOut()
    tables = {t.title: t for t in experiment.tables(rows)}
    assert [line[0] for line in tables["Held-out benchmarks, oracle-normalised"].rows] == ["scicode", "first", "mean"]
    assert [line[0] for line in tables["The paper's held-out benchmarks, oracle-normalised"].rows] == [
        "scicode",
        "mean",
    ]
    assert list(tables["What was known of held-out benchmarks"].rows[0]) == ["scicode", 9, 9, "first"]
    bars, grid, paper = experiment.figures(rows)
    assert {s.name for s in bars.series} == set(methods)
    assert grid.grid["rows"] == ["scicode", "first"]
    for line, best in zip(grid.grid["values"], grid.grid["row_best"], strict=True):  # all that are equal, no reference
        assert best == [i for i in (1, 2) if line[i] == max(line[1:3])]
    assert list(paper.x_names) == ["scicode"]
    assert {s.name: list(s.y) for s in paper.series} == {
        m: [grid.grid["values"][0][i]] for i, m in enumerate(methods[:3])
    }
    assert "fixed" in experiment.headline(rows)
    suite = plan_suite(["heldout"], [tmp_path], methods=["fixed"])
    assert not suite.left_out
    documented = FORMAT.read_text()
    assert all(f"| `{key}` |" in documented for key in rows[0])
