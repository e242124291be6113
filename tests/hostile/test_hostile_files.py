"""Links that lie in wait, files that others make at the same time, full disks, edited caches."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hmrouter.bench.run.results_cache import ResultsCache
from hmrouter.files import atomic_write, replacing

from .conftest import Limited, environment

BAD = "task,model,harness,score\n" + "".join(f"t{i},m,h,{1 if i % 2 else 7}\n" for i in range(2000))


def test_refused_rows_do_not_follow_a_link(tmp_path: Path, limited: Limited) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "refused.jsonl").symlink_to("precious")
    (tmp_path / "a.csv").write_text(BAD)
    assert limited("import", "a.csv", "--skip-bad").code == 0
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "refused.jsonl").is_symlink()
    assert len((tmp_path / "refused.jsonl").read_text().splitlines()) == 1000


def test_the_cache_of_the_bench_does_not_follow_a_link(tmp_path: Path) -> None:
    cache = ResultsCache(tmp_path / "cache")
    cache.put({"unit": 1}, [{"accuracy": 0.5}])
    (file,) = (tmp_path / "cache").rglob("*.json")
    (tmp_path / "precious").write_text("precious")
    file.unlink()
    file.symlink_to(tmp_path / "precious")
    cache.put({"unit": 1}, [{"accuracy": 0.5}])
    assert (tmp_path / "precious").read_text() == "precious"
    assert cache.get({"unit": 1}) == [{"accuracy": 0.5}]


def test_a_row_of_the_cache_that_was_edited_is_not_believed(tmp_path: Path) -> None:
    cache = ResultsCache(tmp_path)
    cache.put({"unit": 1}, [{"accuracy": 0.5}])
    (file,) = tmp_path.rglob("*.json")
    stored = json.loads(file.read_text())
    stored["rows"][0]["accuracy"] = 0.9
    file.write_text(json.dumps(stored))
    assert cache.get({"unit": 1}) is None


def test_no_thread_sees_another_umask(tmp_path: Path) -> None:
    """Files that other threads make meanwhile have the permissions that they should have."""
    modes: set[int] = set()
    done = threading.Event()

    def touch() -> None:
        number = 0
        while not done.is_set():
            number += 1
            file = tmp_path / f"theirs-{number % 50}"
            file.unlink(missing_ok=True)
            file.touch()
            modes.add(stat.S_IMODE(file.stat().st_mode))

    before = os.umask(0o027)
    try:
        thread = threading.Thread(target=touch)
        thread.start()
        for _ in range(500):
            atomic_write(tmp_path / "ours", b"")
        done.set()
        thread.join()
    finally:
        os.umask(before)
    assert modes == {0o640}
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == 0o640


KILLED = """
import os, signal, sys
from hmrouter.files import replacing
with replacing(sys.argv[1]) as stream:
    stream.write(b"half" * 100_000)
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="no files without a name on this system")
def test_nothing_stays_of_a_file_whose_writer_is_killed(tmp_path: Path) -> None:
    (tmp_path / "router.hmr").write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "router.hmr")], timeout=600)
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["router.hmr"]
    assert (tmp_path / "router.hmr").read_text() == "old"


def test_a_file_system_without_nameless_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hmrouter.files._NAMELESS", 0)
    atomic_write(tmp_path / "a", b"new")
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "a"):
        raise ZeroDivisionError
    assert (tmp_path / "a").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


FULL_DISK = """
import sys
from errno import ENOSPC
import hmrouter.cli.refused_rows as rows

def full(*given):
    raise OSError(ENOSPC, "No space left on device")

rows.shutil.copyfileobj = full
from hmrouter.cli import main
main()
"""


def test_a_full_disk_after_the_import_says_what_was_stored(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(BAD)
    command = [sys.executable, "-c", FULL_DISK, "import", "a.csv", "--skip-bad"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(
        "error: the outcomes were imported, but the refused records cannot be written to refused.jsonl"
    )
    assert "nothing was changed" not in last
