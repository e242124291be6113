"""What supervision itself promises: limits of output, long lines, and commands that cannot start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hmrouter.errors import HarnessError, OutputError
from hmrouter.run import pipes
from hmrouter.run.process import Exit, How, Limits, Listener, supervise

SILENT = Listener(lambda line: None)


def python(folder: Path, program: str, heard: list[str], limits: Limits | None = None) -> Exit:
    return supervise(
        [sys.executable, "-c", program], cwd=folder, env={}, output=folder / "out",
        limits=limits or Limits(600.0), listener=Listener(heard.append),
    )  # fmt: skip


def test_every_line_is_heard_and_the_folder_has_a_limit(tmp_path: Path) -> None:
    heard: list[str] = []
    end = python(tmp_path, "for i in range(20_000): print(i)", heard, Limits(600.0, bytes=1000))
    assert (end.how, end.code, end.clean) == (How.EXITED, 0, True)
    assert heard == [str(i) for i in range(20_000)]
    kept = (tmp_path / "out" / "stdout.log").read_text()
    assert kept.startswith("0\n1\n2\n")
    assert len(kept) < 1200
    assert "over the limit of 1,000 bytes" in kept


def test_a_file_over_the_limit_goes(tmp_path: Path) -> None:
    python(tmp_path, "open('out/big.bin', 'wb').write(b'x' * 5000)", [], Limits(600.0, bytes=1000))
    assert "over the limit" in (tmp_path / "out" / "big.bin").read_text()


def test_a_line_without_end_takes_limited_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "LONGEST_LINE", 100_000)
    heard: list[str] = []
    python(tmp_path, "print('x' * 1_000_000); print('next')", heard)
    assert [len(line) for line in heard] == [100_000, 4]


def test_a_last_line_without_a_newline_and_bytes_that_are_no_text_are_heard(tmp_path: Path) -> None:
    heard: list[str] = []
    python(tmp_path, r"import sys; sys.stdout.buffer.write(b'caf\xe9\r\nlast')", heard)
    assert heard == ["caf\ufffd", "last"]


def test_a_child_that_leaves_a_background_process_is_done_and_that_one_is_ended(tmp_path: Path) -> None:
    sleeper = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    end = python(tmp_path, sleeper, [])
    assert (end.how, end.code, end.clean) == (How.EXITED, 0, True)


@pytest.mark.parametrize("argv", [["no-such-program"], [sys.executable, "-c", "\0"], [sys.executable, "x" * 2**18]])
def test_what_cannot_start_is_one_error(tmp_path: Path, argv: list[str]) -> None:
    with pytest.raises(HarnessError, match="cannot start"):
        supervise(argv, cwd=tmp_path, env={}, output=tmp_path / "out", limits=Limits(1.0), listener=SILENT)


def test_an_output_folder_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OutputError, match="cannot keep output"):
        python(tmp_path, "print(1)", [])
