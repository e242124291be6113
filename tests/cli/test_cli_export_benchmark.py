"""`hmrouter store export DIR --format benchmark`: from the store to the comparison, whole or not there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hmrouter.cli.store_benchmarks import directory_name
from hmrouter.costs import priced
from hmrouter.evidence.cells import Cells
from hmrouter.evidence.dataset import Dataset
from hmrouter.logs import read_benchmark
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Status, Task

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]
EXPORT = ("store", "export", "cmp", "--format", "benchmark")


def same_cells(one: Dataset, other: Dataset) -> None:
    assert [(t, t.meta) for t in one.tasks] == [(t, t.meta) for t in other.tasks]
    assert (one.routes, one.ignored) == (other.routes, other.ignored)
    for name in Cells.__slots__:
        np.testing.assert_array_equal(getattr(one.cells, name), getattr(other.cells, name), name)


def test_what_is_exported_is_what_training_sees(tmp_path: Path, store: OutcomeStore, inside: Cli) -> None:
    with store:
        # A second run of a cell with the same trial, and one whose cost only the tokens tell.
        twice = Outcome(Task("t 0", "one"), Route("gpt-5", "codex"), 0.5, cost=2.0, source="other", run="x", trial="0")
        tokens = Outcome(
            Task("t 9", "one", "Say so"), Route("gpt-5", "codex"), 1.0, input_tokens=200_000, output_tokens=10_000
        )
        store.add([twice, tokens])
    done = inside(*EXPORT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("Wrote 18 outcomes of 2 suites to cmp.\nNext: hmrouter bench run routing --data cmp\n")
    assert done.stderr == "note: 1 task without a text that could be written; methods treat such tasks alike\n"
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("cmp/*/*")) == [
        f"cmp/{suite}/{name}" for suite in ("one", "two,three") for name in ("outcomes.csv", "queries.jsonl")
    ]
    with store:
        data = Dataset(priced(store.outcomes()))
    same_cells(Dataset(read_benchmark(tmp_path / "cmp")), data)
    assert 0.35 in data.cells.cost
    assert inside("import", "cmp", "--store", "sqlite:///copy.db").returncode == 0
    with OutcomeStore(f"sqlite:///{tmp_path / 'copy.db'}", create=False) as copy:
        same_cells(Dataset(copy.outcomes()), data)


def test_a_store_can_be_compared_on(tmp_path: Path, folder: Path, inside: Cli) -> None:
    report = json.loads(inside(*EXPORT, "--suite", "default", "--json").stdout)
    written = {"suite": "default", "directory": "default", "tasks": 24, "outcomes": 96, "without_text": 0}
    assert report == {"schema": "hmrouter.store-export/1", "out": "cmp", "outcomes": 96, "suites": [written]}
    assert inside("bench", "validate", "--data", "cmp").returncode == 0
    done = inside("bench", "run", "routing", "--data", "cmp", "--methods", "random,fixed,safe,oracle", "--splits", "2")
    assert done.returncode == 0, done.stderr
    assert "| default " in done.stdout
    rows = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {row["method"] for row in rows} == {"random", "fixed", "safe", "oracle"}


def test_merged_names_are_compared_as_one(tmp_path: Path, store: OutcomeStore, inside: Cli) -> None:
    with store:
        store.merge("model", "qwen-3:8b", "gpt-5")
    inside(*EXPORT)
    routes = {str(outcome.route) for outcome in read_benchmark(tmp_path / "cmp")}
    assert routes == {"codex:gpt-5", "claude-code:gpt-5"}


def test_a_suite_that_no_directory_can_be_named_after(tmp_path: Path, inside: Cli) -> None:
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        store.add(Outcome(Task("t", suite, "x"), Route("gpt-5", "codex"), 1.0) for suite in ("a/b", "a_b", ".hidden"))
    done = inside(*EXPORT)
    assert left(tmp_path / "cmp") == ["_hidden", "a_b", "a_b-2"]
    assert "note: suite 'a/b' is in a_b-2; --suite gives an import its name back\n" in done.stderr
    assert "'a_b'" not in done.stderr
    assert {outcome.task.suite for outcome in read_benchmark(tmp_path / "cmp" / "a_b-2", suite="a/b")} == {"a/b"}


@pytest.mark.parametrize("suite", ["", ".", "..", "/", "x" * 900, "修" * 300, "nul\0"])
def test_names_of_directories_are_safe(tmp_path: Path, suite: str) -> None:
    name = directory_name(suite)
    (tmp_path / name).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert not name.startswith(".")
    assert directory_name(suite, {name.upper()}) == f"{name}-2"


def test_a_text_that_no_import_takes_is_left_out(tmp_path: Path, inside: Cli) -> None:
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        store.add(
            Outcome(Task(task, text=text), Route("gpt-5", "codex"), None, status=Status.UNKNOWN)
            for task, text in (("fits", "修" * 700_000), ("long", "x" * (2**20 + 1)))
        )
    assert "note: 1 task without a text that could be written" in inside(*EXPORT).stderr
    texts = {outcome.task.id: len(outcome.task.text) for outcome in read_benchmark(tmp_path / "cmp")}
    assert texts == {"fits": 700_000, "long": 0}


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, store: OutcomeStore, refused: Refused) -> None:
    (tmp_path / "cmp").mkdir()
    line = refused(*EXPORT)
    assert line == ("error: cmp is there already, and an export replaces no folder; choose another, or remove it")
    assert left(tmp_path) == ["cmp", "hmrouter.db"]
    assert left(tmp_path / "cmp") == []


def test_a_full_disk_leaves_nothing(tmp_path: Path, store: OutcomeStore, refused: Refused) -> None:
    import resource

    with store:
        store.add([Outcome(Task("long", "one", "x" * 900_000), Route("gpt-5", "codex"), 1.0, source="s", run="r")])
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))  # noqa: E731
    line = refused(*EXPORT, outside=True, preexec_fn=limit)
    assert line == "error: cannot write cmp: File too large; nothing was changed"
    assert left(tmp_path) == ["hmrouter.db"]


def test_what_a_killed_export_left_is_removed(tmp_path: Path, store: OutcomeStore, inside: Cli) -> None:
    (tmp_path / ".cmp.killed.tmp" / "new" / "one").mkdir(parents=True)
    assert inside(*EXPORT).returncode == 0
    assert left(tmp_path) == ["cmp", "hmrouter.db"]


WRONG = {
    "standard output": (["-"], 2, "standard output cannot hold benchmark directories; give a folder"),
    "unknown suite": (["cmp", "--suite", "tow"], 2, "suite 'tow' is not in store"),
    "no folder": (["no/cmp"], 1, "cannot write no/cmp: No such file or directory"),
    "no store": (["cmp", "--store", "sqlite:///other.db"], 1, "store sqlite:///other.db does not exist"),
}


@pytest.mark.parametrize(("arguments", "code", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_exported_is_one_clear_line(
    tmp_path: Path, store: OutcomeStore, refused: Refused, arguments: list[str], code: int, says: str
) -> None:
    assert says in refused("store", "export", *arguments, "--format", "benchmark", code=code)
    assert left(tmp_path) == ["hmrouter.db"]


def test_an_empty_store_has_nothing_to_compare(tmp_path: Path, inside: Cli, refused: Refused) -> None:
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        store.add([])
        assert store.count() == 0
    assert "holds no outcome to export; import some with: hmrouter import PATH" in refused(*EXPORT)
    assert left(tmp_path) == ["hmrouter.db"]
