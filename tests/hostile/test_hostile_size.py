"""A few kilobytes that stand for gigabytes: refused in little memory, with nothing left behind."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hmrouter.errors import LogError
from hmrouter.logs import budget, read_logs

from .conftest import Limited

HEADER = b"task,model,harness,score\n"
ROW = b"t,m,h,1\n"
GIB = 2**30


def bzip2_zip() -> bytes:
    """2 GiB of zeros in a member of a ZIP; written by hand, as packing them takes long."""
    stream = bz2.compress(bytes(2**26))
    data = stream * 32  # several streams behind each other are one file
    size, checksum = 2 * GIB, 0
    for _ in range(64):
        checksum = zlib.crc32(bytes(2**25), checksum)
    name = b"runs.csv"
    common = struct.pack("<HHHHHIIIHH", 46, 0, 12, 0, 33, checksum, len(data), size, len(name), 0)
    local = b"PK\x03\x04" + common + name + data
    central = b"PK\x01\x02" + struct.pack("<H", 46) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def gzip_rows() -> bytes:
    return gzip.compress(HEADER + b"t" * 40 + b",m,h,1\n" + (b"t" * 40 + b",m,h,1\n") * 2_000_000, 9)


def tar_of_empty_files() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for number in range(17_000):
            archive.addfile(tarfile.TarInfo(f"d/{number}"))
    return packed.getvalue()


def parquet(**columns: object) -> bytes:
    rows = len(next(iter(columns.values())))  # type: ignore[arg-type]
    table = pa.table({"model": ["m"] * rows, "harness": ["h"] * rows, "score": [1.0] * rows, **columns})
    packed = io.BytesIO()
    pq.write_table(table, packed, compression="zstd")
    return packed.getvalue()


def one_text(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))


def parquet_cell() -> bytes:
    return parquet(task=["t"], text=pa.array(["x" * (80 * 2**20)], pa.large_string()))


def parquet_dictionary() -> bytes:
    return parquet(task=[f"t{i}" for i in range(4000)], text=one_text("x" * 2**20, 4000))


def parquet_lists() -> bytes:
    """A meta whose list refers to one long text many times."""
    values = one_text("x" * 2**19, 4000)
    lists = pa.ListArray.from_arrays(pa.array([0, 4000], pa.int32()), values)
    return parquet(task=["t"], meta=pa.StructArray.from_arrays([lists], ["many"]))


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "a.zip": (bzip2_zip, "unpacks to more than 64 MiB, which is no size for a file of"),
    "a.csv.gz": (gzip_rows, "unpacks to more than 64 MiB, which is no size for a file of"),
    "a.tar.gz": (tar_of_empty_files, "unpacks to more than 64 MiB, which is no size for a file of"),
    "cell.parquet": (parquet_cell, "unpacks to more than 64 MiB, which is no size for a file of"),
    "dictionary.parquet": (parquet_dictionary, "holds outcomes and texts of more than 64 MiB, which is no size for"),
    "lists.parquet": (parquet_lists, "times in its lists, and 64 MiB is the limit"),
}

SLOW = {"a.tar.gz"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.heavy) if name in SLOW else name for name in BOMBS]
)
def test_a_bomb_is_refused_in_little_memory(tmp_path: Path, limited: Limited, name: str) -> None:
    make, said = BOMBS[name]
    (tmp_path / name).write_bytes(make())
    assert (tmp_path / name).stat().st_size < 2**20
    (tmp_path / "good.csv").write_bytes(HEADER + ROW)
    ended = limited("import", name, "good.csv")
    assert said in ended.refused()
    assert "The store holds 1 outcome of" in ended.out
    assert not os.listdir(tmp_path / "scratch")
    assert sum(file.stat().st_size for file in tmp_path.glob("hmrouter.db*")) < 2**20


def test_what_lies_in_an_archive_shares_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "FLOOR", 2**20)
    monkeypatch.setattr(budget, "RATIO", 1)
    rows = budget.FLOOR // budget.OUTCOME_BYTES * 3 // 5
    packed = parquet(task=one_text("t", rows))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("a", "b"):
            archive.writestr(f"{name}.parquet", packed)
    with pytest.raises(LogError, match=r"b\.parquet: holds outcomes and texts of more than 1 MiB"):
        for _ in read_logs(tmp_path / "a.zip"):
            pass


def test_a_page_that_is_too_large_is_not_unpacked(tmp_path: Path) -> None:
    # Large enough a file for what its pages become, but one of them is 65 MiB.
    noise = os.urandom(2**20).hex()
    table = pa.table(
        {"task": ["t", "u"], "route": ["h:m"] * 2, "score": [1.0] * 2, "text": ["x" * (65 * 2**20), noise]}
    )
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(LogError, match=r"column 'text' has a page of 67 MiB, and 64 MiB is the limit"):
        list(read_logs(tmp_path / "a.parquet"))


@pytest.mark.parametrize("place", range(0, 4000, 37))
def test_a_damaged_parquet_file_is_one_clear_line(tmp_path: Path, place: int) -> None:
    data = bytearray(parquet(task=[f"t{i}" for i in range(50)], text=[f"Fix {i}" for i in range(50)]))
    data[place % len(data)] ^= 0xFF
    (tmp_path / "a.parquet").write_bytes(data)
    error = None
    try:
        list(read_logs(tmp_path / "a.parquet", format="parquet"))
    except LogError as raised:
        error = raised
    assert "please report" not in str(error)


def test_real_tables_are_read_as_before(tmp_path: Path) -> None:
    rows = 5000
    texts = [f"Fix the test number {i % 700}" for i in range(rows)]
    table = pa.table({
        "task": [f"t{i}" for i in range(rows)], "model": ["gpt-5"] * rows, "harness": ["codex"] * rows,
        "score": [1.0] * rows, "text": texts, "meta": [{"repo": f"r{i % 9}", "tags": ["a", "b"]} for i in range(rows)],
    })  # fmt: skip
    for compression in ("none", "snappy", "gzip", "zstd"):
        pq.write_table(table, tmp_path / "a.parquet", compression=compression, row_group_size=1500)
        read = list(read_logs(tmp_path / "a.parquet"))
        assert [outcome.task.text for outcome in read] == texts
        assert read[10].task.meta == {"repo": "r1", "tags": ["a", "b"]}
