"""`router.hmr` from hands that nobody vouched for: a clear refusal, never a crash, never executed code."""

from __future__ import annotations

import copy
import json
import os
import pickle
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from hmrouter.errors import EmbedderMismatch, NoRoute, OutputError, RouterFileError, UsageError
from hmrouter.evidence.dataset import Dataset
from hmrouter.router import Router
from hmrouter.router.file import FORMAT, KEY, read_router_file, write_router_file
from hmrouter.scorers.base import Scorer
from hmrouter.scorers.hm import HM
from hmrouter.scorers.knn import KNN
from hmrouter.state import Array, State
from hmrouter.types import Outcome, Route, Task

SCORERS: list[Scorer] = [HM(epochs=1, d=4, side=3), KNN(k=3)]


@pytest.fixture(scope="module", params=SCORERS, ids=lambda scorer: scorer.name)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small router file."""
    texts = ["Fix the login", "Write a report", "Book a table", "Plot the data", "", "Fix the parser", "Sort the mail"]
    routes = [Route("gpt-5", "codex"), Route("gpt-5", "aider"), Route("claude-opus-4-5", "codex")]
    made = [
        Outcome(Task(f"t{i}", text=text), route, (i + j) % 2, cost=0.1 * (j + 1))
        for i, text in enumerate(texts)
        for j, route in enumerate(routes)
    ]
    file = tmp_path_factory.mktemp("whole") / "router.hmr"
    Router(request.param).fit(Dataset(made)).save(file)
    return file


def refusal(path: Path) -> str:
    with pytest.raises(RouterFileError) as refused:
        Router.load(path)
    message = str(refused.value)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < len(str(path)) * 2 + 500
    return message


def write_raw(path: Path, header: bytes, data: bytes = b"", length: int | None = None) -> None:
    path.write_bytes(struct.pack("<Q", len(header) if length is None else length) + header + data)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    state = State({"a/x": np.arange(6.0).reshape(2, 3), "a/y": np.array([], dtype=np.int64)}, {"a": {"é": [1, None]}})
    write_router_file(tmp_path / "router.hmr", state)
    read = read_router_file(tmp_path / "router.hmr")
    assert read.meta == state.meta
    assert read.arrays.keys() == state.arrays.keys()
    assert all(np.array_equal(read.arrays[name], array) for name, array in state.arrays.items())


def test_columns_of_an_array_are_written_in_their_order(tmp_path: Path) -> None:
    view = np.arange(6.0).reshape(2, 3).T[::2]  # not contiguous
    write_router_file(tmp_path / "router.hmr", State({"a/x": view}, {}))
    assert np.array_equal(read_router_file(tmp_path / "router.hmr").arrays["a/x"], view)


class Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("harmed",)


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pickle").write_bytes(pickle.dumps(Harmful()))
    np.save("array.npy", np.array([Harmful()], dtype=object), allow_pickle=True)
    for name in ("pickle", "array.npy"):
        assert "is not a whole router file" in refusal(tmp_path / name)
    assert not Path("harmed").exists()


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    assert "there is no router file" in refusal(tmp_path / "router.hmr")
    assert "fit one and save it there" in refusal(tmp_path / "router.hmr")
    assert "is not a file" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "is not a file" in refusal(tmp_path / "pipe")


def test_hostile_headers(tmp_path: Path) -> None:
    file = tmp_path / "router.hmr"
    for length in (2**62, 2**63, 2**64 - 1, 10**8, 0):
        write_raw(file, b"{}", length=length)
        assert "is not a whole router file" in refusal(file)
    tensor = {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}
    hostile: list[bytes] = [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        json.dumps({"x": tensor}).encode(),
        json.dumps({"x": {**tensor, "shape": [-1]}}).encode(),
        json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}).encode(),
        json.dumps({"__metadata__": {KEY: {"format": 1}}}).encode(),
    ]
    for header in hostile:
        write_raw(file, header)
        assert "is not a whole router file" in refusal(file)


def test_numbers_that_numpy_does_not_know(tmp_path: Path) -> None:
    file = tmp_path / "router.hmr"
    for dtype in ("BF16", "F8_E4M3", "F8_E5M2"):
        size = 2 if dtype == "BF16" else 1
        header = {
            "x": {"dtype": dtype, "shape": [1], "data_offsets": [0, size]},
            "__metadata__": {KEY: '{"format": 1}'},
        }
        write_raw(file, json.dumps(header).encode(), bytes(size))
        refusal(file)


def test_another_safetensors_file(tmp_path: Path) -> None:
    save_file({"weight": np.zeros(3)}, tmp_path / "model.safetensors")
    assert "is a safetensors file, but not a router; give a file" in refusal(tmp_path / "model.safetensors")


DOCUMENTS = ["", "{", "null", "[]", "3", '"format"', "{}", '{"format"', "[" * 100_000, '{"a": ' * 100_000]


@pytest.mark.parametrize("document", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_damaged_metadata(tmp_path: Path, document: str) -> None:
    save_file({}, tmp_path / "router.hmr", metadata={KEY: document})
    assert "is damaged" in refusal(tmp_path / "router.hmr")


@pytest.mark.parametrize("version", [0, FORMAT + 1, "1", None, "x" * 10_000])
def test_other_versions_are_refused_with_the_way_out(tmp_path: Path, version: object) -> None:
    save_file({}, tmp_path / "router.hmr", metadata={KEY: json.dumps({"format": version})})
    message = refusal(tmp_path / "router.hmr")
    assert "has router format" in message
    assert f"this version reads format {FORMAT}; use the hmrouter version that wrote it, or train again" in message


@contextmanager
def quiet() -> Iterator[None]:
    """Numbers of a damaged file may overflow; that is not what is tested."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def rewritten(whole: Path, to: Path, change: Callable[[dict[str, Array], dict[str, Any]], object]) -> Path:
    state = read_router_file(whole)
    arrays, meta = dict(state.arrays), copy.deepcopy(dict(state.meta))
    change(arrays, meta)
    write_router_file(to / "changed.hmr", State(arrays, meta))
    return to / "changed.hmr"


