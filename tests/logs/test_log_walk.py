"""Folders: every log in them is found once, and nothing beside the logs is in the way."""

from __future__ import annotations

import gzip
import os
import socket
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmrouter.errors import LogError
from hmrouter.logs import READERS, Notes, find_logs, read_logs
from hmrouter.logs import walk as walk_module
from hmrouter.logs.walk import logs_at

TABLE = "task,model,harness,score\nt1,gpt-5,codex,1\n"


def write(path: Path, text: str = TABLE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(path: Path, notes: Notes | None = None) -> list[tuple[str, str]]:
    return [(part.name.removeprefix(f"{path}/"), part.reader.name) for part in find_logs(path, notes=notes)]


def test_a_folder_of_everything(tmp_path: Path) -> None:
    write(tmp_path / "a.csv")
    write(tmp_path / "deep" / "er" / "b.jsonl", '{"task": "t", "route": "h:m", "score": 1}')
    write(tmp_path / "mine" / "outcomes.csv", "query_id,model,harness,score\nq,m,h,1\n")
    write(tmp_path / "mine" / "queries.jsonl", '{"query_id": "q"}')
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("in/c.csv", TABLE)
    for name in (".hidden.csv", ".git/a.csv"):
        write(tmp_path / name)
    write(tmp_path / "README.md", "These are, as you see, logs.")
    write(tmp_path / "prices.csv", "model,price\ngpt-5,1\n")
    write(tmp_path / "settings.json", '{"colour": "red"}')
    write(tmp_path / "empty.csv", "")
    notes = Notes()
    assert found(tmp_path, notes) == [
        ("a.csv", "csv"),
        ("deep/er/b.jsonl", "jsonl"),
        ("mine", "benchmark"),
        ("x.zip/in/c.csv", "csv"),
        ("z.csv.gz", "csv"),
    ]
    no_table = " (a table without columns for task and score)"
    assert [note.removeprefix(f"{tmp_path}/") for note in notes.skipped] == [
        f"README.md{no_table}",
        "empty.csv: is empty",
        f"prices.csv{no_table}",
        f"settings.json{no_table}",
    ]
    assert len(list(read_logs(tmp_path))) == 5


def test_a_table_that_is_given_itself_says_what_it_lacks(tmp_path: Path) -> None:
    log = write(tmp_path / "prices.csv", "model,price\ngpt-5,1\n")
    with pytest.raises(LogError, match=r"prices\.csv header: no column for task, harness, score; found model, price"):
        list(read_logs(log))


def test_a_table_that_is_meant_as_outcomes_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "task,model,score\nt,m,1\n")
    with pytest.raises(LogError, match=r"a\.csv header: no column for harness"):
        list(read_logs(tmp_path))


def test_a_mapping_tells_which_tables_of_a_folder_are_outcomes(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "Name,LLM,agent,passed\nn,m,h,1\n")
    write(tmp_path / "b.jsonl", '{"name": "n", "llm": "m", "agent": "h", "passed": true}')
    write(tmp_path / "c.csv", TABLE)
    mapping = {"task": "name", "model": "llm", "harness": "agent", "score": "passed"}
    assert [part.path.name for part in logs_at(tmp_path, READERS, Notes(), mapping=mapping)] == ["a.csv", "b.jsonl"]


def test_a_parquet_file_of_something_else_is_passed_over(tmp_path: Path) -> None:
    pq.write_table(pa.table({"colour": ["red"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"task": ["t"], "route": ["h:m"], "score": [1]}), tmp_path / "b.parquet")
    assert found(tmp_path) == [("b.parquet", "parquet")]


def test_nothing_recognised_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"no known log format recognised; known are .*; it holds nothing$"):
        read_logs(tmp_path)
    for name in "abcd":
        write(tmp_path / f"{name}.txt", "words")
    with pytest.raises(LogError, match=r"; it holds a\.txt, b\.txt, c\.txt and more$"):
        read_logs(tmp_path)


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path / "a" / "runs.csv")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a").symlink_to(tmp_path / "a")
    notes = Notes()
    assert found(tmp_path, notes) == [("a/runs.csv", "csv")]
    assert sorted(note.removeprefix(f"{tmp_path}/") for note in notes.skipped) == [
        "a/self: does not exist",
        "a/up (met before, by another name)",
        "b/a (met before, by another name)",
    ]


