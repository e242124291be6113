"""kill -9 in the middle of `import` and of `train`: nothing is half, and running it again completes it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hmrouter.router import Router
from hmrouter.store import OutcomeStore

COMMAND = Path(sys.executable).with_name("hmrouter")
Cli = Callable[..., "subprocess.CompletedProcess[str]"]

N = 12_000

# The command line, in a process that kills itself where the test says.
DIES = """
import os, resource, signal, sys
moment = sys.argv.pop(1)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

if moment.startswith("INSERT"):
    from sqlalchemy import Engine, event
    seen = []

    @event.listens_for(Engine, "after_cursor_execute")
    def after(conn, cursor, statement, *rest):
        seen.append(1) if statement.startswith(moment) else None
        if len(seen) == (3 if "staged" in moment else 1):
            die()
elif moment == "half":  # the kernel ends it in the middle of writing the router file
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (32768, 32768))
else:  # an event that Python reports just before it does something
    sys.addaudithook(lambda event, given: die() if event == moment else None)

from hmrouter.cli import main
main()
"""


def killed(folder: Path, moment: str, *arguments: str) -> None:
    command = [sys.executable, "-c", DIES, moment, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == -(signal.SIGXFSZ if moment == "half" else signal.SIGKILL), done.stderr
    assert done.stdout == ""


def count(folder: Path) -> int:
    with sqlite3.connect(folder / "hmrouter.db") as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    raw.close()
    with OutcomeStore(f"sqlite:///{folder / 'hmrouter.db'}", create=False) as store:
        return store.count()


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("big") / "big.csv"
    rows = (f"new-{i // 4},Do thing number {i // 4},gpt-5,harness-{i % 4},{i % 2}\n" for i in range(N))
    file.write_text("task,text,model,harness,score\n" + "".join(rows))
    return file


@pytest.mark.parametrize("moment", ["INSERT INTO staged_outcomes", "INSERT INTO tasks", "INSERT INTO outcomes"])
def test_an_import_that_is_killed(folder: Path, big: Path, inside: Cli, moment: str) -> None:
    killed(folder, moment, "import", str(big))
    assert count(folder) == 96
    completes(folder, big, inside, 96)


def open_files(pid: int) -> set[str]:
    found = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.add(Path(os.readlink(file)).name)
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="/proc tells which files a process has open")
def test_an_import_that_is_killed_from_outside(folder: Path, big: Path, inside: Cli) -> None:
    raw = sqlite3.connect(folder / "hmrouter.db", isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")  # nobody else can write, so the import cannot come to its end before it is killed
    process = subprocess.Popen([COMMAND, "import", big], cwd=folder, stdout=subprocess.PIPE)
    while "hmrouter.db" not in open_files(process.pid):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    raw.execute("ROLLBACK")
    raw.close()
    assert count(folder) == 96
    completes(folder, big, inside, 96)


def completes(folder: Path, big: Path, inside: Cli, before: int) -> None:
    report = json.loads(inside("import", big, "--json").stdout)
    (log,) = report["imported"]
    assert (log["path"], log["outcomes"], log["new"], log["refused"]) == (str(big), N, N, 0)
    assert report["store"]["outcomes"] == N + before == count(folder)
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith("hmrouter")) == ["hmrouter.db"]


MOMENTS = {
    "holding the lock": "fcntl.flock",
    "in the middle of the file": "half",
    "before the file is in its place": "os.rename",
    "before the lock is gone": "os.remove",
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS.keys())
def test_a_training_that_is_killed(folder: Path, inside: Cli, moment: str) -> None:
    file = folder / "router.hmr"
    before = file.read_bytes()
    killed(folder, moment, "train")
    if moment == "os.remove":
        assert Router.load(file).scorer.name == "safe"
    else:
        assert file.read_bytes() == before
    assert count(folder) == 96
    assert inside("train", "--scorer", "random").returncode == 0
    assert Router.load(file).scorer.name == "random"
    assert sorted(os.listdir(folder)) == ["hmrouter.db", "router.hmr", "runs.csv"]


def test_a_first_training_that_is_killed_leaves_no_router(folder: Path, inside: Cli) -> None:
    (folder / "router.hmr").unlink()
    killed(folder, "half", "train")
    assert not (folder / "router.hmr").exists()
    assert not list(folder.glob(".router.hmr.*.tmp"))  # what was half written had no name
    assert inside("train", "--scorer", "fixed").returncode == 0