RESHAPES: dict[str, Callable[[Array], Array | None]] = {
    "is missing": lambda a: None,
    "is a single number": lambda a: a.reshape(-1)[:1].reshape(()) if a.size else None,
    "has one entry": lambda a: a.reshape(-1)[:1] if a.size > 1 else None,
    "has one dimension more": lambda a: a[None],
    "has one row less": lambda a: a[:-1] if len(a) else None,
    "has one row more": lambda a: np.concatenate([a, a[-1:]]) if len(a) else None,
    "has one column less": lambda a: a[..., :-1] if a.ndim > 1 else None,
    "has columns for rows": lambda a: a.T if a.ndim > 1 and a.shape[0] != a.shape[1] else None,
    "is not a number": lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" and a.size else None,
}


@pytest.mark.parametrize("reshape", RESHAPES.values(), ids=RESHAPES.keys())
def test_an_array_of_another_size_never_crashes(whole: Path, tmp_path: Path, reshape: Callable[[Array], Any]) -> None:
    refused = 0
    names = list(read_router_file(whole).arrays)
    for name in names:

        def change(arrays: dict[str, Array], meta: dict[str, Any], name: str = name) -> None:
            changed = reshape(arrays.pop(name))
            if changed is not None:
                arrays[name] = changed

        refused += not works(rewritten(whole, tmp_path, change), tmp_path)
    assert refused > 0  # a part may take one that fits anyhow


def test_an_array_too_many_is_refused(whole: Path, tmp_path: Path) -> None:
    file = rewritten(whole, tmp_path, lambda arrays, meta: arrays.update({"scorer/more": np.zeros(1)}))
    assert "other shapes than its settings say" in refusal(file)


JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 10**30, 1.5, "", "x", "x:y", [], [None], ["x:y"], [[]], {}, {"x": 1}]
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a JSON document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    return [at, *(path for key, part in inside for path in paths(part, (*at, key)))]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_junk_in_the_metadata_never_crashes(whole: Path, tmp_path: Path, data: st.DataObject) -> None:
    meta = dict(read_router_file(whole).meta)
    *way, last = data.draw(st.sampled_from([path for path in paths(meta) if path]))
    junk = data.draw(JUNK)

    def change(arrays: dict[str, Array], meta: dict[str, Any]) -> None:
        part: Any = meta
        for step in way:
            part = part[step]
        part[last] = junk

    works(rewritten(whole, tmp_path, change), tmp_path)


def works(file: Path, folder: Path) -> bool:
    """Whether a router can be loaded and used; anything but working and a clear refusal is a failure."""
    with quiet():
        try:
            router = Router.load(file)
        except (RouterFileError, EmbedderMismatch) as error:
            assert "\n" not in str(error)  # noqa: PT017 - a refusal is as good as an answer
            return False
        with suppress(NoRoute, UsageError):  # settings that leave nothing, an incumbent from elsewhere
            router.route("Fix the login page")
        router.save(folder / "again.hmr")
    return True


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_no_damaged_byte_goes_unnoticed(whole: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(whole.read_bytes())
    start = data.draw(st.integers(0, len(content)))
    content[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    (tmp_path / "damaged.hmr").write_bytes(content)
    with suppress(RouterFileError):
        loaded = Router.load(tmp_path / "damaged.hmr")  # then it was a blank in the header, or the same byte again
        assert loaded.route("Fix it").ranked == Router.load(whole).route("Fix it").ranked


def test_a_flipped_bit_is_noticed(whole: Path, tmp_path: Path) -> None:
    content = bytearray(whole.read_bytes())
    content[-3] ^= 1  # in the last array
    (tmp_path / "flipped.hmr").write_bytes(content)
    assert "is damaged, its checksum does not fit; train again or use a copy" in refusal(tmp_path / "flipped.hmr")


def test_a_truncated_file_is_refused_wherever_it_ends(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    for end in [*range(0, len(content), max(1, len(content) // 60)), len(content) - 1]:
        (tmp_path / "cut.hmr").write_bytes(content[:end])
        assert "is not a whole router file" in refusal(tmp_path / "cut.hmr")


def test_a_place_that_cannot_be_written(whole: Path, tmp_path: Path) -> None:
    router = Router.load(whole)
    with pytest.raises(OutputError, match="nothing was changed"):
        router.save(tmp_path / "missing" / "router.hmr")
