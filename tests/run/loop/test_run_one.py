"""One task, from the command to a verified change in the tree, with real git, real processes and a real store."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from hmrouter.store import OutcomeStore
from hmrouter.types import Status

if TYPE_CHECKING:
    from tests.run.loop.conftest import World

CHEAT = "pathlib.Path('tests/test_calc.py').write_text('')\n"


def test_the_second_pair_is_tried_where_the_first_fails(world: World) -> None:
    world.harness(
        "weak", "pathlib.Path('left-behind').write_text('x')\npathlib.Path('calc.py').write_text('add = 1')\n"
    )
    world.harness("strong", "assert not os.path.exists('left-behind')\n" + world.solve)
    world.evidence(weak=0.9, strong=0.5)
    done = world.run("Fix add", "--verify", world.verify)
    assert done.returncode == 0, done.stderr
    assert world.starts() == ["weak", "strong"]
    assert world.git("status", "--short") == "M calc.py"
    assert "a + b" in (world.repo / "calc.py").read_text()
    first, second = world.outcomes()
    assert (first.score, first.attempt, first.cost) == (0.0, 1, 0.10)
    assert (second.score, second.attempt, second.route.harness, second.harness_version) == (1.0, 2, "strong", "1.2.3")
    assert first.run == second.run
    assert first.task.text == "Fix add"
    assert world.trees == []
    assert "Solved ($0.20" in done.stdout


def test_who_edits_the_test_to_pass_is_caught(world: World) -> None:
    world.harness("cheat", CHEAT + "pathlib.Path('sitecustomize.py').write_text('raise SystemExit(0)')\n")
    world.evidence(cheat=0.9)
    before = (world.repo / "tests/test_calc.py").read_text()
    done = world.run("Fix add", "--verify", world.verify)
    assert done.returncode == 1
    assert "failed" in done.stderr
    assert "Not solved" in done.stdout
    assert [o.score for o in world.outcomes()] == [0.0]
    assert (world.repo / "tests/test_calc.py").read_text() == before
    assert world.git("status", "--short") == ""


def test_without_protected_paths_the_same_edit_would_have_passed(world: World) -> None:
    world.harness("cheat", CHEAT)
    world.evidence(cheat=0.9)
    assert (
        world.run(
            "Fix add", "--verify", world.verify.replace("tests/", "./tests/"), "--verify-paths", "nothing"
        ).returncode
        == 1
    )
    hidden = f"cd tests && {world.verify.replace('tests/', '')}"  # a command that does not name the file itself
    assert world.run("Fix add", "--verify", hidden, "--verify-paths", "nothing").returncode == 0


def test_a_solution_with_tests_of_its_own_is_delivered_with_them(world: World) -> None:
    world.harness("thorough", world.solve + "pathlib.Path('tests/test_more.py').write_text('assert True')\n" + CHEAT)
    world.evidence(thorough=0.9)
    done = world.run("Fix add", "--verify", world.verify)
    assert done.returncode == 0, done.stderr
    assert "2 files as before" in done.stderr
    assert world.git("status", "--short").split() == [
        "M",
        "calc.py",
        "M",
        "tests/test_calc.py",
        "??",
        "tests/test_more.py",
    ]


def test_a_branch_leaves_the_tree_alone(world: World) -> None:
    world.harness(
        "strong", world.solve + "subprocess.run(['git', 'commit', '-qam', 'mine'])\n"
    )  # some commit by themselves
    world.evidence(strong=0.9)
    (world.repo / "README").write_text("changed, not committed")
    done = world.run("Fix add", "--verify", world.verify, "--branch", "fix/add")
    assert done.returncode == 0, done.stderr
    assert world.git("status", "--short") == "M README"
    assert world.git("diff", "--stat", "main", "fix/add").startswith("calc.py")
    assert world.git("log", "-1", "--format=%s %an", "fix/add") == "Fix add Someone"
    again = world.run("Fix add", "--verify", world.verify, "--branch", "fix/add")
    assert "error: the branch fix/add is there already; choose another with --branch" in again.stderr
    assert len(world.starts()) == 1  # refused before any money is spent


def test_binary_files_links_and_modes_arrive_as_they_are(world: World) -> None:
    world.harness(
        "strong",
        world.solve + "pathlib.Path('data.bin').write_bytes(bytes(range(256)))\nos.remove('README')\n"
        "os.symlink('calc.py', 'link')\npathlib.Path('tool').write_text('#!/bin/sh')\nos.chmod('tool', 0o755)\n",
    )
    world.evidence(strong=0.9)
    assert world.run("Fix add", "--verify", world.verify).returncode == 0
    assert (world.repo / "data.bin").read_bytes() == bytes(range(256))
    assert not (world.repo / "README").exists()
    assert (world.repo / "link").is_symlink()
    assert (world.repo / "tool").stat().st_mode & 0o111


def test_what_git_does_not_keep_is_brought_along_and_never_delivered(world: World) -> None:
    world.commit({".gitignore": ".env\n", ".worktreeinclude": ".env\nlocal/\n"})
    (world.repo / ".env").write_text("TOKEN_OF_TESTS=1")
    (world.repo / "local").mkdir()
    (world.repo / "local/settings").write_text("x")
    world.harness("strong", "assert os.path.exists('.env') and os.path.exists('made-ready')\n" + world.solve)
    world.evidence(strong=0.9)
    verify = f"test -f .env && test -f local/settings && {world.verify}"
    done = world.run("Fix add", "--verify", verify, "--setup", "touch made-ready")
    assert done.returncode == 0, done.stderr
    assert world.git("status", "--short") == "M calc.py\n?? local/"


def test_a_failing_service_says_nothing_about_the_pair(world: World) -> None:
    world.harness("down", "say(type='failed', message='overloaded')\nsys.exit(0)\n")
    world.harness("strong", world.solve)
    world.evidence(down=0.9, strong=0.5)
    assert world.run("Fix add", "--verify", world.verify).returncode == 0
    first, second = world.outcomes()
    assert (first.status, first.score) == (Status.INFRA_ERROR, None)
    assert (second.score, second.attempt) == (1.0, 1)  # nothing had failed before it


def test_a_cap_stops_an_attempt_in_the_middle_and_the_next_one_goes_on(world: World) -> None:
    world.harness("dear", "say(type='usage', cost=0.9)\ntime.sleep(600)\n")
    world.harness("strong", world.solve)
    world.evidence(dear=0.9, strong=0.5)
    done = world.run("Fix add", "--verify", world.verify, "--stop-after", 0.5)
    assert done.returncode == 0, done.stderr
    assert "limit of dollars" in done.stderr
    assert [(o.score, o.cost) for o in world.outcomes()] == [(0.0, 0.9), (1.0, 0.1)]


def test_a_budget_that_is_used_up_starts_nothing_more(world: World) -> None:
    world.harness("weak", "")
    world.harness("strong", world.solve)
    world.evidence(weak=0.9, strong=0.5)
    done = world.run("Fix add", "--verify", world.verify, "--budget", 0.10)
    assert done.returncode == 1
    assert "budget is used up" in done.stdout
    assert world.starts() == ["weak"]
    assert world.git("status", "--short") == ""


def test_changes_that_no_longer_apply_are_kept_and_nothing_is_half_applied(world: World) -> None:
    elsewhere = f"pathlib.Path({str(world.repo / 'calc.py')!r}).write_text('somebody was faster\\n')\n"
    world.harness("slow", world.solve + "pathlib.Path('new').write_text('x')\n" + elsewhere)
    world.evidence(slow=0.9)
    done = world.run("Fix add", "--verify", world.verify)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "were not applied" in line
    kept = line.rpartition("kept in ")[2]
    assert kept.endswith("changes.diff")
    assert not (world.repo / "new").exists()
    assert (world.repo / "calc.py").read_text() == "somebody was faster\n"
    assert [o.score for o in world.outcomes()] == [1.0]  # it did the task all the same


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_every_child_and_records_what_happened(world: World, number: signal.Signals) -> None:
    ready = world.folder / "ready"
    child = f"subprocess.Popen(['sh', '-c', 'trap \"\" TERM; touch {ready}; sleep 600 & wait'], start_new_session=True)"
    world.harness("hangs", f"{child}\ntime.sleep(600)\n")
    world.evidence(hangs=0.9)
    running = world.start("Fix add", "--verify", world.verify)
    while not ready.exists():
        assert running.poll() is None, running.communicate()
    running.send_signal(number)
    _, err = running.communicate(timeout=600)
    assert running.returncode == 130, err
    assert world.processes() == []
    assert world.trees == []
    assert [(o.status, o.score) for o in world.outcomes()] == [(Status.UNKNOWN, None)]
    assert world.git("status", "--short") == ""


def test_in_place_the_tree_is_as_before_after_a_failure_and_the_store_stays(world: World) -> None:
    world.store = world.repo / "store.db"
    wanders = "subprocess.run('git checkout -qb elsewhere; git commit -qam mine', shell=True)\n"
    world.harness("weak", "pathlib.Path('new').write_text('x')\n" + wanders)
    world.harness("strong", world.solve)
    world.evidence(weak=0.9, strong=0.5)
    refused = world.run("Fix add", "--verify", world.verify, "--in-place", "--k", 1)
    assert refused.returncode == 1
    assert "Not solved" in refused.stdout
    assert (world.git("status", "--short"), world.git("branch", "--show-current")) == ("?? store.db", "main")
    done = world.run("Fix add", "--verify", world.verify, "--in-place")
    assert done.returncode == 0, done.stderr
    assert world.git("status", "--short") == "M calc.py\n?? store.db"


def test_a_dry_run_shows_plan_commands_and_prices_and_runs_nothing(world: World) -> None:
    world.harness("weak", "")
    world.harness("strong", world.solve)
    world.evidence(weak=0.9, strong=0.5)
    done = world.run("Fix add", "--verify", world.verify, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("1. weak:model-weak") < done.stdout.index("2. strong:model-strong")
    assert f"1. {world.folder}/bin/weak model-weak 'Fix add'" in done.stdout
    assert "$0.10" in done.stdout
    assert "tests/**" in done.stdout
    assert world.starts() == []
    assert world.outcomes() == []


def test_the_answer_as_json_holds_every_attempt(world: World) -> None:
    world.harness("weak", "")
    world.harness("strong", world.solve)
    world.evidence(weak=0.9, strong=0.5)
    done = world.run("Fix add", "--verify", world.verify, "--json", "--incumbent", "weak:model-weak")
    said = json.loads(done.stdout)
    (task,) = said["tasks"]
    assert [(a["route"], a["score"]) for a in task["attempts"]] == [
        ("weak:model-weak", 0.0),
        ("strong:model-strong", 1.0),
    ]
    assert said["incumbent"] == {
        "route": "weak:model-weak",
        "solved": 0.0,
        "dollars": 0.1,
        "measured": 1,
        "estimated": 0,
    }
    with OutcomeStore(world.url) as store:
        logged = store.decision(task["plan"])
    assert [r.report.source.value for r in logged.revisions] == ["verifier", "verifier"]


def test_a_later_report_corrects_what_a_run_recorded(world: World) -> None:
    world.harness("strong", world.solve)
    world.evidence(strong=0.9)
    world.run("Fix add", "--verify", world.verify)
    (outcome,) = world.outcomes()
    report = [world.command()[0], "report", outcome.run, "--attempt", "1", "--score", "0", "--note", "reverted"]
    done = subprocess.run([*report, "--store", world.url], env=world.environment(), capture_output=True, text=True)
    assert "revision 2" in done.stdout
    assert [o.score for o in world.outcomes()] == [0.0]


def test_a_harness_of_which_nothing_is_known_has_a_first_run_where_nothing_else_is_left(world: World) -> None:
    world.harness("stranger", world.solve)
    world.harness("weak", "")
    world.evidence(weak=0.3)
    assert world.run("Fix add", "--verify", world.verify).returncode == 0
    assert world.starts() == ["weak", "stranger"]
    world.git("checkout", "--", ".")
    world.history, world.routes, world.store = "public", world.routes[:1], world.folder / "empty.db"
    assert world.run("Fix add", "--verify", world.verify).returncode == 0
