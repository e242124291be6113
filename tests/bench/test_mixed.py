"""`mixed`: suites with common routes are found, and where their best pairs differ, who can tell them apart gains."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest, Unit
from hmrouter.bench.experiments.mixed.experiment import Mixed, elsewhere, groups_of, joined_split
from hmrouter.bench.run.unit_keys import UnitKeys

FORMAT = Path(__file__).parents[2] / "docs" / "results-format.md"
ROUTES = [(m, h) for m in ("ash", "birch", "cedar") for h in ("loop", "pilot")]
WORDS = ("parser", "invoice", "museum", "robot", "ticket", "weather", "library", "sensor")
ASKED = {
    "mending": "repair the failing test of the",
    "travel": "find three cheap offers to visit the",
    "notes": "sum up the",
}


def coin(*parts: object) -> float:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4]) / 2**32


@pytest.fixture
def planted(plant: Callable[..., Path], tmp_path: Path) -> Callable[..., Benchmark]:
    """A benchmark on which one route is better by 35 points than the others."""

    def make(name: str, best: int, n: int = 90, routes: Sequence[tuple[str, str]] = ROUTES, **more: Any) -> Benchmark:
        asked = ASKED.get(name, name)
        more.setdefault("text", lambda i: f"{asked} {WORDS[i % 8]} number {i}")
        score = more.pop("score", lambda i, j: float(coin(name, i, j) < 0.45 + 0.35 * (j == best)))
        return Benchmark.at(plant(tmp_path / name, n, routes=routes, score=score, **more))

    return make


def judged(benchmarks: Sequence[Benchmark], *methods: str, splits: int = 3) -> list[dict[str, Any]]:
    request = RunRequest(benchmarks, methods, splits)
    by_name = {b.name: b for b in benchmarks}
    return [row for u in Mixed().units(request) for row in Mixed().run(u, by_name[u.benchmark], request)]


def mean(rows: Sequence[dict[str, Any]], method: str, key: str = "accuracy") -> float:
    return float(np.mean([r[key] for r in rows if r["method"] == method]))


def test_where_suites_differ_one_pair_for_all_loses(planted: Callable[..., Benchmark]) -> None:
    benchmarks = [planted("mending", 0), planted("travel", 5)]
    rows = judged(benchmarks, "random", "fixed", "fixed_per_suite", "safe_alone", "safe", "oracle")
    assert {r["benchmark"] for r in rows} == {"mending+travel"}
    fixed = mean(rows, "fixed")
    assert mean(rows, "random") < fixed
    for method in ("fixed_per_suite", "safe_alone", "safe"):
        assert mean(rows, method) > fixed + 0.1
    assert mean(rows, "safe", "per_task") == 1.0
    assert {r["per_task"] for r in rows if r["method"] in ("random", "fixed", "fixed_per_suite", "oracle")} == {None}
    for r in rows:
        parts = r["suites"]
        assert set(parts) == {"mending", "travel"}
        assert sum(n for _, _, n in parts.values()) == r["n_test"]
        assert r["accuracy"] == pytest.approx(sum(a * n for a, _, n in parts.values()) / r["n_test"])
        assert r["oracle_accuracy"] == pytest.approx(sum(o * n for _, o, n in parts.values()) / r["n_test"])


def test_where_they_do_not_differ_nothing_is_lost(planted: Callable[..., Benchmark]) -> None:
    rows = judged([planted("mending", 3), planted("travel", 3)], "fixed", "fixed_per_suite", "safe_alone")
    assert mean(rows, "safe_alone") == pytest.approx(mean(rows, "fixed"), abs=0.02)
    assert mean(rows, "safe_alone", "per_task") == 0.0


def test_groups_share_routes_and_no_task(planted: Callable[..., Benchmark]) -> None:
    mending, travel, notes = planted("mending", 0), planted("travel", 1), planted("notes", 2, routes=ROUTES[:5])
    twin = planted("twin", 0, text=lambda i: f"{ASKED['mending']} {WORDS[i % 8]} number {i}")  # the same tasks
    few, strange = planted("few", 0, routes=ROUTES[:4]), planted("strange", 0, routes=[(m, "new") for m in "abcdef"])
    named = [[b.name for b in group] for group in groups_of([mending, travel, twin, notes, few, strange])]
    assert named == [["mending", "travel", "notes"], ["twin", "travel", "notes"]]
    assert groups_of([mending, twin, few, strange]) == []
    assert [b.name for b in elsewhere((mending, travel), [mending, travel, twin, notes, few])] == ["notes", "few"]


def test_only_common_routes_and_every_suite_is_split(planted: Callable[..., Benchmark]) -> None:
    group = (planted("mending", 0, n=40), planted("notes", 2, n=20, routes=ROUTES[1:]))
    split = joined_split(group, 0, 0)
    assert len(split.train.routes) == len(split.test.routes) == 5
    sizes = [[sum(t.suite == s for t in side.tasks) for s in side.suites] for side in (split.train, split.test)]
    assert sizes == [[28, 14], [12, 6]]
    assert not {t.key for t in split.train.tasks} & {t.key for t in split.test.tasks}


def test_results_are_kept_under_everything_that_was_read(planted: Callable[..., Benchmark]) -> None:
    benchmarks = [planted("mending", 0), planted("travel", 1), planted("few", 0, routes=ROUTES[:4])]
    keys = UnitKeys({"mixed": RunRequest(benchmarks, ["safe", "fixed", "fixed_per_suite"])})
    also = {m: list(keys.of(Unit("mixed", "mending", m, 0))["also"]) for m in ("safe", "fixed", "fixed_per_suite")}
    assert also == {"safe": ["travel", "few"], "fixed": ["travel"], "fixed_per_suite": ["travel"]}


def test_tables_and_figures(planted: Callable[..., Benchmark]) -> None:
    rows = judged(
        [planted("mending", 0), planted("travel", 5)], "random", "fixed", "fixed_per_suite", "safe_alone", splits=2
    )
    experiment = Mixed()
    tables = {t.title: t for t in experiment.tables(rows)}
    suites = tables["Suites of mending+travel"]
    assert [line[0] for line in suites.rows] == ["mending", "travel"]
    assert list(suites.columns) == ["suite", "random", "fixed", "fixed_per_suite", "safe_alone"]
    of_random = [r["suites"]["travel"] for r in rows if r["method"] == "random"]
    assert suites.rows[1][1] == pytest.approx(100 * np.mean([accuracy / oracle for accuracy, oracle, _ in of_random]))
    assert list(tables["Groups of suites"].rows[0]) == ["mending+travel", 6, 126, 54, 100.0, None]
    (figure,) = experiment.figures(rows)
    assert [s.name for s in figure.series] == ["fixed_per_suite", "safe_alone"]
    assert figure.series[0].y[0] > 5.0
    assert "fixed_per_suite +" in experiment.headline(rows)
    assert experiment.figures([r for r in rows if r["method"] == "random"]) == []
    documented = FORMAT.read_text()
    assert all(f"| `{key}` |" in documented for key in rows[0])
