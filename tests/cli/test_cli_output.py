"""What goes where: the answer on standard output (with --json one document), everything else on standard error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hmrouter
from hmrouter.router import Router

COMMAND = Path(sys.executable).with_name("hmrouter")
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not a terminal has no width, unless the environment says one."""
    monkeypatch.delenv("COLUMNS", raising=False)


def test_the_whole_way_in_processes_of_their_own(tmp_path: Path, trained: Path, cli: Cli) -> None:
    imported = cli("import", trained / "runs.csv", "--json", "--suite", "ours")
    assert imported.stderr == ""
    report = json.loads(imported.stdout)
    (log,) = report["imported"]
    assert (log["path"], log["format"], log["outcomes"], log["new"]) == (str(trained / "runs.csv"), "csv", 96, 96)
    assert report["store"]["suites"] == {"ours": 96}
    fitted = cli("train", "--scorer", "fixed", "--json")
    assert fitted.stderr == ""
    report = json.loads(fitted.stdout)
    assert (report["router"], report["scorer"], report["outcomes"], report["tasks"]) == ("router.hmr", "fixed", 96, 24)
    assert (report["suites"], report["ignored"]) == (["ours"], {})
    routed = cli("route", "Löse 修复 🚀 [bold]:smile:[/nothing]", "--json", "--top", "2", "--suite", "ours")
    assert routed.stderr == ""
    decision = json.loads(routed.stdout)
    assert decision["task"]["text"] == "Löse 修复 🚀 [bold]:smile:[/nothing]"
    assert [c["route"] for c in decision["ranked"]] == [decision["route"], decision["ranked"][1]["route"]]
    assert decision["evidence"] == {"pair": 24, "model": 48, "harness": 48}
    explained = cli("explain", "-", "--json", input=routed.stdout)
    assert explained.stderr == ""
    assert json.loads(explained.stdout)["id"] == decision["id"]


def rows(output: str) -> list[str]:
    """The lines of a table without its layout."""
    return [" ".join(line.split()) for line in output.splitlines()]


def test_people_get_sentences_and_tables(folder: Path, inside: Cli) -> None:
    imported = inside("import", "runs.csv")
    assert imported.stdout.splitlines() == [
        "runs.csv: 96 outcomes, 0 new, 96 known already (csv: 24 tasks on 4 routes, 100.0% of the grid)",
        "Read 96 outcomes on 4 routes (2 models x 3 harnesses).",
        "Cost: 100.0% reported, 0.0% from tokens, 0.0% unknown.",
        "Status: 96 ok.",
        "The store holds 96 outcomes of 24 tasks on 4 routes in 1 suite; 100.0% of the grid is filled.",
    ]
    fitted = inside("train", "--scorer", "fixed")
    assert fitted.stdout.splitlines() == [
        "Trained 'fixed' on 96 executions of 24 tasks on 4 routes (2 models x 3 harnesses, suites: default).",
        "Wrote router.hmr. Next: hmrouter route TEXT --router router.hmr",
    ]
    routed = inside("route", "Fix the login")
    assert routed.stdout.startswith("Route: codex:gpt-5\n")
    assert "codex:gpt-5 66.5 $0.10 0.10-0.11 24 / 48 / 48" in rows(routed.stdout)
    capped = inside("route", "Fix the login", "--max-cost", "0.25", "--cost-weight", "0.5")
    # The value that it is ranked by is shown too.
    assert "codex:gpt-5 66.5 $0.10 0.10-0.11 0.615 24 / 48 / 48" in rows(capped.stdout)
    assert "\nranked by: success, less 0.5 per dollar of cost\n" in capped.stdout
    assert "ranked by" not in routed.stdout
    assert capped.stderr == "left out: 2 routes (over --max-cost)\n"
    assert imported.stderr + fitted.stderr + routed.stderr == ""


def test_what_was_left_aside_is_told(tmp_path: Path, inside: Cli) -> None:
    (tmp_path / "bench" / "notes").mkdir(parents=True)
    (tmp_path / "bench" / "notes" / "plan.txt").write_text("Words")
    (tmp_path / "bench" / "one").mkdir()
    (tmp_path / "bench" / "one" / "outcomes.csv").write_text(
        "query_id,model,harness,score,mood\nq1,gpt-5,codex,1,good\nq2,own-model,own-harness,0,bad\n"
    )
    (tmp_path / "bench" / "one" / "queries.jsonl").write_text('{"query_id": "q1", "text": "Fix it"}\n')
    for options in ([], ["--json"]):
        done = inside("import", "bench", *options)
        assert done.returncode == 0
        assert done.stderr.splitlines() == [
            "note: models not in the table of known names, kept as they are: own-model",
            "note: harnesses not in the table of known names, kept as they are: own-harness",
            "note: bench/one/outcomes.csv: columns not used: mood",
            "note: no log recognised, so not read: bench/notes/plan.txt",
            "note: 1 outcome without a text in queries.jsonl",
        ]
    assert json.loads(done.stdout)["unknown_names"] == {"models": ["own-model"], "harnesses": ["own-harness"]}


