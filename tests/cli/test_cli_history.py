"""`hmrouter history`, `train --history`, and `route` without a router file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.cli.route import public_answer
from hmrouter.history.public import shipped
from hmrouter.logs import read_logs
from hmrouter.router import Router
from hmrouter.store import OutcomeStore

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]

QUESTION = ("route", "Fix the failing CI job", "--allow", "harness=claude-code,codex,openhands", "--max-cost", "2")
TABLE = "suite,model,harness,tasks,mean_score,mean_cost,date\nsomewhere,gpt-5,codex,40,0.9,0.5,2026-02\n"


@pytest.fixture(autouse=True)
def any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not a terminal has no width, unless the environment says one."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def history(tmp_path: Path, inside: Cli, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one's own tables, empty; after `inside`, which clears the environment."""
    monkeypatch.setenv("HMROUTER_HISTORY", str(tmp_path / "history"))
    return tmp_path / "history"


def imported(folder: Path, *rows: tuple[str, str, int, float]) -> None:
    """Put outcomes into the default store: suite, harness:model, number of tasks, score."""
    lines = ["suite,task,text,route,score,cost"]
    for suite, route, tasks, score in rows:
        lines += [f"{suite},{suite}-{i},Mend part {i} of {suite},{route},{score},0.3" for i in range(tasks)]
    (folder / "runs.csv").write_text("\n".join(lines) + "\n")
    with OutcomeStore(f"sqlite:///{folder / 'hmrouter.db'}") as store:
        store.add(read_logs(folder / "runs.csv"))


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


# -- route without a router -----------------------------------------------------------------------------------------


def test_a_fresh_installation_answers(tmp_path: Path, cli: Cli) -> None:
    done = cli(*QUESTION, "--json", env={"HMROUTER_HISTORY": str(tmp_path / "none")})
    shown = answer(done)
    assert shown["harness"] in ("claude-code", "codex", "openhands")
    assert shown["cost"] <= 2
    assert (shown["observed"], shown["evidence"]) == (False, {"pair": 0, "model": 0, "harness": 0})
    assert shown["interval"][0] < shown["success"] < shown["interval"][1]
    assert shown["history"]["note"] == "public evidence only"
    assert shown["history"]["routes"] == len({r.route for r in shipped()})
    assert len(shown["history"]["public_suites"]) == 13
    assert shown["history"]["newest"] == max(r.date for r in shipped())
    assert shown["elsewhere"]["public"] >= 1
    said = f"public evidence only ({shown['history']['routes']} routes on 13 suites, newest date 2025-12-26)"
    assert done.stderr == f"note: there is no router file; this rests on {said}\n"
    assert list(tmp_path.iterdir()) == []


def test_it_is_told_to_people_too(tmp_path: Path, inside: Cli, history: Path) -> None:
    done = inside(*QUESTION, "--top", "2")
    assert done.stdout.startswith("Route: ")
    assert "runs here, suites elsewhere" in done.stdout
    assert done.stdout.count("never / 0 / 0, ") == 2
    legend = done.stdout.splitlines()[-1]
    assert legend.startswith("best %: probability of being the best of ")
    assert "; ranked by: success, less a margin for pairs never run; ~: a cost that is not from " in legend
    assert "~$" in done.stdout
    (tmp_path / "decision.json").write_text(inside(*QUESTION, "--json").stdout)
    told = inside("explain", "decision.json")
    assert "It rests on public evidence only (" in told.stdout
    assert "This pair is unrun here, " in told.stdout
    assert answer(inside("explain", "decision.json", "--json"))["history"]["own_outcomes"] == 0


def test_the_demo_asks_the_same_of_the_shipped_table_alone(inside: Cli, history: Path) -> None:
    decision, elsewhere = public_answer(QUESTION[1], [QUESTION[3]], 2.0)
    shown = answer(inside(*QUESTION, "--json"))
    assert str(decision.route) == shown["route"]
    assert elsewhere is not None
    assert elsewhere.background.note == "public evidence only"


def test_with_nothing_at_all_there_is_no_answer(tmp_path: Path, history: Path, refused: Refused) -> None:
    assert refused(*QUESTION, "--history", "none") == (
        "error: there is no router file and no outcome in the store, and --history none leaves nothing else; import "
        "outcomes with: hmrouter import PATH, or leave --history out"
    )
    assert list(tmp_path.iterdir()) == []
    assert "no router file own.hmr" in refused(*QUESTION, "--router", "own.hmr")
    assert "there is no router file, no outcome in the store" in refused(*QUESTION, "--history", "store")


