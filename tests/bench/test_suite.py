"""Whole runs in a temporary directory, and what is looked at before they begin."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.bench.experiments import EXPERIMENTS, every_experiment
from hmrouter.bench.experiments.base import Experiment, RunRequest
from hmrouter.bench.report.markdown import render_markdown
from hmrouter.bench.report.write import write_report
from hmrouter.bench.run.suite import Suite, find_benchmarks, plan_suite, run_suite, units_of, without_success
from hmrouter.bench.run.suite_page import page_of
from hmrouter.bench.run.work import run_unit
from hmrouter.errors import InputError, OutputError, UnknownName, UsageError

Plant = Callable[..., Path]
ALL = every_experiment()
ON_EVERY_TASK = ["routing", "cost", "forecast", "sparse"]
"""Experiments that judge a choice on every test task and hold nothing out."""
ROUTES = [(m, h) for m in ("atlas", "birch", "cedar") for h in ("codex", "claude-code", "hermes")]
FORMAT = Path(__file__).parents[2] / "docs" / "results-format.md"


@pytest.fixture(scope="module")
def data(plant: Plant, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two benchmarks: one with the tasks' own costs, one with route means and repeated runs."""
    folder = tmp_path_factory.mktemp("data")
    plant(folder / "alpha", 30, routes=ROUTES)
    # other texts: with the same ones, the two would not be other benchmarks for each other
    journey = "Plan journey {} to the coast".format
    plant(folder / "beta", 34, routes=ROUTES, route_means=True, text=journey, trials=2)
    return folder


@pytest.fixture(scope="module")
def ran(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Suite, Path]:
    """All experiments with a few methods."""
    out = tmp_path_factory.mktemp("out")
    methods = ["random", "fixed", "knn", "avengers_pro", "description", "oracle"]
    suite = plan_suite(ALL, [data], methods=methods, splits=2)
    run_suite(suite, out, jobs=1)
    return suite, out


# -- results.json ---------------------------------------------------------------------------------------------------


def test_tables_and_figures_recompute_from_the_file(ran: tuple[Suite, Path]) -> None:
    suite, out = ran
    rows = json.loads((out / "results.json").read_text())
    assert rows == suite.results.rows
    sections = page_of(suite, "command").sections
    assert [s.name for s in sections] == ALL
    for section in sections:
        experiment: Experiment = EXPERIMENTS.load(section.name)()
        own = [r for r in rows if r["experiment"] == section.name]
        assert experiment.tables(own) == section.tables
        assert experiment.figures(own) == section.figures
        assert section.tables
        # these two draw the vectors and scores of hm, which does not run here
        assert section.figures or section.name in ("representations", "interaction")


def test_a_cell_of_the_table_is_the_mean_of_its_rows(ran: tuple[Suite, Path]) -> None:
    rows = ran[0].rows_of("routing")
    table = EXPERIMENTS.load("routing")().tables(rows)[0]
    assert list(table.columns) == ["benchmark", "random", "fixed", "knn", "avengers_pro", "oracle"]
    cells: dict[tuple[str, str], Any] = {
        (str(line[0]), method): value
        for line in table.rows
        for method, value in zip(table.columns[1:], line[1:], strict=True)
    }
    for method in table.columns[1:]:
        own = {b: [r["normalized_accuracy"] for r in rows if (r["benchmark"], r["method"]) == (b, method)]
               for b in ("alpha", "beta")}  # fmt: skip
        for benchmark, values in own.items():
            assert len(values) == 2
            assert cells[benchmark, method] == pytest.approx(100 * sum(values) / 2)
        assert cells["mean", method] == pytest.approx(100 * sum(sum(v) for v in own.values()) / 4)
    assert cells["mean", "oracle"] == 100.0


def test_every_key_is_documented(ran: tuple[Suite, Path]) -> None:
    common, further = FORMAT.read_text().split("## Further keys")
    keys = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
    everywhere = keys.findall(common)
    contract = {
        "experiment", "benchmark", "method", "split", "setting", "accuracy", "oracle_accuracy", "normalized_accuracy",
        "cost_usd", "auc", "log_loss", "n_test", "fit_seconds",
    }  # fmt: skip
    assert contract <= set(everywhere)
    documented = {name: set(everywhere) for name in ALL}
    for name in ALL:
        part = re.search(rf"^`{name}`.*?(?=^`({'|'.join(ALL)})`[ ,]|\Z)", further, re.MULTILINE | re.DOTALL)
        assert part
        documented[name] |= set(keys.findall(part[0]))
    for row in ran[0].results.rows:
        assert set(row) == documented[row["experiment"]], row["experiment"]
    settings = {row["setting"] for row in ran[0].results.rows} - {""}
    assert "`setting` is the number of runs" in further
    for setting in (s for s in settings if not s.isdigit()):
        assert f"`{re.sub('=.*', '=', setting)}"[:5] in further


