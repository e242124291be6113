"""Stores that are damaged, or that nobody may write to: a clear line, and never fewer outcomes without a word."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hmrouter.errors import HMRouterError, StoreError
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Task

N = 300


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some pages, in one file."""
    file = tmp_path_factory.mktemp("whole") / "a.db"
    with OutcomeStore(f"sqlite:///{file}") as store:
        store.add(
            Outcome(Task(f"t{i}", f"s{i % 3}", f"Fix number {i} " * 9), Route(f"m{i % 7}", "h"), float(i % 2), cost=0.1)
            for i in range(N)
        )
    conn = sqlite3.connect(file)
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    conn.execute("PRAGMA journal_mode = DELETE")
    conn.close()
    return file


def damaged(whole: Path, folder: Path, seed: int) -> Path:
    """Some bytes of it changed, a page zeroed, or its end cut off."""
    dice = random.Random(seed)
    data = bytearray(whole.read_bytes())
    kind = seed % 3
    if kind == 0:
        for _ in range(dice.choice([1, 5, 50])):
            data[dice.randrange(100, len(data))] = dice.randrange(256)
    elif kind == 1:
        page = dice.randrange(1, len(data) // 4096) * 4096
        data[page : page + 4096] = bytes(4096)
    else:
        del data[dice.randrange(4096, len(data)) :]
    file = folder / "a.db"
    file.write_bytes(data)
    return file


@pytest.mark.parametrize("start", range(0, 150, 15))
def test_a_damaged_store_is_told_and_loses_nothing_silently(whole: Path, tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 15):
        file = damaged(whole, tmp_path, seed)
        with OutcomeStore(f"sqlite:///{file}", create=False) as store:
            try:
                read = list(store.outcomes())
            except HMRouterError as error:
                assert "\n" not in str(error)  # noqa: PT017
            else:
                assert len(read) == N, seed
            for look in (store.summary, store.runs, store.names, store.run_keys, store.merges, store.suite_settings):
                try:
                    look()
                except HMRouterError as error:
                    assert "\n" not in str(error)  # noqa: PT017
        for left in tmp_path.glob("a.db*"):
            left.unlink()


def test_what_no_import_writes_is_damage(whole: Path, tmp_path: Path) -> None:
    shutil.copy(whole, tmp_path / "a.db")
    conn = sqlite3.connect(tmp_path / "a.db")
    conn.execute("UPDATE outcomes SET cost = 1e308 WHERE task_id = (SELECT min(task_id) FROM outcomes)")
    conn.commit()
    conn.close()
    with (
        OutcomeStore(f"sqlite:///{tmp_path / 'a.db'}") as store,
        pytest.raises(StoreError, match=r"is damaged .*cost 1e.308 is larger than .*restore it from a copy"),
    ):
        list(store.outcomes())


READS = """
import os, sys
from hmrouter.store import OutcomeStore
with OutcomeStore("sqlite://") as store:
    list(store.outcomes())  # everything is imported now
if os.getuid() == 0:
    os.setuid(65534)  # who may write nothing there; root may write everywhere
with OutcomeStore("sqlite:///" + sys.argv[1], create=False) as store:
    print(len(list(store.outcomes())))
"""


def test_a_store_that_cannot_be_written_can_be_read(whole: Path) -> None:
    # In a place that another user can reach: pytest's own folders are private.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(whole, folder / "a.db")
        conn = sqlite3.connect(folder / "a.db")
        conn.execute("PRAGMA journal_mode = WAL")
        conn.close()
        assert os.listdir(folder) == ["a.db"]
        (folder / "a.db").chmod(0o444)
        folder.chmod(0o555)
        try:
            done = subprocess.run(
                [sys.executable, "-c", READS, str(folder / "a.db")], capture_output=True, text=True, timeout=600
            )
        finally:
            folder.chmod(0o755)
    assert done.stdout == f"{N}\n", done.stderr
