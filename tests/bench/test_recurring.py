"""`recurring`: earlier and later runs of a task, families apart and together, and what it takes to gain from them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.path import split_of
from hmrouter.bench.experiments.recurring import report
from hmrouter.bench.experiments.recurring.earlier import EARLIER, repeated_routes, rerun
from hmrouter.bench.experiments.recurring.experiment import Recurring, naive_value
from hmrouter.bench.experiments.recurring.families import FAMILY, families_of, family_split, has_families

ROUTES = [(f"m{m}", f"h{h}") for m in range(2) for h in range(2)]


def write(folder: Path, tasks: int, runs: int, scenario: int = 0, seed: int = 0) -> Benchmark:
    """A benchmark on which tasks, or scenarios of several tasks, suit one pair or another, the first most often."""
    folder.mkdir()
    rng = np.random.default_rng(seed)
    with (folder / "outcomes.csv").open("w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["query_id", "model", "harness", "score", "n_trials"])
        suits: dict[int, int] = {}
        for i in range(tasks):
            best = suits.setdefault(i // scenario if scenario else i, int(rng.choice(4, p=[0.4, 0.2, 0.2, 0.2])))
            for j, (model, harness) in enumerate(ROUTES):
                good = rng.binomial(runs, 0.9 if j == best else 0.2)
                out.writerow([f"q{i:03d}", model, harness, good / runs, runs])
    with (folder / "queries.jsonl").open("w") as f:
        for i in range(tasks):
            meta = {"scenario": f"s{i // scenario}"} if scenario else {}
            f.write(json.dumps({"query_id": f"q{i:03d}", "text": "", "meta": meta}) + "\n")
    return Benchmark.at(folder)


def judged(benchmark: Benchmark, *methods: str, splits: int = 3, settings: Sequence[str] = ()) -> list[dict[str, Any]]:
    request = RunRequest([benchmark], methods, splits)
    units = [u for u in Recurring().units(request) if not settings or u.setting in settings]
    return [row for u in units for row in Recurring().run(u, benchmark, request)]


def mean(rows: Sequence[dict[str, Any]], method: str, setting: str) -> float:
    return float(np.mean([r["accuracy"] for r in rows if r["method"] == method and r["setting"] == setting]))


def test_who_remembers_gains_from_earlier_runs(tmp_path: Path) -> None:
    rows = judged(write(tmp_path / "w", 90, 5), "random", "fixed", "naive", "safe_forgetful", "safe_alone", "oracle")
    assert {r["setting"] for r in rows} == set(EARLIER)
    for setting in EARLIER:
        assert mean(rows, "random", setting) < mean(rows, "fixed", setting) < mean(rows, "oracle", setting)
        assert mean(rows, "fixed", setting) == mean(rows, "fixed", "none")
    assert mean(rows, "safe_alone", "best 1") > mean(rows, "fixed", "best 1") + 0.05
    assert mean(rows, "safe_alone", "best 4") > mean(rows, "safe_alone", "best 1") + 0.1
    assert mean(rows, "safe_alone", "best 4") > mean(rows, "naive", "best 4") - 0.06
    assert mean(rows, "naive", "best 4") > mean(rows, "fixed", "best 4") + 0.1
    assert mean(rows, "safe_forgetful", "best 4") == pytest.approx(mean(rows, "fixed", "best 4"), abs=0.05)
    assert mean(rows, "safe_alone", "none") == mean(rows, "safe_forgetful", "none")


def test_families_apart_tell_and_together_they_do_not(tmp_path: Path) -> None:
    rows = judged(write(tmp_path / "w", 120, 1, scenario=3), "fixed", "safe_forgetful", "safe_alone")
    assert {r["setting"] for r in rows} == set(FAMILY)  # nothing was run twice
    apart, together = FAMILY
    assert mean(rows, "safe_alone", apart) > mean(rows, "fixed", apart) + 0.1
    assert mean(rows, "safe_alone", together) == mean(rows, "safe_forgetful", together)


def test_a_cell_is_split_into_one_earlier_run_and_the_later_ones(tmp_path: Path) -> None:
    benchmark = write(tmp_path / "w", 40, 5)
    split = split_of(benchmark, 0, 0)
    whole, later = split.test.cells, {s: rerun(split, s, 0) for s in EARLIER}
    for setting, ran in later.items():
        cells = ran.split.test.cells
        assert (cells.trials == 4).all()
        assert np.array_equal(cells.score, later["none"].split.test.cells.score)  # whatever is known
        successes = cells.score * 4
        assert successes == pytest.approx(successes.round())
        drawn = (whole.score * 5 - successes).round()
        assert set(drawn.tolist()) <= {0.0, 1.0}
        known = ~np.isnan(ran.earlier)
        each = 0 if setting == "none" else int(setting.split()[1])
        assert (known.sum(axis=1) == each).all()
        assert len(ran.known.cells) == len(split.train.cells) + known.sum()
        dense = np.full(known.shape, np.nan)
        dense[whole.task, whole.route] = drawn
        assert np.array_equal(ran.earlier[known], dense[known])
    means = split.train.route_means()
    best = int(np.argmax(means))
    assert (~np.isnan(later["best 1"].earlier)).sum(axis=0).tolist() == [
        len(split.test.tasks) if j == best else 0 for j in range(4)
    ]
    assert len(np.unique((~np.isnan(later["random 1"].earlier)).argmax(axis=1))) > 1


def test_an_earlier_run_succeeds_as_often_as_its_cell(tmp_path: Path) -> None:
    split = split_of(write(tmp_path / "w", 400, 5), 0, 0)
    earlier = rerun(split, "best 4", 0).earlier
    assert float(np.nanmean(earlier)) == pytest.approx(
        float(split.test.cells.score.mean()), abs=0.05
    )  # three standard errors


def test_the_naive_rule() -> None:
    merit = np.array([0.6, 0.5, 0.4])
    nan = np.nan
    for earlier, best in (([nan, nan, nan], 0), ([0.0, nan, nan], 1), ([0.0, 0.0, nan], 2), ([nan, nan, 1.0], 2),
                          ([1.0, nan, 1.0], 0), ([0.0, 0.0, 0.0], 0)):  # fmt: skip
        assert int(naive_value(merit, np.array(earlier)).argmax()) == best


def test_who_cannot_take_part_is_told_why(tmp_path: Path) -> None:
    once = write(tmp_path / "once", 30, 1)
    assert "run several times" in Recurring().refusal(once)
    assert not Recurring().refusal(write(tmp_path / "twice", 30, 2))
    assert repeated_routes(once.data()) == []


def test_families_are_split_within_or_whole(tmp_path: Path) -> None:
    benchmark = write(tmp_path / "w", 60, 1, scenario=3)
    assert has_families(benchmark)
    of = families_of(benchmark)
    sides = {
        together: [{of[t.key] for t in side.tasks} for side in (split.train, split.test)]
        for together in (False, True)
        for split in [family_split(benchmark, together, 0, 0)]
    }
    assert sides[False][0] == sides[False][1] == set(of.values())
    assert not sides[True][0] & sides[True][1]
    few = write(tmp_path / "few", 12, 1, scenario=3)
    assert not has_families(few)


def test_the_report_is_made_of_rows_alone(tmp_path: Path) -> None:
    rows = judged(write(tmp_path / "w", 60, 3), "random", "fixed", "naive", "safe_alone", "oracle", splits=2)
    tables = report.tables(rows)
    assert [t.title for t in tables[:3]] == [
        "Tasks that come again: mean of benchmarks",
        "Tasks that come again: difference to Fixed",
        "Tasks that come again: points of raw accuracy",
    ]
    assert [r[0] for r in tables[0].rows] == list(EARLIER)
    assert "naive" in report.headline(rows)
    assert [f.name for f in report.figures(rows)] == ["recurring"]