def test_rows_are_what_the_format_says(ran: tuple[Suite, Path]) -> None:
    for row in (r for name in ON_EVERY_TASK for r in ran[0].rows_of(name)):
        assert 0 <= row["accuracy"] <= row["oracle_accuracy"] + 1e-12 <= 1 + 1e-12
        assert row["normalized_accuracy"] == pytest.approx(row["accuracy"] / row["oracle_accuracy"])
        assert (row["fit_seconds"] is None) == (row["method"] in ("random", "oracle"))
        assert (row["auc"] is None) == (
            row["experiment"] == "cost" or (row["experiment"] != "forecast" and row["method"] in ("random", "oracle"))
        )
        assert row["n_test"] == {"alpha": 9, "beta": 10}[row["benchmark"]]


# -- before it begins -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"experiments": ["routng"]}, "experiment 'routng' is not known; did you mean 'routing'"),
        ({"methods": ["fixd"]}, "method 'fixd' is not known; did you mean 'fixed'"),
        ({"embedder": "lsb"}, "embedder 'lsb' is not known; did you mean 'lsa'"),
    ],
)
def test_unknown_names_are_refused_before_the_data_is_read(asked: dict[str, Any], message: str) -> None:
    nowhere = [Path("no-such-directory")]
    with pytest.raises(UnknownName, match=re.escape(message)):
        plan_suite(asked.pop("experiments", ["routing"]), nowhere, **asked)


def test_an_embedder_without_its_settings_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HMROUTER_EMBEDDINGS_MODEL", raising=False)
    with pytest.raises(UsageError, match="HMROUTER_EMBEDDINGS_MODEL"):
        plan_suite(["routing"], [Path("no-such-directory")], embedder="openai")


def test_a_method_asked_for_twice_runs_once(data: Path) -> None:
    suite = plan_suite(["routing"], [data], methods=["fixed", "knn", "fixed"], splits=1)
    assert [u.method for u in units_of(suite)] == ["fixed", "knn"] * 2


@pytest.mark.parametrize(
    ("asked", "absent"),
    [
        (None, []),
        (["fixed", "safe"], ["random", "oracle"]),
        (["random", "fixed", "oracle", "hm"], []),
    ],
)
def test_what_of_the_three_is_absent(data: Path, asked: list[str] | None, absent: list[str]) -> None:
    # `representations` has none of the three among its methods, so that none is missing there.
    assert plan_suite(["routing", "representations"], [data], methods=asked).absent() == absent


def test_everything_is_compared_unless_told(data: Path) -> None:
    suite = plan_suite(ALL, [data])
    wanted = {
        "random", "fixed", "oracle", "component_average", "knn", "embedllm", "irtnet", "mirt", "avengers",
        "component_only", "hm", "safe",
    }  # fmt: skip
    assert wanted <= set(suite.requests["routing"].methods)
    assert wanted - {"random", "oracle"} <= set(suite.requests["forecast"].methods)
    assert "avengers_pro" in suite.requests["cost"].methods
    assert Counter(u.experiment for u in units_of(suite))["routing"] == 2 * 5 * len(suite.requests["routing"].methods)


def test_what_cannot_be_read_is_left_out(plant: Plant, tmp_path: Path) -> None:
    plant(tmp_path / "good", 10)
    plant(tmp_path / "worse", 10)
    (tmp_path / "worse" / "outcomes.csv").write_text("query_id,model,harness,score\nq0,m,h,7\n")
    plant(tmp_path / "half", 10)
    (tmp_path / "half" / "queries.jsonl").unlink()
    (tmp_path / "no benchmark").mkdir()
    plant(tmp_path / "second" / "good", 11)
    left_out: list[str] = []
    found = find_benchmarks([tmp_path, tmp_path / "second", tmp_path / "good"], left_out)
    assert [b.name for b in found] == ["good"]
    assert [reason.split(":")[0] for reason in left_out] == [
        "benchmark half", "benchmark worse", f"benchmark {tmp_path / 'second' / 'good'}",
    ]  # fmt: skip
    assert "half: no queries.jsonl in it" in left_out[0]
    assert "let the store write both files" in left_out[0]
    assert "score 7" in left_out[1]
    assert str(tmp_path / "good") in left_out[2]


