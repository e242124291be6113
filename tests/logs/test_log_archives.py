"""Archives: read like the folder that was packed, and never trusted."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmrouter.errors import LogError
from hmrouter.logs import Notes, find_logs, read_logs, sniff
from hmrouter.logs import archives as archives_module
from hmrouter.logs.archives import is_archive
from hmrouter.logs.base import UNPACKED
from hmrouter.logs.zip_file import zip_members

TABLE = b"task,model,harness,score\nt1,gpt-5,codex,1\nt2,gpt-5,codex,0\n"
BENCHMARK = {
    "outcomes.csv": b"query_id,model,harness,score\nq1,gpt-5,codex,1\n",
    "queries.jsonl": b'{"query_id": "q1", "text": "Fix it"}\n',
}


def pack_zip(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def pack_tar(files: Mapping[str, bytes], *members: tarfile.TarInfo, format: int = tarfile.PAX_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=format) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for member in members:
            archive.addfile(member)
    return packed.getvalue()


Pack = Callable[[Mapping[str, bytes]], bytes]
PACKERS: dict[str, Pack] = {
    "zip": pack_zip,
    "tar": pack_tar,
    "tar.gz": lambda files: gzip.compress(pack_tar(files)),
    "tar.bz2": lambda files: bz2.compress(pack_tar(files)),
    "tar.xz": lambda files: lzma.compress(pack_tar(files)),
}
every_kind = pytest.mark.parametrize("kind", PACKERS)


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, to see that nothing is left in it."""
    folder = tmp_path_factory.mktemp("scratch")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def message_of(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        list(read_logs(path))
    return str(caught.value)


def refused(path: Path) -> str:
    message = message_of(path)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert not UNPACKED
    assert not os.listdir(tempfile.gettempdir())
    return message.removeprefix(str(path))


@every_kind
def test_an_archive_reads_like_its_folder(tmp_path: Path, scratch: Path, kind: str) -> None:
    files = {"runs/a.csv": TABLE, "mine/outcomes.csv": BENCHMARK["outcomes.csv"], "mine/readme.md": b"Words"}
    files["mine/queries.jsonl"] = BENCHMARK["queries.jsonl"]
    for name, content in files.items():
        (tmp_path / "plain" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "plain" / name).write_bytes(content)
    archive = tmp_path / "misleading.csv"  # the content tells, not the name
    archive.write_bytes(PACKERS[kind](files))
    assert is_archive(archive)
    assert list(read_logs(archive)) == list(read_logs(tmp_path / "plain"))
    assert not os.listdir(scratch)


@every_kind
@pytest.mark.parametrize("name", ["swe.lite", "x"])
def test_a_benchmark_at_the_top_is_named_after_the_archive(tmp_path: Path, kind: str, name: str) -> None:
    archive = tmp_path / f"{name}.{kind}"
    archive.write_bytes(PACKERS[kind](BENCHMARK))
    (outcome,) = read_logs(archive)
    assert (outcome.task.suite, outcome.source, outcome.task.text) == (name, name, "Fix it")


@pytest.mark.parametrize("name", ["..zip", ".zip", "...", "a.tgz"])
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(pack_zip(BENCHMARK))
    (outcome,) = read_logs(tmp_path / name)
    assert outcome.task.suite == {"..zip": "archive", ".zip": "zip", "...": "archive", "a.tgz": "a"}[name]


def test_a_compressed_text_is_no_archive(tmp_path: Path) -> None:
    for name, content in {"a.gz": gzip.compress(TABLE), "a": TABLE, "b": b"BZ", "c": bytes(600)}.items():
        (tmp_path / name).write_bytes(content)
        assert not is_archive(tmp_path / name)


@every_kind
def test_a_message_names_the_archive_and_not_the_temporary_folder(tmp_path: Path, kind: str) -> None:
    archive = tmp_path / "x"
    archive.write_bytes(PACKERS[kind]({"a/b.csv": TABLE + b"t3,gpt-5,codex,2\n"}))
    assert refused(archive) == "/a/b.csv line 4: score 2.0 is outside 0 to 1"
    assert [part.name for part in find_logs(archive)] == [f"{archive}/a/b.csv"]


@every_kind
def test_who_stops_early_leaves_nothing_behind(tmp_path: Path, scratch: Path, kind: str) -> None:
    (tmp_path / "x").write_bytes(PACKERS[kind]({"a.csv": TABLE, "b.csv": TABLE}))
    assert sniff(tmp_path / "x") == "csv"
    assert not os.listdir(scratch)
    outcomes = read_logs(tmp_path / "x")
    assert next(outcomes).source == "a"
    assert os.listdir(scratch)
    assert isinstance(outcomes, Generator)
    outcomes.close()
    assert not os.listdir(scratch)
    assert not UNPACKED


@every_kind
def test_archives_inside_archives_at_most_three_deep(tmp_path: Path, kind: str) -> None:
    content = TABLE
    for depth in range(5):
        content = PACKERS[kind]({f"level-{depth}": content})
        (tmp_path / "x").write_bytes(content)
        if depth < 3:
            assert len(list(read_logs(tmp_path / "x"))) == 2
        else:
            notes = Notes()
            with pytest.raises(LogError, match="no known log format recognised"):
                list(read_logs(tmp_path / "x", notes=notes))
            assert "is an archive more than 3 archives deep" in notes.skipped[0]


@every_kind
@pytest.mark.parametrize("name", ["../evil.csv", "a/../../evil.csv", "/tmp/evil.csv", "C:/evil.csv"])
def test_nothing_is_written_outside(tmp_path: Path, scratch: Path, kind: str, name: str) -> None:
    (tmp_path / "x").write_bytes(PACKERS[kind]({"good.csv": TABLE, name: TABLE}))
    assert refused(tmp_path / "x").startswith(f": member {name!r} leads out of the archive")
    assert not list(tmp_path.rglob("*evil*"))
    assert not list(scratch.parent.rglob("*evil*"))


def test_backslashes_of_a_zip_are_separators(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(pack_zip({"a\\b.csv": TABLE}))
    assert [part.name for part in find_logs(tmp_path / "x")] == [f"{tmp_path}/x/a/b.csv"]
    (tmp_path / "x").write_bytes(pack_zip({"..\\b.csv": TABLE}))
    assert "leads out of the archive" in refused(tmp_path / "x")


def test_links_and_devices_are_never_made(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_bytes(TABLE)
    members = []
    for name, kind in {"link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "pipe": tarfile.FIFOTYPE}.items():
        member = tarfile.TarInfo(f"{name}.csv")
        member.type, member.linkname = kind, str(secret)
        members.append(member)
    (tmp_path / "x.tar").write_bytes(pack_tar({"a.csv": TABLE}, *members))
    link = zipfile.ZipInfo("link.csv")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, str(secret))
        archive.writestr("a.csv", TABLE)
    for name, left_out in {"x.tar": 3, "x.zip": 1}.items():
        notes = Notes()
        assert [part.name for part in find_logs(tmp_path / name, notes=notes)] == [f"{tmp_path / name}/a.csv"]
        assert notes.remarks == {f"{tmp_path / name}: links and devices in it were left out": left_out}


@every_kind
def test_an_archive_bomb(tmp_path: Path, kind: str) -> None:
    # More than a small archive may hold, of the kind that shrinks to next to nothing.
    (tmp_path / "x").write_bytes(PACKERS[kind]({"zeros": bytes(65 * 2**20)}))
    if kind == "tar":
        assert refused(tmp_path / "x").startswith(": no known log format recognised")
    else:
        assert refused(tmp_path / "x").startswith(": unpacks to more than 64 MiB, which is no size for a file of")


def test_bombs_inside_an_archive_share_its_budget(tmp_path: Path) -> None:
    inner = pack_zip({"zeros": bytes(30 * 2**20)})
    (tmp_path / "x").write_bytes(pack_zip({f"{number}.zip": inner for number in range(3)} | {"a.csv": TABLE}))
    notes = Notes()
    assert [part.path.name for part in find_logs(tmp_path / "x", notes=notes)] == ["a.csv"]
    assert [note.partition(": ")[0] for note in notes.skipped if "unpacks to more than 64 MiB" in note] == [
        f"{tmp_path}/x/2.zip"
    ]


def test_a_sparse_file_is_counted_by_what_comes_out(tmp_path: Path) -> None:
    member = tarfile.TarInfo("huge.csv")
    member.size = 0
    member.pax_headers = {
        "GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "huge.csv",
        "GNU.sparse.size": str(2**50), "GNU.sparse.map": f"{2**50},0", "GNU.sparse.numblocks": "1",
    }  # fmt: skip
    (tmp_path / "x").write_bytes(pack_tar({"a.csv": TABLE}, member))
    assert "unpacks to more than 64 MiB" in refused(tmp_path / "x")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_too_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr("hmrouter.logs.budget.MEMBERS", 10)
    (tmp_path / "x").write_bytes(PACKERS[kind]({f"{number}.csv": TABLE for number in range(11)}))
    said = {"zip": ": holds 11 files and folders, and 10 is the limit", "tar": ": holds more than 10 files and folders"}
    assert refused(tmp_path / "x").startswith(said[kind])


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_many_empty_members_are_fine(tmp_path: Path, kind: str) -> None:
    (tmp_path / "x").write_bytes(PACKERS[kind]({f"{n}.txt": b"" for n in range(3000)} | {"a.csv": TABLE}))
    assert len(list(read_logs(tmp_path / "x"))) == 2


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives_module, "SPARE_DISK", 2**60)
    (tmp_path / "x").write_bytes(pack_zip({"a.csv": TABLE}))
    assert "make room, or let TMPDIR name a larger one" in refused(tmp_path / "x")


def test_a_member_in_a_thousand_folders(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(pack_zip({"a/" * 1000 + "b.csv": TABLE}))
    assert "a member lies 1001 folders deep, and 64 is the limit" in refused(tmp_path / "x")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a": b"1", "a/b.csv": TABLE}, "member 'a/b.csv' cannot be unpacked"),
        ({"a" * 300: TABLE}, "cannot be unpacked: File name too long"),
    ],
)
@every_kind
def test_names_that_no_folder_can_hold(tmp_path: Path, kind: str, files: dict[str, bytes], said: str) -> None:
    (tmp_path / "x").write_bytes(PACKERS[kind](files))
    assert said in refused(tmp_path / "x")


def test_an_encrypted_zip(tmp_path: Path) -> None:
    packed = bytearray(pack_zip({"a.csv": TABLE}))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags, here and in the table of contents
        packed[packed.index(magic) + place] |= 1
    (tmp_path / "x").write_bytes(packed)
    assert refused(tmp_path / "x") == ": member 'a.csv' is encrypted; unpack it with its password first"


def test_a_zip_of_an_unknown_method(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(pack_zip({"a.csv": TABLE}, zipfile.ZIP_LZMA))
    assert refused(tmp_path / "x") == ": member 'a.csv' is compressed by method 14; use deflate"


def test_a_zip_with_a_huge_table_of_contents(tmp_path: Path) -> None:
    size = 40 * 2**20
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, size, 4, 0)
    with (tmp_path / "x").open("wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(4 + size)
        file.seek(4 + size)
        file.write(end)
    tracemalloc.start()
    try:
        with pytest.raises(LogError, match="its table of contents is larger than 32 MiB"):
            list(zip_members(tmp_path / "x", 10))
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def test_a_tar_with_a_huge_header(tmp_path: Path) -> None:
    member = tarfile.TarInfo("a.csv")
    member.pax_headers = {"comment": "x" * 2**21}
    (tmp_path / "x").write_bytes(gzip.compress(pack_tar({"first.csv": TABLE}, member)))
    assert refused(tmp_path / "x") == ": a header is larger than 1 MiB, the limit"


def test_xz_may_not_ask_for_gigabytes(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 2**29}]
    packed = lzma.LZMACompressor(filters=filters)
    (tmp_path / "x").write_bytes(packed.compress(pack_tar({"a.csv": TABLE})) + packed.flush())
    assert "Memory usage limit exceeded" in refused(tmp_path / "x")


def test_several_streams_in_one_file(tmp_path: Path) -> None:
    whole = pack_tar({"a.csv": TABLE})
    for pack in (bz2.compress, lzma.compress, gzip.compress):
        (tmp_path / "x").write_bytes(pack(whole[:700]) + pack(whole[700:]))
        assert len(list(read_logs(tmp_path / "x"))) == 2
    (tmp_path / "x").write_bytes(lzma.compress(whole[:700]) + bytes(8) + lzma.compress(whole[700:]))
    assert len(list(read_logs(tmp_path / "x"))) == 2


@every_kind
def test_no_part_of_an_archive_is_read_as_if_it_were_all(tmp_path: Path, kind: str) -> None:
    packed = PACKERS[kind]({"a.csv": TABLE, "b.csv": os.urandom(700) + TABLE, "c.csv": TABLE})
    for length in range(600, len(packed), 97):
        (tmp_path / "x").write_bytes(packed[:length])
        with suppress(LogError):
            read = list(read_logs(tmp_path / "x"))
            assert kind == "tar", length
            assert len(read) == 4, length  # only zeros behind the end mark are missing


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_two_tars_in_a_row_are_not_read_as_one(tmp_path: Path, kind: str) -> None:
    packed = PACKERS[kind]({"a.csv": TABLE})
    (tmp_path / "x").write_bytes(packed + PACKERS[kind]({"b.csv": TABLE}))
    assert "the tar archive is truncated or corrupt (" in refused(tmp_path / "x")


def test_a_tar_with_a_broken_header_in_its_middle(tmp_path: Path) -> None:
    packed = bytearray(pack_tar({"a.csv": TABLE, "b.csv": TABLE}))
    packed[1024] ^= 0xFF
    (tmp_path / "x").write_bytes(packed)
    assert refused(tmp_path / "x") == (": the tar archive is truncated or corrupt (no end mark where the members end)")


@every_kind
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_no_damage_causes_another_error(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    seed = PACKERS[kind]({"a.csv": TABLE, "mine/queries.jsonl": BENCHMARK["queries.jsonl"]})
    start = data.draw(st.integers(0, len(seed)))
    end = data.draw(st.integers(start, min(len(seed), start + 8)))
    (tmp_path / "x").write_bytes(seed[:start] + data.draw(st.binary(max_size=8)) + seed[end:])
    with suppress(LogError):
        list(read_logs(tmp_path / "x"))
