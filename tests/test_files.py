"""Files that are whole or not there, and one writer at a time."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hmrouter.errors import OutputError
from hmrouter.files import atomic_write, sole_writer


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / "router.hmr"
    for content in (b"first", b"second, longer", b""):
        atomic_write(str(file), content)
        assert file.read_bytes() == content
    assert os.listdir(tmp_path) == ["router.hmr"]


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    atomic_write(tmp_path / "ours", b"")
    (tmp_path / "usual").touch()
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "current").symlink_to("v1")
    with sole_writer(tmp_path / "current"):
        atomic_write(tmp_path / "current", b"new")
    assert (tmp_path / "v1").read_bytes() == b"new"
    assert (tmp_path / "current").is_symlink()


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    atomic_write(tmp_path / "file", b"old")
    with (
        files_up_to(1000),
        pytest.raises(OutputError, match=r"cannot write .*file: File too large; nothing was changed"),
    ):
        atomic_write(tmp_path / "file", b"x" * 5000)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("write", [lambda path: atomic_write(path, b""), lambda path: sole_writer(path).__enter__()])
def test_a_place_that_holds_no_file_is_refused(tmp_path: Path, write: object) -> None:
    assert callable(write)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for place in ("missing/file", "file/below"):
        with pytest.raises(OutputError, match=f"cannot write .*{place}: .*its folder must exist"):
            write(tmp_path / place)
    for place in (".", "loop", "pipe"):
        with pytest.raises(OutputError, match="it is there and not a regular file; choose another path"):
            write(tmp_path / place)


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    with sole_writer(tmp_path / "file"):
        for name in ("file", "link"):
            with pytest.raises(OutputError, match=f"another process is writing .*{name} right now; wait for it"):
                sole_writer(tmp_path / name).__enter__()
        with sole_writer(tmp_path / "other"):  # another file is free
            pass
    with sole_writer(tmp_path / "file"):
        pass
    assert os.listdir(tmp_path) == ["link"]


def test_a_failed_writer_lets_go(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), sole_writer(tmp_path / "file"):
        raise ZeroDivisionError
    with sole_writer(tmp_path / "file"):
        assert os.listdir(tmp_path) == [".file.lock"]


def test_leftovers_of_this_file_only_are_removed(tmp_path: Path) -> None:
    # Names that a pattern would misread.
    kept = {".[ab].hmr.txt", ".a.hmr.x.tmp", "[ab].hmr", ".[ab].hmr2.x.tmp"}
    for name in (*kept, ".[ab].hmr.x1.tmp", ".[ab].hmr.x2.tmp"):
        (tmp_path / name).touch()
    with sole_writer(tmp_path / "[ab].hmr"):
        pass
    assert set(os.listdir(tmp_path)) == kept


CONTENDER = """
import sys
from pathlib import Path
from hmrouter.errors import OutputError
from hmrouter.files import atomic_write, sole_writer

folder, refusals = Path(sys.argv[1]), 0
done = 0
while done < 100:
    try:
        with sole_writer(folder / "counter"):
            value = int((folder / "counter").read_bytes())
            atomic_write(folder / "counter", b"%d" % (value + 1))
            done += 1
    except OutputError as e:
        assert "another process is writing" in str(e), e
"""


def test_processes_that_contend_never_write_at_once(tmp_path: Path) -> None:
    (tmp_path / "counter").write_bytes(b"0")
    contenders = [
        subprocess.Popen([sys.executable, "-c", CONTENDER, str(tmp_path)], stderr=subprocess.PIPE) for _ in range(3)
    ]
    assert [process.communicate(timeout=600)[1] for process in contenders] == [b""] * 3
    assert (tmp_path / "counter").read_bytes() == b"300"  # no increment was lost
    assert os.listdir(tmp_path) == ["counter"]