def test_here_has_a_name(plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(plant(tmp_path / "mine", 10))
    (found,) = find_benchmarks([Path()], [])
    assert (found.name, found.path) == ("mine", str(tmp_path / "mine"))


def test_data_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a directory; give a benchmark directory or a folder of them"):
        plan_suite(["routing"], [tmp_path / "nowhere"])


def test_a_benchmark_that_an_experiment_cannot_use(plant: Plant, tmp_path: Path) -> None:
    plant(tmp_path / "free", 10, cost=lambda i, j: None)
    plant(tmp_path / "paid", 10)
    suite = plan_suite(["routing", "cost"], [tmp_path], methods=["fixed"])
    assert {u.benchmark for u in units_of(suite) if u.experiment == "cost"} == {"paid"}
    assert {u.benchmark for u in units_of(suite) if u.experiment == "routing"} == {"free", "paid"}
    assert suite.left_out == ["cost: benchmark free: fewer than two routes have a known cost on half of their outcomes"]
    assert set(page_of(suite, "").data) == {"free", "paid"}


# -- hard cases -----------------------------------------------------------------------------------------------------


def test_tables_of_any_choice_of_methods(ran: tuple[Suite, Path], tmp_path: Path) -> None:
    for methods in (["random"], ["oracle"], ["fixed"], ["knn"], ["random", "oracle"], ["knn", "avengers_pro"]):
        part = Suite(ran[0].requests)
        part.results.rows = [r for r in ran[0].results.rows if r["method"] in methods]
        page = page_of(part, "command")  # tables and figures are made here
        assert {s.name for s in page.sections} == {r["experiment"] for r in part.results.rows}
        assert "## What was run" in render_markdown(page)
    write_report(tmp_path, page)  # and drawn
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_one_split_has_no_interval(ran: tuple[Suite, Path]) -> None:
    part = Suite(ran[0].requests)
    part.results.rows = [r for r in ran[0].results.rows if r["split"] == 0 and r["benchmark"] == "alpha"]
    assert "inf" not in render_markdown(page_of(part, "command"))


def test_nothing_is_ever_solved(plant: Plant, tmp_path: Path) -> None:
    never = plant(tmp_path / "data" / "never", 12, score=lambda i, j: 0.0)
    always = plant(tmp_path / "data" / "always", 12, score=lambda i, j: 1.0)
    plant(tmp_path / "data" / "usual", 12)
    suite = plan_suite(ON_EVERY_TASK, [tmp_path / "data"], methods=["random", "fixed", "safe", "oracle"], splits=2)
    for unit in units_of(suite):
        done = run_unit(unit, suite.requests)
        assert not done.error
        suite.results.rows += done.rows
    rows = suite.results.rows
    assert {r["normalized_accuracy"] for r in rows if r["benchmark"] == never.name} == {None}
    assert {r["auc"] for r in rows if r["benchmark"] in (never.name, always.name)} == {None}
    reasons = without_success(rows)
    assert len(reasons) == 4
    assert all("benchmark never, split 0, 1: no route succeeded on any test task" in reason for reason in reasons)
    # left out of the means of all methods alike
    table = EXPERIMENTS.load("routing")().tables(suite.rows_of("routing"))[0]
    assert [line[0] for line in table.rows] == ["always", "usual", "mean"]
    assert table.rows[-1][-1] == 100.0
    assert None not in table.rows[-1]
    write_report(tmp_path / "out", page_of(suite, "command"))


def test_an_output_that_cannot_be_written(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    suite = plan_suite(["routing"], [data], methods=["random"])
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match="choose another out"):
            run_suite(suite, out)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_run_without_rows_leaves_earlier_results(data: Path, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("[]")
    suite = Suite({"routing": RunRequest([], ["fixed"])})
    run_suite(suite, tmp_path)
    assert (tmp_path / "results.json").read_text() == "[]"
    assert suite.results.rows == []
