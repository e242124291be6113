"""Input that is broken or meant to harm: one clear line that names file and line, nothing swallowed."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmrouter.errors import LogError
from hmrouter.logs import read_logs
from hmrouter.logs.files import RECORD_LIMIT

HEADER = b"task,model,harness,score"
GOOD = HEADER + b"\nt,m,h,1\n"

WIDE = HEADER + b",cost,n_trials,input_tokens,status,when,cost_is_route_mean,meta\nt,m,h,1,"

CSV = {
    "score 1.7": (HEADER + b"\nt,m,h,1\nt,m,h,1.7\n", "line 3: score 1.7 is outside 0 to 1"),
    "score nan": (HEADER + b"\nt,m,h,nan\n", "line 2: score nan is outside 0 to 1"),
    "score missing": (HEADER + b"\nt,m,h,\n", "line 2: score is missing"),
    "task missing": (HEADER + b"\n ,m,h,1\n", "line 2: task id is empty"),
    "model missing": (HEADER + b"\nt,,h,1\n", "line 2: model is missing"),
    "harness missing": (HEADER + b"\nt,m,,1\n", "line 2: harness is missing"),
    "task too long": (HEADER + b"\n" + b"t" * 1001 + b",m,h,1\n", "has 1001 bytes; the limit is 1000"),
    "task too long in Chinese": (
        HEADER + b"\n" + "\u4fee".encode() * 400 + b",m,h,1\n",
        "has 1200 bytes; the limit is 1000",
    ),
    "not a route": (b"task,route,score\nt,codex,1\n", "line 2: 'codex' is not a route; write harness:model"),
    "missing column": (
        b"task,model,points\nt,m,1\n",
        "header: no column for harness, score; found task, model, points; expected task (or task_id",
    ),
    "duplicate header": (b"task,model,harness,score,Score\nt,m,h,1,0\n", "header: column 'Score' appears twice"),
    "row too short": (HEADER + b"\nt,m,h\n", "line 2: 3 cells where the header has 4 columns"),
    "row too long": (HEADER + b"\nt,m,h,1,2\n", "line 2: 5 cells where the header has 4 columns"),
    "broken quote": (HEADER + b'\nt,"m"m,h,1\n', "line 2: not valid CSV"),
    "unclosed quote": (HEADER + b'\nt,m,h,"1\nu,m,h,1\n', "line 2: not valid CSV: unexpected end of data"),
    "line after a long row": (HEADER + b',text\nt,m,h,1,"a\nb\nc"\nt,m,h,2,x\n', "line 5: score 2.0 is outside 0 to 1"),
    "header only": (HEADER + b"\n", "holds no outcomes, not a single row"),
    "NUL byte": (HEADER + b"\nt,m\0,h,1\n", "line 2: NUL byte"),
    "not UTF-8": (HEADER + b"\nt,m,h,1\nt,m\xe9,h,1\n", "line 3: byte 4 (0xe9) is not valid UTF-8"),
    "10 MB in one cell": (
        HEADER + b",text\nt,m,h,1," + b"x" * 10_000_000 + b"\n",
        "line 2: a record is longer than 4 MiB, and a cell may hold 1 MiB",
    ),
    "2 MB in one cell": (
        HEADER + b",text\nt,m,h,1," + b"x" * 2_000_000 + b"\n",
        "line 2: a cell holds more than 1 MiB, the limit",
    ),
    "empty": (b"", "is empty"),
    "blank": (b"\n\n", "is empty"),
}

OK = b'{"task": "t", "model": "m", "harness": "h", "score": 1}\n'
JSONL = {
    "bad JSON": (OK + b'{"task": "t", \n', "line 2: the line is not valid JSON"),
    "not an object": (OK + b"[1, 2]\n", "line 2: the line is a JSON array, and an object {...} is expected"),
    "score 1.7": (OK + b'\n{"route": "h:m", "task": "t", "score": 1.7}\n', "line 3: score 1.7 is outside 0 to 1"),
    "score a list": (b'{"route": "h:m", "task": "t", "score": [1]}', "line 1: score [1] is not a number from 0 to 1"),
    "score NaN": (b'{"route": "h:m", "task": "t", "score": NaN}', "line 1: score nan is outside 0 to 1"),
    "score null": (b'{"route": "h:m", "task": "t", "score": null}', "line 1: score is missing"),
    "endless integer": (
        b'{"route": "h:m", "task": "t", "score": 1' + b"0" * 5000 + b"}",
        "line 1: the line is not valid",
    ),
    "task a list": (b'{"route": "h:m", "task": ["t"], "score": 1}', "line 1: task ['t'] is not text"),
    "missing key": (OK + b'{"task": "t", "score": 1}', "line 2: no column for model, harness; found task, score"),
    "key twice": (b'{"route": "h:m", "task": "t", "score": 1, "score": 0}', "key 'score' appears twice"),
    "half a surrogate pair": (b'{"route": "h:m", "task": "\\ud800", "score": 1}', "half of a surrogate pair"),
    "NUL character": (b'{"route": "h:m", "task": "t\\u0000", "score": 1}', "line 1: task contains a NUL character"),
    "deeply nested": (b'{"meta": ' + b"[" * 100_000, "line 1: the line is nested too deeply"),
    "10 MB in one cell": (b'{"text": "' + b"x" * 10_000_000 + b'"}\n', "line 1: a record is longer than 4 MiB"),
    "2 MB in one cell": (OK + b'{"text": "' + b"x" * 2_000_000 + b'"}\n', "line 2: a cell holds more than 1 MiB"),
    "2 MB in one list": (OK + b'{"meta": [' + b"1," * 1_000_000 + b"1]}\n", "line 2: a cell holds more than 1 MiB"),
    "blank": (b"\n \n", "holds no outcomes, not a single row"),
    "empty": (b"", "is empty"),
}


def message_of(path: Path, format: str = "auto") -> str:
    with pytest.raises(LogError) as caught:
        list(read_logs(path, format))
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert len(message) < len(str(path)) + 600
    return message


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("content", "expected"), CSV.values(), ids=CSV.keys())
def test_bad_csv(tmp_path: Path, content: bytes, expected: str, packed: bool) -> None:
    log = tmp_path / "runs"
    log.write_bytes(gzip.compress(content) if packed else content)
    assert expected in message_of(log, "csv")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("content", "expected"), JSONL.values(), ids=JSONL.keys())
def test_bad_jsonl(tmp_path: Path, content: bytes, expected: str, packed: bool) -> None:
    log = tmp_path / "runs"
    log.write_bytes(gzip.compress(content) if packed else content)
    assert expected in message_of(log, "jsonl")


LATIN = "task,model,harness,score\nt,m,h,1\ncaf\u00e9,m,h,1\n".encode("latin-1")
SNIFFED = {
    "mixed encodings": (GOOD + LATIN.splitlines()[2], "line 3: byte 4 (0xe9) is not valid UTF-8; convert the file"),
    "UTF-32": (OK.decode().encode("utf-32"), "it is binary data or UTF-16 text, and UTF-8 is expected"),
    "lone surrogate": (OK + OK.replace(b'"t"', b'"\\udc80"'), "line 2: the line holds half of a surrogate pair"),
    "surrogate in bytes": (OK + OK.replace(b'"t"', b'"\xed\xa0\x80"'), "line 2: byte 11 (0xed) is not valid UTF-8"),
    "deep JSON line": (OK + b'{"meta": ' + b'{"a": ' * 50_000 + b"}", "line 2: the line is nested too deeply"),
    "deep JSON document": (b'{\n"a": ' + b"[" * 200_000, "no known log format recognised"),
    "NUL at the end": (GOOD + b"\0" * 100_000, "it is binary data"),
    "NUL far behind": (GOOD + b"t,m,h,1\n" * 20_000 + b"\0", "line 20003: NUL byte"),
    "no database": (b"this is a database, really", "holds no outcomes, not a single row"),
    "half a database": (b"SQLite format 3\0" + bytes(range(256)) * 20, ""),
    "an executable": (b"\x7fELF" + bytes(2000), "it is binary data"),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize(("content", "expected"), SNIFFED.values(), ids=SNIFFED.keys())
def test_bad_files_whose_format_is_not_given(tmp_path: Path, content: bytes, expected: str, packed: bool) -> None:
    log = tmp_path / "runs.db"
    log.write_bytes(gzip.compress(content) if packed else content)
    assert expected in message_of(log)


def test_line_ends_of_windows_are_fine(tmp_path: Path) -> None:
    log = tmp_path / "runs"
    log.write_bytes(GOOD.replace(b"\n", b"\r\n"))
    assert [(o.task.id, o.score) for o in read_logs(log)] == [("t", 1.0)]
    log.write_bytes(OK.replace(b"\n", b"\r\n") * 2)
    assert [(o.task.id, o.score) for o in read_logs(log)] == [("t", 1.0)] * 2


def test_a_long_value_does_not_flood_the_message(tmp_path: Path) -> None:
    log = tmp_path / "runs.csv"
    log.write_bytes(HEADER + b'\nt,m,h,"' + b"line\n" * 50_000 + b'"\n')
    assert "line 2: score 'line" in message_of(log)
    log.write_bytes(b",".join(b"column%d" % i for i in range(5000)) + b"\nx" + b"," * 4999)
    assert "and 4988 more; expected" in message_of(log)


def test_truncated_gzip(tmp_path: Path) -> None:
    log = tmp_path / "runs.csv.gz"
    rows = b"".join(b"task-%d,m,h,1\n" % i for i in range(20_000))
    log.write_bytes(gzip.compress(HEADER + b"\n" + rows)[:-2000])
    assert "the gzip data is truncated" in message_of(log)


def test_corrupt_gzip(tmp_path: Path) -> None:
    log = tmp_path / "runs.csv.gz"
    packed = bytearray(gzip.compress(GOOD))
    packed[-6] ^= 0xFF
    log.write_bytes(packed)
    assert "the gzip data is corrupt" in message_of(log)


def test_gzip_in_name_only(tmp_path: Path) -> None:
    log = tmp_path / "runs.csv.gz"
    log.write_bytes(GOOD)
    assert "is named .gz but does not hold gzip data" in message_of(log)


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    assert message_of(tmp_path / "runs.csv").endswith("does not exist")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert message_of(tmp_path / "loop").endswith("does not exist")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert message_of(tmp_path / "pipe").endswith("is not a regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    log = tmp_path / "runs.csv"
    log.write_bytes(GOOD)
    log.chmod(0)
    assert message_of(log).endswith("cannot be read: Permission denied")


def test_a_file_whose_reading_fails() -> None:
    memory = Path("/proc/self/mem")
    if not memory.exists():
        pytest.skip("needs Linux's /proc, where address 0 of a process cannot be read")
    assert "cannot be read: " in message_of(memory)


@contextmanager
def memory_below(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("format", ["auto", "csv", "jsonl"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_an_endless_line_does_not_fill_the_memory(tmp_path: Path, format: str, packed: bool) -> None:
    log = tmp_path / "runs"
    content = b'{"text": "' + b"x" * 100_000_000
    log.write_bytes(gzip.compress(content, 1) if packed else content)
    del content
    with memory_below(6 * RECORD_LIMIT):
        assert "line 1: a record is longer than 4 MiB" in message_of(log, format)


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(tmp_path: Path) -> None:
    log = tmp_path / "runs.csv"
    log.write_bytes(HEADER + b'\nt,m,h,"' + b"a line of some length\n" * (RECORD_LIMIT // 4))
    with memory_below(10 * RECORD_LIMIT):
        assert "is a quote never closed?" in message_of(log)


SEEDS = {
    "csv": WIDE + b'0.5,1,10,ok,2026-01-31,true,{}\nu,m,h,0,,,,,,,"{""a"": 1}"\n',
    "jsonl": OK + b'{"route": "h:m", "task": "\\u00e4", "score": true, "meta": {"a": [1, "\\ud83d\\ude00"]}}\n',
    "gzip": gzip.compress(GOOD),
}


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS.keys())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_no_damage_causes_another_error(tmp_path: Path, seed: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(seed)))
    end = data.draw(st.integers(start, min(len(seed), start + 8)))
    log = tmp_path / "runs"
    log.write_bytes(seed[:start] + data.draw(st.binary(max_size=8)) + seed[end:])
    for format in ("auto", "csv", "jsonl"):
        with suppress(LogError):
            assert all(0 <= (outcome.score or 0) <= 1 for outcome in read_logs(log, format))
