"""`hmrouter store export`: what is written is read back as it was, or nothing is written."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmrouter.cli.store import export
from hmrouter.logs import read_logs
from hmrouter.logs.spreadsheet import guarded
from hmrouter.store import OutcomeStore
from hmrouter.types import Outcome, Route, Status, Task, text_hash

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Refused = Callable[..., str]


def content(store: OutcomeStore) -> list[tuple[Outcome, Any]]:
    with store:
        return [(outcome, outcome.task.meta) for outcome in store.outcomes()]  # `==` of tasks leaves meta out


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
names = texts.filter(lambda text: text.strip() != "")
perhaps = st.just("") | names
amounts = st.none() | st.floats(0, 1e9, allow_nan=False)
counts = st.none() | st.integers(0, 10**16)
metas = st.dictionaries(texts, st.none() | st.booleans() | st.integers(-9, 9) | texts, max_size=2)
# Names of any spelling, canonical or not; few ids, so that outcomes meet in one task or one cell.
routes = st.builds(
    Route, st.sampled_from(["gpt-5", "GPT-5 (high)"]) | names, names.filter(lambda name: ":" not in name)
)
tasks = st.builds(
    Task, st.sampled_from("ab") | names, perhaps, texts, metas, st.sampled_from(["", text_hash("kept elsewhere")])
)


@st.composite
def any_outcome(draw: st.DrawFn) -> Outcome:
    status = draw(st.sampled_from(Status))
    score = st.floats(0, 1)
    return Outcome(
        draw(tasks), draw(routes), draw(score if status is Status.OK else st.none() | score),
        n_trials=draw(st.integers(0, 1000)), status=status, cost=draw(amounts), cost_is_route_mean=draw(st.booleans()),
        token_cost=draw(amounts), input_tokens=draw(counts), cached_tokens=draw(counts), output_tokens=draw(counts),
        seconds=draw(amounts), when=draw(st.none() | st.datetimes(timezones=st.just(UTC))),
        source=draw(perhaps), run=draw(perhaps), trial=draw(perhaps),
        model_version=draw(perhaps), harness_version=draw(perhaps), dataset_version=draw(perhaps),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv"])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(outcomes=st.lists(any_outcome(), min_size=1, max_size=6), keep_text=st.booleans())
def test_any_outcomes_come_back(tmp_path: Path, name: str, outcomes: list[Outcome], keep_text: bool) -> None:
    address, file = f"sqlite:///{tmp_path / 'here.db'}", str(tmp_path / name)
    for leftover in tmp_path.iterdir():
        leftover.unlink()
    with OutcomeStore(address) as store, OutcomeStore("sqlite://") as other:
        store.add(outcomes, keep_text=keep_text)
        export(file, None, None, address, True)
        kept = list(store.outcomes())
        again = store.add(read_logs(file))
        assert (again.new, again.known, again.differing) == (0, len(kept), 0)
        assert list(store.outcomes()) == kept
        assert other.add(read_logs(file)).new == len(kept)
        copied = list(other.outcomes())
    assert copied == kept
    hidden = [[(o.task.meta, o.task.text_hash) for o in each] for each in (copied, kept)]  # `==` leaves these out
    assert hidden[0] == hidden[1]


def test_a_row_of_an_export_of_another_version_is_refused(tmp_path: Path, store: OutcomeStore, inside: Cli) -> None:
    inside("store", "export", "all.jsonl", "--suite", "one")
    file = tmp_path / "all.jsonl"
    file.write_text(file.read_text().replace('"hmrouter_export": "1"', '"hmrouter_export": "2"', 1))
    done = inside("import", "all.jsonl")
    assert done.returncode == 1
    assert "all.jsonl line 1: hmrouter_export '2' is of another version of hmrouter; this one reads 1" in done.stderr


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv", "all.jsonl.gz", "all.csv.gz"])
def test_an_export_comes_back_as_it_was(tmp_path: Path, store: OutcomeStore, inside: Cli, name: str) -> None:
    done = inside("store", "export", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"Wrote 16 outcomes to {name}.\n", "")
    report = json.loads(inside("import", name, "--store", "sqlite:///copy.db", "--json").stdout)
    assert report["imported"][0]["new"] == 16
    with OutcomeStore(f"sqlite:///{tmp_path / 'copy.db'}", create=False) as copy:
        assert content(copy) == content(store)
    again = json.loads(inside("import", name, "--json").stdout)["imported"][0]
    assert (again["new"], again["known"], again["differing"]) == (0, 16, 0)


def test_an_export_is_read_by_others_too(tmp_path: Path, store: OutcomeStore, inside: Cli) -> None:
    inside("store", "export", "all.csv")
    with open(tmp_path / "all.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # What a spreadsheet would take for a formula has an apostrophe in front.
    assert {row["text"] for row in rows} == {guarded(outcome.task.text) for outcome, _ in content(store)}
    assert {row["when"] for row in rows} >= {"2026-01-31T12:00:00.123456+00:00", ""}


def test_the_same_outcomes_are_the_same_bytes(tmp_path: Path, store: OutcomeStore, inside: Cli) -> None:
    inside("store", "export", "a.jsonl.gz")
    inside("store", "export", "b.jsonl.gz")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    inside("store", "export", "a.jsonl")
    assert gzip.decompress((tmp_path / "b.jsonl.gz").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()


def test_an_export_of_one_suite_to_standard_output(tmp_path: Path, store: OutcomeStore, cli: Cli) -> None:
    done = cli("store", "export", "-", "--suite", "two,three")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "part.jsonl").write_text(done.stdout)
    assert list(read_logs(tmp_path / "part.jsonl")) == [o for o, _ in content(store) if o.task.suite == "two,three"]


def test_merges_are_no_part_of_an_export(tmp_path: Path, store: OutcomeStore, inside: Cli) -> None:
    before = content(store)
    with store:
        store.merge("model", "qwen-3:8b", "gpt-5")
        store.merge("harness", "claude-code", "codex")
        assert {str(outcome.route) for outcome in store.outcomes()} == {"codex:gpt-5"}
    done = inside("store", "export", "all.jsonl")
    assert done.stderr == "note: 2 merges of names not written: an export has the names as they were imported\n"
    assert [(o, o.task.meta) for o in read_logs(tmp_path / "all.jsonl")] == before


def test_what_hides_behind_a_hash_stays_there(tmp_path: Path, store: OutcomeStore, inside: Cli) -> None:
    with store:
        texts = {outcome.task.id: outcome.task.text for outcome in store.outcomes("one")}
        assert store.drop_texts(0, "one") == 4
    inside("store", "export", "all.csv")
    inside("import", "all.csv", "--store", "sqlite:///copy.db")
    with OutcomeStore(f"sqlite:///{tmp_path / 'copy.db'}", create=False) as copy:
        hashes = {o.task.id: (o.task.text, o.task.text_hash) for o in copy.outcomes("one")}
    assert hashes == {task: ("", text_hash(text)) for task, text in texts.items()}


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv"])
@pytest.mark.parametrize("letter", ["x", "修", "🚀"])
def test_a_text_that_no_import_takes_is_written_as_its_hash(
    tmp_path: Path, inside: Cli, name: str, letter: str
) -> None:
    texts = {"fits": letter * 700_000, "long": letter * (2**20 + 1)}
    route = Route("gpt-5", "codex")
    with OutcomeStore(f"sqlite:///{tmp_path / 'hmrouter.db'}") as store:
        store.add(Outcome(Task(task, text=text), route, 1.0) for task, text in texts.items())
    done = inside("store", "export", name)
    assert done.stderr == "warning: 1 text above the limit of an import (1 MiB), written as a hash only\n"
    back = {o.task.id: o.task for o in read_logs(tmp_path / name)}
    assert back["fits"].text == texts["fits"]
    assert (back["long"].text, back["long"].text_hash) == ("", text_hash(texts["long"]))


def test_an_export_is_whole_or_not_there(tmp_path: Path, store: OutcomeStore, refused: Refused) -> None:
    (tmp_path / "all.csv").write_text("old")
    assert "suite 'tow' is not in store" in refused("store", "export", "all.csv", "--suite", "tow", code=2)
    assert (tmp_path / "all.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.csv", "hmrouter.db"]


def test_a_full_disk_leaves_the_old_export(tmp_path: Path, store: OutcomeStore, refused: Refused) -> None:
    import resource

    with store:
        store.add([Outcome(Task("long", "one", "x" * 900_000), Route("gpt-5", "codex"), 1.0, source="s", run="r")])
    (tmp_path / "all.csv").write_text("old")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))  # noqa: E731
    line = refused("store", "export", "all.csv", outside=True, preexec_fn=limit)
    assert line.startswith("error: cannot write all.csv: File too large; nothing was changed")
    assert (tmp_path / "all.csv").read_text() == "old"
    assert not [path for path in tmp_path.iterdir() if path.suffix in (".tmp", ".lock")]


WRONG = {
    "ending": (["export", "all.txt"], 2, "'all.txt' ends in neither .jsonl nor .csv"),
    "no ending": (["export", "all"], 2, "'all' ends in neither .jsonl nor .csv"),
    "only .gz": (["export", "all.gz"], 2, "'all.gz' ends in neither .jsonl nor .csv"),
    "two answers": (["export", "-", "--json"], 2, "standard output cannot hold both"),
    "no folder": (["export", "no/all.csv"], 1, "cannot write no/all.csv: No such file or directory"),
    "a folder": (["export", "folder.csv"], 1, "cannot write folder.csv: it is there and not a regular file"),
}


@pytest.mark.parametrize(("arguments", "code", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_written_is_one_clear_line(
    tmp_path: Path, store: OutcomeStore, refused: Refused, arguments: list[str], code: int, says: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert says in refused("store", *arguments, code=code)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "hmrouter.db"]