def test_the_same_path_twice_counts_once(tmp_path: Path, trained: Path, inside: Cli) -> None:
    done = inside("import", trained / "runs.csv", trained / "runs.csv", "--json")
    report = json.loads(done.stdout)
    assert [part["new"] for part in report["imported"]] == [96, 0]
    assert report["store"]["outcomes"] == 96


def test_statuses_that_do_not_count_are_told(tmp_path: Path, inside: Cli) -> None:
    rows = "task,model,harness,score,status\na,gpt-5,codex,1,ok\nb,gpt-5,codex,,infra_error\nc,gpt-5,codex,,unknown\n"
    (tmp_path / "runs.csv").write_text(rows)
    inside("import", "runs.csv")
    done = inside("train", "--scorer", "fixed")
    assert "Trained 'fixed' on 1 execution of 3 tasks on 1 route " in done.stdout
    assert "Not counted: 1 outcome with status infra_error.\n" in done.stdout
    assert "Not counted: 1 outcome with status unknown.\n" in done.stdout


def test_a_task_from_standard_input(folder: Path, inside: Cli) -> None:
    given = json.loads(inside("route", "-", "--json", input="\n Fix the login \n").stdout)
    typed = json.loads(inside("route", "Fix the login", "--json").stdout)
    assert given["task"] == typed["task"]
    assert given["ranked"] == typed["ranked"]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_task_without_a_text_gets_an_answer_and_a_note(folder: Path, inside: Cli, text: str) -> None:
    done = inside("route", text)
    assert done.returncode == 0
    assert done.stdout.startswith("Route: ")
    assert done.stderr == "note: the task has no text, so the choice rests on the routes alone\n"


def test_a_long_text_is_read_whole(folder: Path, inside: Cli) -> None:
    done = inside("route", "-", "--json", input="Fix the login. " * 20_000)
    assert len(json.loads(done.stdout)["task"]["text"]) == 15 * 20_000 - 1


def test_never_run_pairs_and_long_names_keep_their_numbers(folder: Path, inside: Cli) -> None:
    (folder / "pool.toml").write_text(f'models = ["gpt-5", "{"very-" * 30}long"]\nharnesses = ["claude-code"]\n')
    done = inside("route", "Fix the login", "--pool", "pool.toml")
    table = rows(done.stdout)
    assert "claude-code:gpt-5 66.5 $0.16 0.061-0.40 never / 48 / 24" in table
    assert sum(row.startswith("claude-code:") for row in table) == 1
    # Of an invented model nothing is known: it is named, not ranked.
    assert f"not ranked: claude-code:{'very-' * 30}long: nothing is known of its model" in done.stderr


def test_explain_tells_what_would_change_the_choice(folder: Path, inside: Cli) -> None:
    (folder / "decision.json").write_text(inside("route", "Fix the login", "--json", "--max-cost", "0.35").stdout)
    done = inside("explain", "decision.json")
    assert done.stdout.splitlines()[0] == "codex:gpt-5 was chosen for this task by the scorer 'knn'."
    assert "24 runs of this pair; 48 runs of its model and 48 of its harness stand behind it." in done.stdout
    assert "Expected cost: $0.10 per task, the mean of this pair's own runs." in done.stdout
    assert done.stdout.endswith("Left out: 1 route (over max_cost).\n")
    assert inside("explain", (folder / "decision.json").read_text()).stdout == done.stdout