def test_links_that_multiply_are_followed_once(tmp_path: Path) -> None:
    for level in range(30):  # 2^30 ways to the last folder
        (tmp_path / f"{level:02}").mkdir()
        if level < 29:
            for name in ("a", "b"):
                (tmp_path / f"{level:02}" / name).symlink_to(tmp_path / f"{level + 1:02}")
    write(tmp_path / "29" / "runs.csv")
    assert len(found(tmp_path)) == 1


def test_a_log_with_a_second_name_counts_once_by_its_own(tmp_path: Path) -> None:
    write(tmp_path / "run-7.csv")
    (tmp_path / "latest.csv").symlink_to("run-7.csv")
    write(tmp_path / "run-7" / "outcomes.csv")
    (tmp_path / "latest").symlink_to("run-7")
    assert found(tmp_path) == [("run-7", "benchmark"), ("run-7.csv", "csv")]
    assert found(tmp_path / "latest.csv") == [(str(tmp_path / "latest.csv"), "csv")]


def test_what_cannot_be_opened_does_not_block(tmp_path: Path) -> None:
    write(tmp_path / "runs.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "gone.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))  # the whole path may be too long for a socket
        notes = Notes()
        assert found(tmp_path, notes) == [("runs.csv", "csv")]
    assert sorted(note.removeprefix(f"{tmp_path}/") for note in notes.skipped) == [
        "dangling.csv: does not exist",
        "device.csv: is not a regular file",
        "pipe.csv: is not a regular file",
        "socket: is not a regular file",
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_noted(tmp_path: Path) -> None:
    write(tmp_path / "runs.csv")
    locked = [write(tmp_path / "a.csv"), write(tmp_path / "folder" / "b.csv").parent]
    for path in locked:
        path.chmod(0)
    notes = Notes()
    try:
        assert found(tmp_path, notes) == [("runs.csv", "csv")]
    finally:
        for path in locked:
            path.chmod(0o700)
    assert [note.removeprefix(f"{tmp_path}/") for note in notes.skipped] == [
        "a.csv: cannot be read: Permission denied",
        "folder: cannot be read: Permission denied",
    ]


def test_folders_without_end(tmp_path: Path) -> None:
    write(tmp_path.joinpath(*"a" * 31, "runs.csv"))
    write(tmp_path.joinpath(*"b" * 40, "runs.csv"))
    notes = Notes()
    assert len(found(tmp_path, notes)) == 1
    assert notes.skipped == [f"{tmp_path.joinpath(*'b' * 33)} (too deep)"]


def test_a_damaged_file_beside_the_logs_is_noted(tmp_path: Path) -> None:
    write(tmp_path / "runs.csv")
    (tmp_path / "a.gz").write_bytes(gzip.compress(TABLE.encode())[:20])
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("../evil.csv", TABLE)
    notes = Notes()
    assert found(tmp_path, notes) == [("runs.csv", "csv")]
    assert "the gzip data is truncated" in notes.skipped[0]
    assert "member '../evil.csv' leads out of the archive" in notes.skipped[1]


def test_what_is_noted_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk_module, "NOTED", 3)
    write(tmp_path / "runs.csv")
    for number in range(5):
        write(tmp_path / f"{number}.txt", "words")
    notes = Notes()
    assert len(found(tmp_path, notes)) == 1
    assert len(notes.skipped) == 3
    assert notes.remarks == {"files passed over beyond those listed": 2}


def test_the_logs_are_found_one_by_one(tmp_path: Path) -> None:
    write(tmp_path / "a.csv")
    write(tmp_path / "b.csv", "task,model,harness,score\nt1,gpt-5,codex,7\n")
    outcomes = read_logs(tmp_path)
    assert next(outcomes).source == "a"
    with pytest.raises(LogError, match=r"b\.csv line 2: score 7\.0 is outside 0 to 1"):
        next(outcomes)
