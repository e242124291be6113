"""`hmrouter probe`: suggest, hand over, take results in, say how things stand."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Status, Task

Cli = Callable[..., Any]
ROUTES = (Route("gpt-5", "codex"), Route("gpt-5", "aider"), Route("claude-opus-4-5", "codex"))
ALONE = ("--history", "none")


def fill(folder: Path, tasks: int = 12, runs: int = 6, cost: float | None = 0.25, suite: str = "repo") -> OutcomeStore:
    """Every route on the first tasks; the others were only tried, and the machinery failed."""
    store = OutcomeStore(f"sqlite:///{folder / 'hmrouter.db'}")
    with store:
        store.add(
            Outcome(
                Task(f"t{i:02d}", suite), route, float((i + j) % 3 > 0) if i < runs else None, cost=cost,
                status=Status.OK if i < runs else Status.INFRA_ERROR, source="test", run="1",
            )
            for i in range(tasks)
            for j, route in enumerate(ROUTES)
        )  # fmt: skip
    return store


def results(folder: Path, rows: list[dict[str, Any]], score: float = 1.0) -> Path:
    """The suggested runs as a table of results."""
    lines = ["suite,task,model,harness,score,cost"]
    lines += [f"{r['suite']},{r['task']},{r['model']},{r['harness']},{score},0.3" for r in rows]
    (folder / "results.csv").write_text("\n".join(lines) + "\n")
    return folder / "results.csv"


def test_from_suggestions_to_results_and_back(inside: Cli, tmp_path: Path) -> None:
    fill(tmp_path)
    first = json.loads(inside("probe", "--budget", "1", *ALONE, "--json").stdout)
    assert first["suite"] == "repo"
    assert len(first["suggestions"]) == 4
    assert first["cost_usd"] == pytest.approx(1.0, rel=0.01)
    assert {r["task"] for r in first["suggestions"]} <= {f"t{i:02d}" for i in range(6, 12)}
    again = json.loads(inside("probe", "--runs", "4", *ALONE, "--json").stdout)
    cells = [{(r["task"], r["model"], r["harness"]) for r in d["suggestions"]} for d in (first, again)]
    assert not cells[0] & cells[1]
    assert "4 suggested runs are still out; these are others" in " ".join(again["notes"])
    inside("import", results(tmp_path, first["suggestions"][:3]))
    done = inside("probe", "status", *ALONE)
    assert "3 of 8 suggested runs have come back; still out: 5" in done.stdout.replace("\n", " ")
    assert done.returncode == 0
    status = json.loads(inside("probe", "status", *ALONE, "--json").stdout)
    assert status["orders"] == {"open": 5, "done": 3, "failed": 0, "expired": 0}
    assert status["advice"] in ("stop", "go on")
    assert status["frontier"] == []
    assert 0.0 < status["standing"]["p_best"] < 1.0


def test_a_table_for_people_and_files_for_machines(inside: Cli, tmp_path: Path) -> None:
    fill(tmp_path)
    done = inside("probe", "--runs", "3", "--csv", "a.csv", "--jsonl", "a.jsonl", "--dry-run", *ALONE)
    assert done.returncode == 0
    assert "Next runs on repo" in done.stdout
    assert "3 runs; expected cost $0.75." in done.stdout
    assert "hmrouter probe status" in done.stdout
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [r["task"] for r in rows] == [
        json.loads(line)["task"] for line in (tmp_path / "a.jsonl").read_text().splitlines()
    ]
    assert not (tmp_path / "probe-orders.jsonl").exists()


def test_harbor_jobs_and_tasks_without_a_folder(inside: Cli, refused: Callable[..., str], tmp_path: Path) -> None:
    fill(tmp_path)
    assert "no folder with tasks was given" in refused("probe", "--runs", "3", "--harbor", "jobs", *ALONE)
    assert not (tmp_path / "probe-orders.jsonl").exists()  # what was not handed over was not ordered
    for i in range(9):
        (tmp_path / "tasks" / f"t{i:02d}").mkdir(parents=True)
        (tmp_path / "tasks" / f"t{i:02d}" / "task.toml").write_text("")
    done = inside("probe", "--runs", "30", "--harbor", "jobs", "--tasks", "tasks", *ALONE)
    assert "left out of the job files, as no folder is known: 3 tasks (t" in done.stderr
    assert inside("probe", "status", *ALONE).stdout.endswith("0 of 9 suggested runs have come back; still out: 9.\n")
    jobs = [json.loads(path.read_text()) for path in sorted((tmp_path / "jobs").iterdir())]
    assert [job["agents"][0]["name"] for job in jobs] == ["aider", "codex", "codex"]
    assert {task["source"] for job in jobs for task in job["tasks"]} == {"repo"}


def test_a_new_model_is_asked_about_by_itself(inside: Cli, tmp_path: Path) -> None:
    fill(tmp_path)
    options = ("--new-model", "gpt-6", "--allow", "harness=codex", *ALONE)
    found = json.loads(inside("probe", "--runs", "4", *options, "--json").stdout)
    assert found["goal"] == "pair"
    assert {(r["model"], r["harness"]) for r in found["suggestions"]} == {("gpt-6", "codex")}
    assert found["rates"][0]["route"] == "codex:gpt-6"
    assert found["worth"] is None
    before, after = found["rates"][0], found["rates_after"][0]
    assert after["high"] - after["low"] < before["high"] - before["low"]
    said = inside("probe", "status", *options).stdout
    assert "codex:gpt-6 at" in said
    assert "0 of 4 suggested runs have come back" in said
    harness = json.loads(inside("probe", "--runs", "4", "--new-harness", "goose", *ALONE, "--json").stdout)
    assert {r["harness"] for r in harness["suggestions"]} == {"goose"}
    pair = json.loads(inside("probe", "--runs", "2", "--pair", "aider:gpt-5", *ALONE, "--json").stdout)
    assert {(r["model"], r["harness"]) for r in pair["suggestions"]} == {("gpt-5", "aider")}


def test_a_suite_without_outcomes_rests_on_what_is_known_elsewhere(inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("one\ntwo\n\nthree\n")
    (tmp_path / "pool.toml").write_text('routes = ["openhands:claude-opus-4-5", "openhands:gpt-4o"]\n')
    found = json.loads(inside("probe", "--runs", "2", "--tasks", "ids.txt", "--pool", "pool.toml", "--json").stdout)
    assert {r["task"] for r in found["suggestions"]} <= {"one", "two", "three"}
    assert "public evidence" in found["basis"]


def test_constraints_and_goals(inside: Cli, tmp_path: Path) -> None:
    fill(tmp_path)
    only = json.loads(inside("probe", "--runs", "5", "--deny", "harness=codex", *ALONE, "--json").stdout)
    assert {r["harness"] for r in only["suggestions"]} == {"aider"}
    frontier = json.loads(inside("probe", "--runs", "5", "--goal", "frontier", *ALONE, "--json").stdout)
    assert len(frontier["suggestions"]) == 5
    said = inside("probe", "status", "--goal", "frontier", *ALONE).stdout
    assert "\nUp to $0.25 a run: " in said
    assert "; the best up to there with a probability of " in said


def test_runs_that_failed_may_be_suggested_again(inside: Cli, tmp_path: Path) -> None:
    store = fill(tmp_path, tasks=7)  # that the machinery failed before does not count
    first = json.loads(inside("probe", "--runs", "1", *ALONE, "--json").stdout)["suggestions"][0]
    assert json.loads(inside("probe", "status", *ALONE, "--json").stdout)["orders"]["open"] == 1
    task, route = Task(first["task"], first["suite"]), Route(first["model"], first["harness"])
    with store:
        store.add([Outcome(task, route, None, status=Status.INFRA_ERROR, source="test", run="2")])
    assert json.loads(inside("probe", "status", *ALONE, "--json").stdout)["orders"]["failed"] == 1
    again = json.loads(inside("probe", "--runs", "1", *ALONE, "--json").stdout)["suggestions"][0]
    assert (again["task"], again["model"], again["harness"]) == (first["task"], first["model"], first["harness"])


@pytest.mark.parametrize(
    ("code", "options", "words"),
    [
        (2, (), "give --budget DOLLARS, --runs N, or both"),
        (1, ("--budget", "0.01"), "$0.01 buys no run: the cheapest"),
        (2, ("--runs", "3", "--goal", "worst"), "goal 'worst' is not known"),
        (2, ("--runs", "3", "--goal", "best", "--pair", "codex:gpt-5"), "leave one of them out"),
        (2, ("--runs", "3", "--csv", "hmrouter.db"), "--csv hmrouter.db is the file of --store"),
        (2, ("--runs", "3", "--csv", "probe-orders.jsonl"), "is the file of --orders"),
        (2, ("--runs", "3", "--csv", "x", "--jsonl", "./x"), "--csv x is the file of --jsonl"),
        (2, ("--runs", "3", "--dataset", "ds@1"), "add --harbor FOLDER"),
        (1, ("--runs", "3", "--csv", "a.csv", "--jsonl", "no/such/b.jsonl"), "cannot write no/such/b.jsonl"),
        (1, ("--runs", "3", "--csv", "a.csv", "--orders", "no/such/orders"), "cannot write no/such/orders"),
        (1, ("--runs", "3", "--csv", "a.csv", "--harbor", "jobs"), "no folder with tasks was given"),
        (1, ("--runs", "3", "--tasks", "."), "there is no Harbor task in ."),
        (1, ("--runs", "3", "--pair", "codex:gpt-5", "--deny", "model=gpt-5"), "none of the pairs that are asked"),
        (1, ("--budget", "5", "--pair", "zz:yy"), "no cost of this pair is known"),
        (1, ("--runs", "5", "--pair", "zz:yy", "--max-cost", "5"), "of zz:yy, none is known to keep the cap"),
        (2, ("--runs", "3", "--value", "1e308"), "is not a number of dollars from 0 to 1e+12"),
        (2, ("--runs", "3", "status"), "--runs stands before status; write it behind: hmrouter probe status --runs"),
        (2, ("status", "--pair", "codex:gpt-5", "--confidence", "7"), "is not a probability"),
        (2, ("status", "--pair", "codex:gpt-5", "--horizon", "0"), "--horizon 0 is not"),
        (2, ("--runs", "3", "--allow", "harness=nowhere"), "harness 'nowhere' is not in the pool"),
        (1, ("--runs", "3", "--allow", "model=gpt-5", "--deny", "harness=codex,aider"), "none of the 3 routes"),
        (1, ("--runs", "3", "--max-cost", "0.001"), "no pair of 3 costs at most $0.001 per run"),
        (1, ("--runs", "3", "--suite", "other"), "there is no outcome of suite 'other' (there are: repo)"),
        (1, ("--runs", "3", "--tasks", "missing"), "cannot read the tasks in missing"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    refused: Callable[..., str], tmp_path: Path, code: int, options: tuple[str, ...], words: str
) -> None:
    fill(tmp_path)
    assert words in refused("probe", *options, *ALONE, code=code)
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("hmrouter.db-")) == [
        "hmrouter.db"
    ]
    assert len(OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}").suites()) == 1


def test_a_pair_by_name_is_asked_about_whatever_else_is(inside: Cli, tmp_path: Path) -> None:
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        written = Route("My Model v1", "Codex CLI!")  # filled from Python, so not in canonical form
        store.add(Outcome(Task(f"t{i}", "repo"), r, 1.0) for i in range(5) for r in (written, ROUTES[0]))
    (tmp_path / "ids.txt").write_text("t0\nt8\nt9\n")
    options = ("--tasks", "ids.txt", *ALONE, "--json")
    found = json.loads(inside("probe", "--runs", "2", "--pair", "Codex CLI!:My Model v1", *options).stdout)
    assert {(r["model"], r["harness"]) for r in found["suggestions"]} == {("My Model v1", "Codex CLI!")}
    assert not any("never run" in note for note in found["notes"])
    both = json.loads(inside("probe", "--runs", "9", "--pair", "codex:o3", "--new-model", "gpt-6", *options).stdout)
    assert {rate["route"] for rate in both["rates"]} == {"codex:o3", "codex:gpt-6", "Codex CLI!:gpt-6"}
    assert "was never run here" in both["notes"][0]


def test_while_runs_are_out_there_is_no_stop(inside: Cli, tmp_path: Path) -> None:
    fill(tmp_path)
    before = inside("probe", "status", "--pair", "aider:gpt-5", *ALONE).stdout
    inside("probe", "--runs", "500", *ALONE)
    said = inside("probe", "status", *ALONE).stdout
    assert "Wait: nothing else is left to run, and 18 suggested runs are still out" in said
    after = inside("probe", "status", "--pair", "aider:gpt-5", *ALONE).stdout
    known = [text.splitlines()[1].partition(";")[0] for text in (before, after)]
    assert known[0] == known[1]  # what is out is not known yet
    assert "; 6 more runs that are still out would make the interval about 0 points wide." in after
    again = inside("probe", "--runs", "3", *ALONE)
    assert "18 suggested runs are still out (--again: also those)" in again.stderr
    assert "these are others" not in again.stderr


def test_a_data_set_of_another_name_is_another_suite(inside: Cli, tmp_path: Path) -> None:
    fill(tmp_path)
    done = inside("probe", "--runs", "2", "--harbor", "jobs", "--dataset", "terminal-bench@2.0", *ALONE)
    assert "Harbor will call the suite of these results 'terminal-bench', not 'repo'" in done.stderr


def test_several_suites_need_a_choice(inside: Cli, refused: Callable[..., str], tmp_path: Path) -> None:
    fill(tmp_path)
    fill(tmp_path, suite="site")
    assert "choose one with --suite: repo, site" in refused("probe", "--runs", "3", code=2)
    assert json.loads(inside("probe", "--runs", "3", "--suite", "site", *ALONE, "--json").stdout)["suite"] == "site"


def test_nothing_left_is_no_error(inside: Cli, tmp_path: Path) -> None:
    fill(tmp_path, tasks=5, runs=5, cost=None)
    done = inside("probe", "--runs", "3", *ALONE)
    assert done.returncode == 0
    assert "nothing left to suggest" in done.stderr
    assert "Stop: nothing is left to run." in inside("probe", "status", *ALONE).stdout