def test_the_environment_names_store_and_router(
    tmp_path: Path, trained: Path, inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HMROUTER_STORE", f"sqlite:///{trained / 'hmrouter.db'}")
    monkeypatch.setenv("HMROUTER_ROUTER", str(trained / "router.hmr"))
    assert inside("train", "--scorer", "fixed", "--out", "own.hmr").returncode == 0
    assert Router.load(tmp_path / "own.hmr").report_.outcomes == 96
    assert json.loads(inside("route", "Fix the login", "--json").stdout)["scorer"] == "knn"
    chosen = inside("route", "Fix the login", "--router", "own.hmr", "--json")
    assert json.loads(chosen.stdout)["scorer"] == "fixed"  # the option wins
    assert [path.name for path in tmp_path.iterdir()] == ["own.hmr"]


def test_a_reader_that_leaves_is_no_error(folder: Path) -> None:
    for arguments in (["route", "Fix the login", "--json"], ["--help"]):
        process = subprocess.Popen([COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(600) == 1
        process.stderr.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that is always full")
def test_output_that_cannot_be_written_is_told(folder: Path, cli: Cli) -> None:
    with open("/dev/full", "w") as full:
        done = cli("--version", stdout=full)
    assert done.returncode == 1
    assert done.stderr == "error: cannot write to standard output: No space left on device\n"


def test_output_in_another_encoding(folder: Path, cli: Cli) -> None:
    done = cli("route", "修复 🚀", "--json", env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(done.stdout)["task"]["text"] == "修复 🚀"
    assert done.stdout.isascii()


def test_progress_is_for_terminals(folder: Path, terminal: Callable[..., Any]) -> None:
    done = terminal("train", "--scorer", "component_only", "--json", at=["stderr"])
    assert json.loads(done.stdout)["scorer"] == "component_only"
    assert "training component_only" in done.screen


@pytest.mark.parametrize("command", ["import", "train", "route", "explain", "demo"])
def test_every_command_explains_itself(inside: Cli, command: str) -> None:
    done = inside(command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: hmrouter {command}" in done.stdout
    assert "--json" in done.stdout
    assert f"Examples:\n  hmrouter {'route' if command == 'explain' else command}" in done.stdout
    assert inside(command, "-h").stdout == done.stdout
    assert command in inside("--help").stdout


def test_the_version(inside: Cli) -> None:
    assert inside("--version").stdout == f"hmrouter {hmrouter.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rout", "x"], "no such command 'rout'. Did you mean 'route', 'report'?; see: hmrouter --help"),
        (["route", "x", "--maxcost", "1"], "hmrouter route has no option --maxcost, did you mean --max-cost?; see: "),
        (["route", "x", "--zzz"], "hmrouter route has no option --zzz; see: hmrouter route --help"),
        (["route"], "TEXT is missing; see: hmrouter route --help"),
        (["bench", "validate"], "--data is missing; see: hmrouter bench validate --help"),
        (["route", "x", "--top", "many"], "--top 'many' is not a whole number"),
        (["route", "x", "--max-cost", "2 euro"], "--max-cost '2 euro' is not a number"),
        (["route", "x", "--history", "some"], "--history 'some' is not one of: none, store, public, all"),
        (["names", "merge", "x", "a", "b"], "'x' is not one of: model, harness"),
        (["bench", "run", "routing", "--data", ".", "--splits", "0"], "--splits 0 is less than 1"),
    ],
)
def test_wrong_usage_exits_2(inside: Cli, arguments: list[str], says: str) -> None:
    done = inside(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {says}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "fields"),
    [
        (["route", "x", "--zzz"], 2, {"error": "UsageError"}),
        (["route", "x", "--top", "many"], 2, {"error": "UsageError", "argument": "top", "value": "many"}),
        (["route", "x", "--max-cost", "-1"], 2, {"argument": "max_cost", "value": -1.0}),
        (["route", "x", "--router", "no.hmr"], 1, {"error": "RouterFileError", "hint": "make_router"}),
        (["explain", "{}"], 1, {"error": "InputError", "hint": "decision_document"}),
    ],
)
def test_with_json_an_error_is_a_document_too(
    folder: Path, inside: Cli, arguments: list[str], code: int, fields: dict[str, Any]
) -> None:
    done = inside(*arguments, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == document["exit_code"] == code
    assert done.stderr == f"error: {document['message']}\n"
    assert document["schema"] == "hmrouter.error/1"
    assert {name: document[name] for name in fields} == fields


def test_without_a_command_it_shows_its_help(inside: Cli) -> None:
    done = inside()
    assert done.returncode == 2
    assert "Start with hmrouter demo" in " ".join(done.stdout.split())


def test_shell_completion(tmp_path: Path) -> None:
    script = f'PATH={COMMAND.parent}:$PATH; eval "$(hmrouter --show-completion)"; complete -p hmrouter; true'
    shown = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert shown.stdout == "complete -o default -F _hmrouter_completion hmrouter\n"
    asked = {"_HMROUTER_COMPLETE": "complete_bash", "COMP_WORDS": "hmrouter train --scorer k", "COMP_CWORD": "3"}
    found = subprocess.run([COMMAND], capture_output=True, text=True, timeout=600, env={**os.environ, **asked})
    assert found.stdout == "knn\n"
