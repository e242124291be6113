"""Single values that a parser cannot bear, and sizes at which a careless algorithm takes minutes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hmrouter.errors import LogError
from hmrouter.logs import read_logs
from hmrouter.logs.formats.harbor import REDACTED, _fits
from hmrouter.logs.json_stream import NUMBER_LIMIT

from .conftest import Limited, environment

GOOD = b"task,model,harness,score\nt,m,h,1\n"
SPEC = b'{"eval": {"task": "t", "model": "m", "created": "2026-01-01T00:00:00Z", "solver": "s"}, "samples": [%s]}'


def inspect_log(sample: bytes) -> bytes:
    # The sample lies beyond the beginning that recognises the format.
    return SPEC % (b'{"id": "0", "epoch": 1, "filler": "' + b"x" * 70_000 + b'"}, ' + sample)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "66,000 digits.json": (lambda: inspect_log(b'{"id": %s}' % (b"1" * 66_000)), "a number has more than 1,000"),
    "5,000 digits.json": (lambda: inspect_log(b'{"id": %s}' % (b"1" * 5000)), "a number has more than 1,000"),
    "endless exponent.json": (lambda: inspect_log(b'{"id": 1e%s}' % (b"9" * 90_000)), "a number has more than 1,000"),
    "early digits.json": (lambda: SPEC % (b'{"id": %s}' % (b"1" * 66_000)), "is not valid JSON"),
    "exponent.json": (lambda: SPEC % b'{"id": 1e99999999999999999999}', "is not valid JSON"),
    "digits in a line.jsonl": (lambda: b'{"task": %s}' % (b"1" * 66_000), "is not valid JSON"),
    "one key 40,000 times.jsonl": (
        lambda: b'{%s, "z": 1%s}' % (b", ".join(b'"k%d": 1' % i for i in range(40_000)), b', "z": 1' * 40_000),
        "key 'z' appears twice in one JSON object",
    ),
    "20 MiB in a string.json": (
        lambda: inspect_log(b'{"id": "1", "epoch": 1, "input": "%s"}' % (b"\\n" * (10 * 2**20))),
        "input holds more than 1 MiB, the limit",
    ),
    "20 MiB of quotes.json": (
        lambda: inspect_log(b'{"id": "1", "epoch": 1, "input": "%s"}' % (b'\\"' * (10 * 2**20))),
        "input holds more than 1 MiB, the limit",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_value_refuses_its_log_and_no_other(tmp_path: Path, limited: Limited, name: str) -> None:
    make, said = HOSTILE[name]
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / name).write_bytes(make())
    (folder / "zz good.csv").write_bytes(GOOD)
    ended = limited("import", f"logs/{name}", "logs/zz good.csv")
    assert said in ended.refused()
    assert "The store holds 1 outcome of" in ended.out


def test_a_hostile_value_in_an_archive_leaves_nothing_behind(tmp_path: Path, limited: Limited) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.json", inspect_log(b'{"id": %s}' % (b"1" * 66_000)))
        archive.writestr("b.csv", GOOD)
    ended = limited("import", "a.zip")
    assert "a.zip/a.json: a number has more than 1,000 characters" in ended.refused()
    assert "The store holds 1 outcome of" in ended.out
    assert not os.listdir(tmp_path / "scratch")


@pytest.mark.parametrize("digits", [NUMBER_LIMIT, NUMBER_LIMIT + 1])
@pytest.mark.parametrize("before", range(65_500, 65_560, 7))
def test_a_number_is_measured_across_blocks(tmp_path: Path, digits: int, before: int) -> None:
    filler = b'{"id": "0", "filler": "' + b"x" * before + b'"}, {"id": "1", "total_time": 0.%s}' % (b"1" * (digits - 2))
    (tmp_path / "a.json").write_bytes(SPEC % filler)
    outcomes = read_logs(tmp_path / "a.json")
    if digits > NUMBER_LIMIT:
        with pytest.raises(LogError, match="a number has more than"):
            list(outcomes)
    else:
        assert [outcome.seconds for outcome in outcomes] == [None, float("0." + "1" * (digits - 2))]


def test_digits_in_strings_are_no_numbers(tmp_path: Path) -> None:
    sample = {"id": "1" * 900, "epoch": 1, "input": "9" * 200_000, "scores": {"s": {"value": "C"}}}
    (tmp_path / "a.json").write_bytes(SPEC % json.dumps(sample).encode())
    (outcome,) = read_logs(tmp_path / "a.json")
    assert outcome.task.text == "9" * 200_000


def test_a_name_of_gaps_is_compared_at_once(tmp_path: Path, limited: Limited) -> None:
    trial = {
        "trial_name": "t__1", "task_name": "t", "agent_info": {"name": "codex", "model_info": {"name": "gpt-5"}},
        "exception_info": {"exception_type": REDACTED * 400}, REDACTED * 400: 1,
    }  # fmt: skip
    (tmp_path / "job" / "t__1").mkdir(parents=True)
    (tmp_path / "job" / "t__1" / "result.json").write_text(json.dumps(trial))
    assert limited("import", "job").code == 0


@pytest.mark.parametrize(
    ("written", "name", "fits"),
    [
        ("abc", "abc", True), ("abc", "abcd", False),
        (REDACTED, "a", True), (REDACTED, "", False),
        (f"e{REDACTED}ception", "exception", True), (f"e{REDACTED}ception", "eception", False),
        (f"{REDACTED}{REDACTED}", "ab", True), (f"{REDACTED}{REDACTED}", "a", False),
        (f"a{REDACTED}b{REDACTED}b", "axbb", False), (f"a{REDACTED}b{REDACTED}b", "axbxb", True),
        (f"a{REDACTED}a", "aa", False), (f"a{REDACTED}a", "aba", True), (f"a{REDACTED}a", "a", False),
    ],
)  # fmt: skip
def test_gaps(written: str, name: str, fits: bool) -> None:
    assert _fits(written, name) is fits


def test_an_archive_of_250_000_entries(tmp_path: Path, limited: Limited) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("first", b"")
        for number in range(249_999):
            # Only the table of contents: making the entries takes longer than reading them.
            info = zipfile.ZipInfo(f"d/{number}")
            info.header_offset = info.CRC = 0
            archive.filelist.append(info)
        archive._didModify = True  # type: ignore[attr-defined]
    assert "holds 250,000 files and folders, and 200,000 is the limit" in limited("import", "a.zip").refused()


STOPS_WHILE_READING = """
import os, signal, sys
from hmrouter.store import OutcomeStore
OutcomeStore.add = lambda *given, **more: os.kill(os.getpid(), getattr(signal, sys.argv.pop()))
from hmrouter.cli import main
main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_it_with_its_files(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", GOOD)
    command = [sys.executable, "-c", STOPS_WHILE_READING, "import", "a.zip", name]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, timeout=600)
    assert done.returncode == (-signal.Signals[name] if name != "SIGINT" else 130), done.stderr
    assert b"Traceback" not in done.stderr
    assert not os.listdir(tmp_path / "scratch")


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(GOOD)
    command = [sys.executable, "-c", STOPS_WHILE_READING, "import", "a.csv", "SIGHUP"]
    done = subprocess.run(
        ["nohup", *command], cwd=tmp_path, env=environment(tmp_path), capture_output=True, timeout=600
    )
    assert done.returncode >= 0
