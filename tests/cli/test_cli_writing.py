"""Places that cannot be written to, disks that are full, and two that write at once: the old files stay as they are."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from hmrouter.files import sole_writer
from hmrouter.router import Router

COMMAND = Path(sys.executable).with_name("hmrouter")
Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]
Unchanged = Callable[[], AbstractContextManager[None]]


def files_up_to(size: int) -> Callable[[], None]:
    """What makes every file of the child end at so many bytes, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_during_training(folder: Path, refused: Refused, unchanged: Unchanged) -> None:
    with unchanged():
        line = refused("train", outside=True, preexec_fn=files_up_to(32_768))
    assert line.startswith("error: cannot write router.hmr: File too large; nothing was changed")


def test_a_full_disk_during_an_import(folder: Path, refused: Refused, unchanged: Unchanged) -> None:
    rows = "".join(f"new-{i},{'a long text ' * 9},gpt-5,codex,1\n" for i in range(6000))
    (folder / "big.csv").write_text("task,text,model,harness,score\n" + rows)
    with unchanged():
        line = refused("import", "big.csv", outside=True, preexec_fn=files_up_to(200_000))
    assert line.startswith("error: store sqlite:///hmrouter.db: disk I/O error; the disk may be full or failing")


@pytest.mark.parametrize("place", ["runs.csv/router.hmr", "missing/router.hmr", "/proc/router.hmr"])
def test_a_place_that_cannot_hold_a_router(folder: Path, refused: Refused, unchanged: Unchanged, place: str) -> None:
    with unchanged():
        line = refused("train", "--out", place)
    assert line.startswith(f"error: cannot write {place}: ")
    assert line.endswith("nothing was changed (its folder must exist, be writable and have room)")


@pytest.mark.parametrize("place", [".", "/dev/null"])
def test_what_is_no_file_is_not_replaced(folder: Path, refused: Refused, unchanged: Unchanged, place: str) -> None:
    with unchanged():
        assert f"cannot write {place}: it is there and not a regular file" in refused("train", "--out", place)
    assert Path("/dev/null").is_char_device()


def test_a_store_below_a_file(folder: Path, refused: Refused, unchanged: Unchanged) -> None:
    with unchanged():
        line = refused("import", "runs.csv", "--store", "sqlite:///runs.csv/hmrouter.db")
    assert "unable to open database file; its folder must exist and be writable" in line


def permissions_bind() -> None:
    """Run in the child before it starts: also root has to heed the permissions of files."""
    drop, override = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(drop, override, 0, 0, 0) != 0:
        raise OSError("cannot drop a capability")


READ_ONLY = {
    "import": (["import", "runs.csv", "--store", "sqlite:///locked/hmrouter.db"], "unable to open database file; its"),
    "train": (["train", "--out", "locked/router.hmr"], "cannot write locked/router.hmr: Permission denied"),
    "demo": (
        ["demo", "--dir", "locked/demo"],
        "cannot make the directory locked/demo: Permission denied; choose another",
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="capabilities of root are dropped the way Linux does it")
@pytest.mark.parametrize(("arguments", "says"), READ_ONLY.values(), ids=READ_ONLY.keys())
def test_a_read_only_folder(
    folder: Path, refused: Refused, unchanged: Unchanged, arguments: list[str], says: str
) -> None:
    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    with unchanged():
        assert says in refused(*arguments, outside=True, preexec_fn=permissions_bind)
    assert os.listdir(locked) == []


def test_a_second_training_of_the_same_file_is_refused(folder: Path, inside: Cli, refused: Refused) -> None:
    with sole_writer(folder / "router.hmr"):  # as the first one holds it from before it reads the store until its end
        line = refused("train", "--scorer", "knn", "--out", "./router.hmr", outside=True)
        assert line == "error: another process is writing router.hmr right now; wait for it, or choose another path"
    assert inside("train", "--scorer", "fixed").returncode == 0
    assert Router.load(folder / "router.hmr").scorer.name == "fixed"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_trainings_that_start_at_once_leave_a_whole_file(folder: Path) -> None:
    both = {
        name: subprocess.Popen([COMMAND, "train", "--scorer", name], cwd=folder, stderr=subprocess.PIPE, text=True)
        for name in ("fixed", "random")
    }
    ends = {name: (process.wait(600), process.communicate()[1]) for name, process in both.items()}
    winners = {name for name, (code, _) in ends.items() if code == 0}
    assert winners
    assert all(code == 0 or "another process is writing" in said for code, said in ends.values())
    assert Router.load(folder / "router.hmr").scorer.name in winners
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
