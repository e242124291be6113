"""`hmrouter bench` as a user meets it: what it prints, what it refuses, and what it goes on without."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
Plant = Callable[..., Path]
Refused = Callable[..., str]
QUICKLY = ("--methods", "random,fixed,oracle", "--splits", "2", "--jobs", "1")


@pytest.fixture
def data(plant: Plant, tmp_path: Path) -> Path:
    plant(tmp_path / "data" / "alpha", 10)
    return tmp_path / "data"


def results(tmp_path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((tmp_path / "out" / "results.json").read_text())
    return rows


def left_out(stderr: str) -> list[str]:
    return [line.removeprefix("left out: ") for line in stderr.splitlines() if line.startswith("left out: ")]


# -- what it prints -------------------------------------------------------------------------------------------------


def test_a_run_and_the_same_again(cli: Cli, data: Path, tmp_path: Path) -> None:
    first = cli("bench", "run", "routing", "--data", "data", *QUICKLY)
    assert first.returncode == 0, first.stderr
    assert "| benchmark | random | fixed | oracle |" in first.stdout
    said = [line for line in first.stderr.splitlines() if " units done, " not in line]  # which a slow machine says
    assert said == [
        "6 units to do, 2 of them fits: 3 methods on 2 splits",
        "6 units computed, 0 from the cache",
        "Everything: out/index.html, out/report.html, out/table.md, out/results.json",
    ]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"index.html", "report.html", "table.md", "results.json", "figures"}
    assert "hmrouter bench run routing --data data" in (tmp_path / "out" / "table.md").read_text()
    rows = results(tmp_path)
    again = cli("bench", "run", "routing", "--data", "data", *QUICKLY, "--json")
    assert again.stderr == "nothing to do; 6 units are finished from before\n"
    summary = json.loads(again.stdout)
    assert {k: summary[k] for k in ("rows", "computed", "cached", "left_out")} == {
        "rows": 6, "computed": 0, "cached": 6, "left_out": [],
    }  # fmt: skip
    assert Path(summary["results"]) == Path("out/results.json")
    assert results(tmp_path) == rows


def test_all_experiments(cli: Cli, data: Path, tmp_path: Path) -> None:
    done = cli(
        "bench", "run", "all", "--data", "data", "--methods", "random,fixed", "--splits", "1", "--jobs", "1", "--quick"
    )
    assert done.returncode == 0, done.stderr
    ran = {r["experiment"] for r in results(tmp_path)}
    assert ran >= {"routing", "cost", "forecast", "sparse", "unseen"}
    assert done.stdout.count("### ") == len(ran)  # one table each; the others are in the report
    # What one small benchmark cannot show is said.
    assert [r for r in left_out(done.stderr) if r.startswith("fewshot: benchmark alpha: 7 training tasks, but")]
    assert [r for r in left_out(done.stderr) if r.startswith("heldout: every method on alpha") and "no other" in r]


def test_several_experiments_with_an_index(cli: Cli, data: Path, tmp_path: Path) -> None:
    done = cli("bench", "run", "routing,sparse", "transfer", "--data", "data", *QUICKLY, "--json")
    assert done.returncode == 0, done.stderr
    assert list(dict.fromkeys(r["experiment"] for r in results(tmp_path))) == ["routing", "sparse", "transfer"]
    index = (tmp_path / json.loads(done.stdout)["index"]).read_text()
    report = (tmp_path / "out" / "report.html").read_text()
    for i, title in enumerate(("Routing accuracy", "Routing on thin evidence", "Moving model choices")):
        assert f'<a href="report.html#section-{i}">{title}' in index
        assert f'id="section-{i}"' in report


def test_list(inside: Cli, data: Path) -> None:
    done = inside("bench", "list", "--data", "data")
    assert done.returncode == 0
    assert done.stderr == ""
    for part in ("alpha", "not in the paper", "swebench_verified", "Experiments:\n  cost ", "Methods:\n"):
        assert part in done.stdout
    document = json.loads(inside("bench", "list", "--json").stdout)
    assert len(document["benchmarks"]) == 12
    assert document["benchmarks"][0].keys() >= {"directory", "title", "path", "source", "how", "paper_routes"}
    assert {"oracle", "hm", "embedllm"} <= set(document["methods"])


def test_list_says_what_is_broken(inside: Cli, data: Path) -> None:
    (data / "bad").mkdir()
    (data / "bad" / "outcomes.csv").write_bytes(b"query_id,model,harness,score\n\xff\xfe,m,h,1\n")
    done = inside("bench", "list", "--data", "data")
    assert done.returncode == 0
    assert "bad is broken: " in done.stdout
    assert "alpha" in done.stdout


def test_validate(inside: Cli, data: Path, plant: Plant) -> None:
    fine = inside("bench", "validate", "--data", "data")
    assert fine.returncode == 0
    assert "alpha: 10 tasks, 4 routes of 2 models and 2 harnesses" in fine.stdout
    plant(data / "bad", 3, score=lambda i, j: 1.7)
    bad = inside("bench", "validate", "--data", "data", "--json")
    assert bad.returncode == 1
    assert [report["ok"] for report in json.loads(bad.stdout)["benchmarks"]] == [True, False]


def test_validate_nothing(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "no benchmark in empty" in refused("bench", "validate", "--data", "empty")


# -- what it refuses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([","], 2, "no experiment is named; choose from cost, fewshot"),
        (["routing,routng"], 2, "experiment 'routng' is not known; did you mean 'routing'?"),
        (["routng"], 2, "experiment 'routng' is not known; did you mean 'routing'?"),
        (["routing", "--methods", "fixd"], 2, "method 'fixd' is not known; did you mean 'fixed'?"),
        (["routing", "--embedder", "lsb"], 2, "embedder 'lsb' is not known; did you mean 'lsa'?"),
        (["routing", "--engine", "rey"], 2, "engine 'rey' is not known; did you mean 'ray'?"),
        (["routing", "--data", "nowhere"], 1, "nowhere is not a directory; --data takes a benchmark directory or a f"),
        (["routing", "--out", "data/alpha/outcomes.csv"], 1, "choose another with --out"),
        (["forecast", "--methods", "oracle"], 1, "nothing ran: "),
    ],
)
def test_wrong_usage(inside: Cli, data: Path, arguments: list[str], code: int, message: str) -> None:
    done = inside("bench", "run", *arguments, *([] if "nowhere" in arguments else ["--data", "data"]))
    assert done.returncode == code
    assert done.stdout == ""
    *_, last = done.stderr.splitlines()
    assert last.startswith("error: ")
    assert message in last
    assert not Path("out", "results.json").exists()


def test_a_folder_without_benchmarks(tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "empty").mkdir()
    done = inside("bench", "run", "routing", "--data", "empty")
    assert done.returncode == 1
    assert "error: nothing ran: no benchmark in empty" in done.stderr


# -- what it goes on without ----------------------------------------------------------------------------------------


def test_the_run_goes_on(cli: Cli, data: Path, plant: Plant, plug_in: Callable[..., Path], tmp_path: Path) -> None:
    plant(data / "unreadable", 10)
    (data / "unreadable" / "outcomes.csv").write_text("who,knows\n1,2\n")
    plant(data / "unsolved", 10, score=lambda i, j: 0.0)
    plant(data / "one_harness", 10, routes=[("atlas", "loop"), ("birch", "loop")])
    plant(data / "textless", 10, text=lambda i: "")
    plant(data / "free", 10, cost=lambda i, j: None)
    plant(data / "single", 1)
    plant(tmp_path / "more" / "alpha", 11)
    wanting = "from hmrouter.errors import MissingExtra; raise MissingExtra('wanting', 'bench')"
    plug_in(tmp_path / "plug", raising={"fit": "raise RuntimeError('no licence file')"}, wanting={"fit": wanting})
    done = cli(
        "bench", "run", "routing", "cost", "--data", "data", "--data", "more", "--splits", "2", "--jobs", "1",
        "--methods", "random,fixed,component_average,knn,avengers,safe,raising,wanting,oracle",
        env={"PYTHONPATH": str(tmp_path / "plug")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reasons = left_out(done.stderr)
    expected = [
        ("benchmark unreadable: ", "outcomes.csv"),
        ("benchmark more/alpha: another one of that name was given before", str(data / "alpha")),
        ("cost: benchmark free: ", "fewer than two routes have a known cost"),
        ("routing: every method on single ", "the test side of this split has no outcome"),
        ("cost: every method on single ", "no outcome of the test tasks has a known cost"),
        ("routing: raising on ", "RuntimeError: no licence file"),
        ("cost: raising on ", "RuntimeError: no licence file"),
        ("routing: wanting on ", "pip install '.[bench]'"),
        ("cost: wanting on ", "pip install '.[bench]'"),
        ("routing: benchmark unsolved, split 0, 1: ", "no route succeeded on any test task"),
        ("cost: benchmark unsolved, split 0, 1: ", "no route succeeded on any test task"),
    ]
    for start, part in expected:
        assert [r for r in reasons if r.startswith(start) and part in r], (start, done.stderr)
    assert len(reasons) == len(expected)
    ran = {(r["experiment"], r["benchmark"], r["method"]) for r in results(tmp_path)}
    methods = ("random", "fixed", "component_average", "knn", "avengers", "safe", "oracle")
    usable = [("routing", b) for b in ("alpha", "free", "one_harness", "textless", "unsolved")]
    usable += [("cost", b) for b in ("alpha", "one_harness", "textless", "unsolved")]
    assert ran == {(e, b, m) for e, b in usable for m in methods}
    report = (tmp_path / "out" / "report.html").read_text()
    assert "no licence file" in report
    assert "fewer than two routes have a known cost" in report
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr


def test_nothing_ran(cli: Cli, plant: Plant, tmp_path: Path) -> None:
    plant(tmp_path / "single", 1)
    done = cli("bench", "run", "routing", "--data", "single", "--methods", "random,fixed", "--jobs", "1")
    assert done.returncode == 1
    assert done.stdout == ""
    *_, last = done.stderr.splitlines()
    assert last.startswith(
        "error: nothing ran: routing: every method on single (10 units): the test side of this split"
    )
    assert not (tmp_path / "out" / "results.json").exists()


def test_a_plug_in_that_prints_does_not_spoil_the_json(
    cli: Cli, data: Path, plug_in: Callable[..., Path], tmp_path: Path
) -> None:
    plug_in(tmp_path / "plug", chatty={"fit": "print('hello')"})
    run = ("bench", "run", "routing", "--data", "data", "--methods", "chatty", "--splits", "1", "--jobs", "1", "--json")
    done = cli(*run, env={"PYTHONPATH": str(tmp_path / "plug")})
    assert json.loads(done.stdout)["computed"] == 1
    assert "hello" in done.stderr
