"""Many tasks: branches, a table, a budget for all, and a ledger by which a killed run goes on."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hmrouter.store import AttemptState, OutcomeStore
from hmrouter.types import Status

if TYPE_CHECKING:
    from tests.run.loop.conftest import Say, World

WRITES = """
name = sys.argv[2].split()[-1]
time.sleep(float(os.environ.get('SLOW', '0')))
if {condition}: pathlib.Path(name).write_text('done')
else: pathlib.Path('other').write_text('x')
"""
"""A harness that makes the file that a task names, if it can."""


def write_tasks(world: World, n: int, **more: Any) -> Path:
    path = world.folder / "tasks.jsonl"
    rows = [{"id": f"t{i}", "text": f"Make the file f{i}", "verify": f"test -f f{i}", **more} for i in range(n)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def two(world: World) -> World:
    """`even` does tasks with even numbers only, `odd` all of them; what is known speaks for `even`."""
    world.harness("even", WRITES.format(condition="int(name[1:]) % 2 == 0"))
    world.harness("odd", WRITES.format(condition="True"))
    world.evidence(even=0.9, odd=0.5)
    return world


def batch(world: World) -> list[tuple[str, int, AttemptState]]:
    """Every attempt in the ledger."""
    from hmrouter.run.batch import batch_id
    from hmrouter.run.trees.repository import Repository

    with OutcomeStore(world.url) as store:
        entries = store.attempts(batch_id(Repository.at(world.repo), world.folder / "tasks.jsonl"))
    return [(e.plan, e.attempt, e.state) for e in entries]


def test_every_solved_task_becomes_a_branch_and_the_table_tells_the_truth(two: World) -> None:
    tasks = write_tasks(two, 4)
    done = two.run("--tasks", tasks, "--concurrency", 2, "--incumbent", "even:model-even")
    assert done.returncode == 0, done.stderr
    assert two.git("branch", "--format=%(refname:short)").split() == [f"hmrouter/t{i}" for i in range(4)] + ["main"]
    assert two.git("diff", "--name-only", "main", "hmrouter/t3") == "f3"
    assert two.git("status", "--short") == ""
    spent = sum(o.cost or 0 for o in two.outcomes())
    assert f"Solved 4 of 4 for ${spent:.2f}." in done.stdout
    measured = [o for o in two.outcomes() if o.route.harness == "even"]
    assert f"measured on {len(measured)}, estimated on {4 - len(measured)}" in done.stdout
    assert len(measured) >= 2  # what was known spoke for it
    said = json.loads(two.run("--tasks", tasks, "--json", "--incumbent", "even:model-even").stdout)
    if len(measured) == 4:
        assert said["incumbent"]["solved"] == 2.0
    assert said["solved"] == 4


def test_running_it_again_starts_nothing_that_is_finished(two: World) -> None:
    tasks = write_tasks(two, 3)
    first = two.run("--tasks", tasks)
    starts = two.starts()
    again = two.run("--tasks", tasks)
    assert (first.returncode, again.returncode) == (0, 0)
    assert two.starts() == starts
    assert first.stdout == again.stdout
    write_tasks(two, 4)  # one more: only that is run
    assert two.run("--tasks", tasks).returncode == 0
    assert len(two.starts()) > len(starts)
    assert Counter(o.task.id for o in two.outcomes() if o.score == 1.0) == Counter([f"t{i}" for i in range(4)])


def test_several_at_a_time_share_a_budget_and_none_is_turned_away_while_there_is_some(two: World) -> None:
    tasks = write_tasks(two, 6)
    assert two.run("--tasks", tasks, "--budget", 5, "--concurrency", 4).returncode == 0
    other = two.folder / "other.jsonl"
    other.write_text(tasks.read_text().replace('"id": "t', '"id": "u'))
    done = two.run("--tasks", other, "--budget", 1.5, "--stop-after", 1, "--concurrency", 4)
    assert done.returncode == 0, done.stderr  # some waited for the room that others held


def test_a_budget_is_for_all_of_them_also_when_it_goes_on(two: World) -> None:
    tasks = write_tasks(two, 4)
    done = two.run("--tasks", tasks, "--budget", 0.20)
    assert done.returncode == 1
    assert len(two.starts()) == 2  # ten cents each
    assert " budget " in done.stdout
    assert two.run("--tasks", tasks, "--budget", 0.20).returncode == 1
    assert len(two.starts()) == 2
    assert two.run("--tasks", tasks, "--budget", 5).returncode == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is not a task"),
        ('{"id": "a"}', "line 2 is not a task"),
        ('{"text": "x", "id": "t0", "verify": "true"}', "repeats the task 't0'"),
        ('{"text": "x"}', "no verify command"),
    ],
)
def test_a_bad_line_is_named_and_nothing_starts(two: World, error_of: Say, line: str, said: str) -> None:
    path = write_tasks(two, 1)
    path.write_text(path.read_text() + line + "\n")
    assert said in error_of(two.run("--tasks", path))
    assert two.starts() == []


def test_what_ran_but_was_not_verified_is_verified_and_not_run_again(two: World) -> None:
    gate = two.folder / "gate"
    ready = two.folder / "verifying"
    verify = f"touch {ready}; while [ ! -e {gate} ]; do sleep 0.05; done; test -f f1"
    tasks = write_tasks(two, 2, verify=verify)
    running = two.start("--tasks", tasks, "--no-baseline")
    while not ready.exists():
        assert running.poll() is None, running.communicate()
    running.kill()
    running.communicate()
    assert [state for _, _, state in batch(two)] == [AttemptState.RAN]
    gate.touch()
    two.run("--tasks", tasks, "--no-baseline")
    places = (two.folder / "starts").read_text().splitlines()
    assert len(places) > 1  # it went on
    assert places.count(places[0]) == 1
    assert {state for _, _, state in batch(two)} == {AttemptState.ENDED}


def test_what_a_killed_run_left_is_removed(two: World) -> None:
    two.harness("hangs", "time.sleep(600)")
    two.routes = ["hangs:model-hangs"]
    two.evidence(hangs=1.0)
    running = two.start("Hang", "--verify", "false")
    while not any("hangs" in name for name in two.starts()):
        assert running.poll() is None, running.communicate()
    busy = two.run("--clean")
    assert "Removed 0 checkouts, ended 0 processes" in busy.stdout  # its owner lives
    assert len(two.trees) == 1
    running.kill()
    running.communicate()
    assert two.processes() != []
    cleaned = two.run("--clean")
    assert "Removed 1 checkout" in cleaned.stdout
    assert "gave up 1 attempt" in cleaned.stdout
    assert (two.trees, two.processes()) == ([], [])
    assert two.git("worktree", "list").count("\n") == 0
    assert [o.status for o in two.outcomes()] == [Status.UNKNOWN]


@pytest.mark.heavy
@pytest.mark.parametrize("moment", range(20))
def test_killed_at_any_moment_nothing_is_lost_and_nothing_runs_twice(two: World, moment: int) -> None:
    tasks = write_tasks(two, 6)
    seconds = random.Random(moment).uniform(0.3, 5.0)
    running = two.start("--tasks", tasks, "--concurrency", 3)
    time.sleep(seconds)
    running.kill()
    running.communicate()
    before = {(o.run, o.trial): o for o in two.outcomes()}
    ended = {(plan, number) for plan, number, state in batch(two) if state is AttemptState.ENDED}
    assert ended == {(run, int(trial)) for run, trial in before}
    again = two.run("--tasks", tasks, "--concurrency", 3)
    assert again.returncode == 0, again.stderr
    after = {(o.run, o.trial): o for o in two.outcomes()}
    assert all(after[key] == outcome for key, outcome in before.items())  # none is lost or changed
    places = Counter((two.folder / "starts").read_text().splitlines())
    assert max(places.values()) == 1  # a place is that of an attempt: none was started twice
    solved = Counter(o.task.id for o in after.values() if o.score == 1.0)
    assert solved == Counter([f"t{i}" for i in range(6)])
    of_pair = Counter((o.task.id, o.route) for o in after.values() if o.status is Status.OK)
    assert max(of_pair.values()) == 1
    two.run("--clean")
    assert (two.trees, two.processes()) == ([], [])
    assert two.git("worktree", "list").count("\n") == 0
