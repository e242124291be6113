"""One row is one outcome: whatever its file is called, however it grew, whichever names were applied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from hmrouter.logs import read_logs
from hmrouter.names import Names
from hmrouter.store import AddReport, OutcomeStore
from hmrouter.store.database import open_engine, parse
from hmrouter.store.migrations import MIGRATIONS, migrate

HEADER = "task,model,harness,score,cost"
ROWS = [f"t{i},GPT-5,Codex,{i % 2},{0.1 + i / 100:.2f}" for i in range(20)]
OURS = {"models": {"our-model": ["GPT-5"]}}


@pytest.fixture
def store(url: str) -> Iterator[OutcomeStore]:
    with OutcomeStore(url) as opened:
        yield opened


@pytest.fixture
def add(store: OutcomeStore, tmp_path: Path) -> Any:
    def start(name: str, rows: list[str], header: str = HEADER, read: Any = None, **how: Any) -> AddReport:
        path = tmp_path / name
        path.write_text("\n".join([header, *rows]) + "\n")
        return store.add(read_logs(path, **(read or {})), **how)

    return start


def counts(report: AddReport) -> tuple[int, int, int]:
    return report.new, report.known, report.differing


def test_the_same_file_again_adds_nothing(add: Any) -> None:
    assert counts(add("runs.csv", ROWS)) == (20, 0, 0)
    assert counts(add("runs.csv", ROWS)) == (0, 20, 0)


def test_a_renamed_file_adds_nothing_and_says_as_what_it_is_known(add: Any, store: OutcomeStore) -> None:
    add("runs.csv", ROWS)
    report = add("copy of runs.csv", ROWS)
    assert counts(report) == (0, 20, 0)
    assert report.known_as == ("runs",)
    assert [run.source for run in store.runs()] == ["runs"]


def test_a_grown_file_adds_only_its_new_rows(add: Any, store: OutcomeStore) -> None:
    add("runs.csv", ROWS[:8])
    assert counts(add("runs.csv", ROWS)) == (12, 8, 0)
    assert counts(add("renamed.csv", [*ROWS, "new,o3,aider,1,0.5"])) == (1, 20, 0)
    assert [(run.source, run.outcomes) for run in store.runs()] == [("runs", 21)]


def test_the_order_of_rows_does_not_matter(add: Any) -> None:
    add("runs.csv", ROWS)
    assert counts(add("sorted.csv", sorted(ROWS, reverse=True))) == (0, 20, 0)


def test_identical_rows_of_one_file_are_so_many_executions(add: Any, store: OutcomeStore) -> None:
    row = "t,gpt-5,codex,1,0.5"
    assert counts(add("runs.csv", [row, row, row])) == (3, 0, 0)
    assert counts(add("runs.csv", [row, row, row])) == (0, 3, 0)
    assert counts(add("runs.csv", [row] * 5)) == (2, 3, 0)
    assert counts(add("runs.csv", [row] * 2)) == (0, 2, 0)
    assert store.count() == 5
    assert len({outcome.key for outcome in store.outcomes()}) == 5


def test_files_put_together_add_nothing(add: Any, store: OutcomeStore) -> None:
    monday, tuesday = ROWS, [row.replace(",0.", ",1.") for row in ROWS]
    add("monday.csv", monday)
    assert counts(add("tuesday.csv", tuesday)) == (20, 0, 0)
    assert counts(add("week.csv", [*tuesday, *monday, "new,o3,aider,1,0.5"])) == (1, 40, 0)
    assert store.count() == 41


def test_a_corrected_row_is_noted_and_not_counted_twice(add: Any, store: OutcomeStore) -> None:
    add("runs.csv", ROWS)
    corrected = [ROWS[0].replace(",0,0.10", ",1,0.10"), *ROWS[1:]]
    for name in ("runs.csv", "runs-final.csv"):
        report = add(name, corrected)
        assert counts(report) == (0, 20, 1)
        (change,) = report.changes
        assert (change.task.id, str(change.route), change.values) == ("t0", "codex:gpt-5", {"score": (0.0, 1.0)})
    assert next(o.score for o in store.outcomes() if o.task.id == "t0") == 0.0


def test_replace_takes_the_corrected_values_once(add: Any, store: OutcomeStore) -> None:
    add("runs.csv", ROWS)
    corrected = [ROWS[0].replace(",0,0.10", ",1,0.25"), *ROWS[1:], "new,o3,aider,1,0.5"]
    promised = add("runs.csv", corrected, replace=True, dry_run=True)
    assert (counts(promised), promised.replaced) == ((1, 20, 1), 1)
    assert store.count() == 20
    assert add("runs.csv", corrected, replace=True).replaced == 1
    (first,) = [o for o in store.outcomes() if o.task.id == "t0"]
    assert (first.score, first.cost, store.count()) == (1.0, 0.25, 21)
    assert counts(add("elsewhere.csv", corrected)) == (0, 21, 0)


def test_a_value_that_comes_back_after_a_correction_is_a_row_of_its_own(add: Any, store: OutcomeStore) -> None:
    old, new = "t,gpt-5,codex,0,0.5", "t,gpt-5,codex,1,0.5"
    rest = ROWS[:5]
    add("runs.csv", [old, *rest])
    add("runs.csv", [new, *rest], replace=True)
    assert counts(add("runs.csv", [new, old, *rest])) == (1, 6, 0)
    assert sorted(o.score or 0 for o in store.outcomes() if o.task.id == "t") == [0.0, 1.0]


def test_a_column_that_was_added_later_is_a_correction_and_no_second_run(add: Any, store: OutcomeStore) -> None:
    bare = [row.rpartition(",")[0] for row in ROWS]
    add("runs.csv", bare, header="task,model,harness,score")
    assert counts(add("runs.csv", ROWS)) == (0, 20, 20)
    assert add("runs.csv", ROWS, replace=True).replaced == 20
    assert (store.count(), store.summary().with_cost) == (20, 20)


def test_another_run_of_the_same_tasks_counts(add: Any, store: OutcomeStore) -> None:
    add("monday.csv", ROWS)
    again = add("tuesday.csv", [row.replace(",0.", ",0.9") for row in ROWS])
    assert counts(again) == (20, 0, 0)
    assert (again.known_as, again.alike) == ((), ())


def test_verdicts_alone_agree_too_often_to_be_taken_for_one_file(add: Any, store: OutcomeStore) -> None:
    header = "task,model,harness,score"
    monday = [f"t{i},gpt-5,codex,{int(i % 5 > 0)}" for i in range(50)]
    tuesday = [f"t{i},gpt-5,codex,{int(i % 6 > 0)}" for i in range(50)]
    add("monday.csv", monday, header=header)
    report = add("tuesday.csv", tuesday, header=header)
    assert counts(report) == (50, 0, 0)
    (alike,) = report.alike
    assert (alike.source, alike.same + alike.differing) == ("monday", 50)
    # Under the same name it is the file that was corrected, as it is where the caller says so.
    assert counts(add("monday.csv", [*tuesday[:5], *monday[5:]], header=header))[0] == 0


def test_a_time_tells_executions_apart(add: Any) -> None:
    header = "task,model,harness,score,when"
    days = [f"t{i % 4},gpt-5,codex,{i % 2},2026-01-{i + 1:02}" for i in range(20)]
    add("last-days.csv", days[:12], header=header)
    assert counts(add("last-days.csv", days[6:], header=header)) == (8, 6, 0)


def test_other_names_add_nothing_and_correct_the_past(add: Any, store: OutcomeStore) -> None:
    add("runs.csv", ROWS)
    assert store.names()["model"] == {"gpt-5": 20}
    report = add("runs.csv", ROWS, read={"names": Names(OURS)}, names_given=True)
    assert counts(report) == (0, 20, 0)
    assert store.names()["model"] == {"our-model": 20}
    # Forgetting to give them again changes nothing; giving others does.
    add("runs.csv", [*ROWS, "new,GPT-5,Codex,1,0.5"])
    assert store.names()["model"] == {"our-model": 21}
    add("runs.csv", ROWS, read={"names": Names()}, names_given=True)
    assert store.names()["model"] == {"gpt-5": 21}


def test_names_can_be_applied_to_what_is_stored(add: Any, store: OutcomeStore) -> None:
    add("runs.csv", ROWS)
    ((old, new),) = store.apply_names(Names(OURS))
    assert (old.spelling, old.name, new.name, new.given) == ("GPT-5", "gpt-5", "our-model", True)
    assert {str(outcome.route) for outcome in store.outcomes()} == {"codex:our-model"}
    assert {outcome.route.spelled for outcome in store.outcomes()} == {("GPT-5", "Codex")}
    assert store.apply_names(Names(OURS)) == []


def test_names_that_nobody_gave_follow_the_package(add: Any, store: OutcomeStore, url: str) -> None:
    add("runs.csv", [*ROWS, "t,our llama,Codex,1,0.5"])
    store.apply_names(Names({"models": {"mine": ["our llama"]}}))
    store.close()
    engine = open_engine(parse(url), timeout=30)
    with engine.begin() as conn:  # as a version left it whose tables said otherwise
        conn.exec_driver_sql("UPDATE spellings SET name = 'of-old' WHERE spelling = 'GPT-5'")
        conn.exec_driver_sql("UPDATE naming SET rules = 'of-old'")
    engine.dispose()
    assert store.names()["model"] == {"gpt-5": 20, "mine": 1}


def test_a_run_column_keeps_its_meaning(add: Any, store: OutcomeStore) -> None:
    header = HEADER + ",run"
    rows = [f"{row},r{i % 2}" for i, row in enumerate(ROWS)]
    add("runs.csv", rows, header=header)
    assert counts(add("runs.csv", [*rows, "t0,GPT-5,Codex,0,0.10,r9"], header=header)) == (1, 20, 0)
    report = add("renamed.csv", rows, header=header)
    assert (counts(report), report.known_as) == ((0, 20, 0), ("runs",))
    assert counts(add("other.csv", [row.replace(",0.", ",7.") for row in rows], header=header)) == (20, 0, 0)


def test_a_source_column_keeps_its_meaning(add: Any) -> None:
    header = HEADER + ",run,source"
    add("runs.csv", [f"{row},r,alice" for row in ROWS], header=header)
    assert counts(add("runs.csv", [f"{row},r,bob" for row in ROWS], header=header)) == (20, 0, 0)


def test_a_trial_column_tells_which_row_is_corrected(add: Any) -> None:
    header = HEADER + ",trial"
    rows = ["t,m,h,1,0.1,first", "t,m,h,1,0.1,second", *(f"{row},first" for row in ROWS)]
    add("runs.csv", rows, header=header)
    report = add("runs.csv", [rows[0], "t,m,h,0,0.1,second", *rows[2:], "t,m,h,1,0.1,third"], header=header)
    assert counts(report) == (1, 22, 1)


# -- stores of earlier versions ---------------------------------------------------------------------------------------

OLD = (
    "INSERT INTO runs (source, run) VALUES ('runs', '67a10a1afcfd142c'), ('jobs', 'job-1')",
    "INSERT INTO routes (model, harness) VALUES ('gpt-5', 'codex'), ('ours', 'codex')",
)


@pytest.fixture
def old_store(url: str, store: OutcomeStore) -> Iterator[Engine]:
    """A store of version 2 that imported `ROWS`, two identical rows more, and a job; closed."""
    engine = open_engine(parse(url), timeout=30)
    migrate(engine, create=True, timeout=30, steps=MIGRATIONS[:2])
    with engine.begin() as conn:
        for statement in OLD:
            conn.exec_driver_sql(statement)
        for i in range(20):
            conn.exec_driver_sql(f"INSERT INTO tasks (suite, task, text) VALUES ('default', 't{i}', '')")
            rows = [(1, 1, "0")] + [(1, 1, "1"), (1, 1, "2"), (2, 2, "trial-a")] * (i == 0)
            for run, route, trial in rows:
                conn.exec_driver_sql(
                    "INSERT INTO outcomes (task_id, route_id, run_id, trial, score, n_trials, status, cost,"
                    f" cost_is_route_mean) VALUES ({i + 1}, {route}, {run}, '{trial}', {i % 2}, 1, 'ok',"
                    f" {0.1 + i / 100:.2f}, false)"
                )
    yield engine
    engine.dispose()


@pytest.mark.usefixtures("old_store")
@pytest.mark.parametrize("name", ["runs.csv", "renamed.csv"])
def test_rows_of_an_old_store_are_not_counted_again(add: Any, store: OutcomeStore, name: str) -> None:
    assert store.count() == 23
    assert counts(add(name, [*ROWS, ROWS[0], ROWS[0]])) == (0, 22, 0)
    assert counts(add(name, [*ROWS, *[ROWS[0]] * 3, "new,GPT-5,Codex,1,0.5"])) == (2, 22, 0)
    assert counts(add(name, [*ROWS, *[ROWS[0]] * 4, "new,GPT-5,Codex,1,0.5"])) == (1, 24, 0)
    # The spelling of old rows is not known any more: what the file has grown by is kept apart from them.
    assert sorted(run.outcomes for run in store.runs()) == [1, 3, 22]
    assert {outcome.route.spelled for outcome in store.outcomes()} == {None, ("GPT-5", "Codex")}


@pytest.mark.usefixtures("old_store")
def test_an_old_store_is_not_counted_again_under_other_names(add: Any, store: OutcomeStore) -> None:
    assert counts(add("runs.csv", ROWS, read={"names": Names(OURS)}, names_given=True)) == (0, 20, 0)


@pytest.mark.usefixtures("old_store")
def test_a_natural_key_of_an_old_store_is_found_by_its_name(add: Any) -> None:
    header = HEADER + ",source,run,trial"
    names = {"names": Names({"models": {"ours": ["Our-Model (v2)"]}})}
    row = "t0,Our-Model (v2),Codex,0,0.10,jobs,job-1,trial-a"
    assert counts(add("jobs.csv", [row], header=header, read=names)) == (0, 1, 0)