def test_own_outcomes_change_the_choice(tmp_path: Path, inside: Cli, history: Path) -> None:
    before = answer(inside(*QUESTION, "--json", "--top", "20"))
    worse = before["ranked"][-1]["route"]
    imported(tmp_path, ("ours", before["route"], 5, 0.0), ("ours", worse, 5, 1.0))
    after = answer(inside(*QUESTION, "--json"))
    assert (after["route"], after["observed"], after["evidence"]["pair"]) == (worse, True, 5)
    assert (after["history"]["note"], after["history"]["own_outcomes"]) == ("10 own runs, public evidence", 10)
    # a suite that all the others contradict has no say about another one
    new = answer(inside(*QUESTION, "--json", "--suite", "new"))
    assert (new["route"], new["history"]["note"]) == (before["route"], "public evidence only")


def test_other_suites_of_the_store_have_a_say_about_a_new_one(tmp_path: Path, inside: Cli, history: Path) -> None:
    imported(tmp_path, ("ours", "codex:gpt-5-4", 20, 1.0), ("ours", "openhands:gpt-5-nano", 20, 0.0))
    new = answer(inside(*QUESTION, "--json", "--suite", "new"))
    assert new["task"]["suite"] == "new"
    assert (new["observed"], new["history"]["own_suites"]) == (False, ["ours"])
    assert new["history"]["note"] == "public evidence and your other suites only"
    only = answer(inside(*QUESTION, "--json", "--suite", "new", "--history", "public"))
    assert only["history"]["note"] == "public evidence only"


def test_own_outcomes_without_history_are_enough(tmp_path: Path, inside: Cli, history: Path) -> None:
    imported(tmp_path, ("ours", "codex:gpt-5", 4, 1.0), ("ours", "aider:gpt-5", 4, 0.0))
    for known in ("store", "none"):
        done = inside("route", "Mend it", "--history", known, "--json")
        assert answer(done)["route"] == "codex:gpt-5"
        assert answer(done)["history"] is None
        assert done.stderr == "note: there is no router file; this rests on 8 own runs only\n"


def test_a_store_that_was_named_must_be_there(tmp_path: Path, history: Path, refused: Refused) -> None:
    assert "store sqlite:///no.db does not exist" in refused(*QUESTION, "--store", "sqlite:///no.db")


def test_a_router_file_has_its_own_history(folder: Path, inside: Cli, history: Path, refused: Refused) -> None:
    line = refused("route", "Fix the login", "--history", "public", code=2)
    assert line.startswith("error: router.hmr was trained with what it knows of other suites; leave --history out")
    assert inside("route", "Fix the login", "--history", "none").returncode == 0  # it has none
    assert inside("train").returncode == 0
    assert "train again with: hmrouter train --history none" in refused("route", "x", "--history", "none", code=2)


# -- train ----------------------------------------------------------------------------------------------------------


def heard(path: Path) -> tuple[list[str], list[str]] | None:
    """Which suites had a say in a router: published ones, and those of the store."""
    background = Router.load(path).report_.history
    return None if background is None else ([*background.public_suites], [*background.own_suites])


def test_training_hears_of_other_suites(tmp_path: Path, inside: Cli, history: Path) -> None:
    theirs = [("theirs", "codex:gpt-5-4", 20, 1.0), ("theirs", "openhands:gpt-5-nano", 20, 0.0)]
    imported(tmp_path, ("ours", "codex:gpt-5", 6, 1.0), *theirs)
    public, file = sorted({r.suite for r in shipped()}), tmp_path / "router.hmr"
    done = inside("train")
    assert "It rests on 46 own runs, public evidence (" in done.stdout
    assert heard(file) == (public, [])
    assert len(Router.load(file).pool_) == 3  # one's own: a route that only others ran is used when it is asked for
    expected = {"all": (public, ["theirs"]), "public": (public, []), "store": ([], ["theirs"]), "none": None}
    for option, suites in expected.items():
        report = answer(inside("train", "--suite", "ours", "--history", option, "--json"))
        assert (report["history"] is None) == (suites is None)
        assert heard(file) == suites
    for alone in ("safe_alone", "fixed"):
        assert answer(inside("train", "--suite", "ours", "--scorer", alone, "--json"))["history"] is None


def test_a_public_suite_does_not_hear_of_itself(tmp_path: Path, inside: Cli, history: Path) -> None:
    """By its name, and by the tasks that it shares with a suite of that name."""
    imported(tmp_path, ("swe-bench-lite", "codex:gpt-5", 6, 1.0), ("other", "codex:gpt-5", 6, 0.0))
    lines = (tmp_path / "runs.csv").read_text().replace("swe-bench-lite,", "mine,").splitlines()
    (tmp_path / "twin.csv").write_text("\n".join(line for line in lines if not line.startswith("other")) + "\n")
    assert inside("import", "twin.csv").returncode == 0
    for suite in ("swe-bench-lite", "mine"):
        assert inside("train", "--suite", suite).returncode == 0
        background = heard(tmp_path / "router.hmr")
        assert background is not None
        assert not [name for name in background[0] if "swe" in name]
        assert background[1] == ["other"]


# -- the tables -----------------------------------------------------------------------------------------------------


def test_tables_are_listed_added_and_removed(tmp_path: Path, inside: Cli, history: Path) -> None:
    (tmp_path / "mine.csv").write_text(TABLE)
    added = inside("history", "add", "mine.csv").stdout
    assert added.startswith(
        "Added mine: 1 result of 1 route on 1 suite.\nA router that is trained already knows nothing "
    )
    replaced = answer(inside("history", "add", "mine.csv", "--json"))
    assert replaced == {
        "schema": "hmrouter.history-add/1", "name": "mine", "results": 1, "routes": 1, "suites": ["somewhere"],
        "oldest": "2026-02", "newest": "2026-02", "replaced": True,
    }  # fmt: skip
    listed = answer(inside("history", "list", "--json"))
    assert (listed["folder"], [t["name"] for t in listed["tables"]]) == (str(history), ["public", "mine"])
    assert "2026-02" in inside("history", "list").stdout
    assert answer(inside("history", "remove", "public", "--json"))["removed"] == "public"
    mine = answer(inside("route", "Mend it", "--json"))
    assert (mine["route"], mine["cost"], mine["history"]["public_suites"]) == ("codex:gpt-5", 0.5, ["somewhere"])
    assert "bring it back with: hmrouter history add public" in inside("history", "remove", "public").stdout
    assert inside("history", "add", "public").stdout.startswith(f"Added public: {len(shipped())} results of ")
    assert inside("history", "remove", "mine").stdout.startswith("Removed mine.\nA router that is trained already ")
    assert [t["name"] for t in answer(inside("history", "list", "--json"))["tables"]] == ["public"]


def test_without_any_table_it_is_said_how_to_get_one(inside: Cli, history: Path) -> None:
    assert inside("history", "remove", "public").returncode == 0
    done = inside("history", "list")
    assert done.stdout.startswith("No table is in use. The shipped one comes back with: hmrouter history add public\n")
    assert answer(inside("history", "list", "--json"))["tables"] == []


def test_every_row_that_cannot_be_used_is_a_line(tmp_path: Path, inside: Cli, history: Path) -> None:
    bad = TABLE + "somewhere,o3,codex,0,0.5,,\nsomewhere,o3,codex,9,much,,\n"
    (tmp_path / "mine.csv").write_text(bad)
    done = inside("history", "add", "mine.csv")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "error: mine.csv line 3: tasks 0 is not a whole number of at least 1",
        "error: mine.csv line 4: mean_score 'much' is not a number",
        "error: mine.csv: 2 rows cannot be used, so nothing was added; mend them and add it again",
    ]
    assert not history.exists()


REFUSALS = {
    "no file": (["add", "no.csv"], 1, "cannot read no.csv: No such file or directory"),
    "no table": (["add", "runs.csv"], 1, "column 'task' is not in runs.csv: a table of results"),
    "a name that is taken": (
        ["add", "public.csv"],
        2,
        "'public' is the name of the shipped table; choose another with --name",
    ),
    "a name that is none": (["add", "fine.csv", "--name", "a/b"], 2, "'a/b' is no name for a table"),
    "nothing to remove": (["remove", "mine"], 2, "history table 'mine' is not in"),
}


@pytest.mark.parametrize(("arguments", "code", "says"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals(folder: Path, history: Path, refused: Refused, arguments: list[str], code: int, says: str) -> None:
    (folder / "fine.csv").write_text(TABLE)
    (folder / "public.csv").write_text(TABLE)
    assert says in refused("history", *arguments, code=code)


def test_a_damaged_table_stops_an_answer_with_a_line(history: Path, refused: Refused) -> None:
    history.mkdir()
    (history / "mine.csv").write_text("nonsense\n")
    assert "history table 'mine': " in refused(*QUESTION)
    assert "hmrouter history remove mine" in refused("history", "list")


@pytest.mark.parametrize("command", ["list", "add", "remove"])
def test_every_command_explains_itself(inside: Cli, command: str) -> None:
    done = inside("history", command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Examples: hmrouter history" in " ".join(done.stdout.split())
    assert "--json" in done.stdout
