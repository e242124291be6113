"""The engine on this machine: real worker processes, on planted benchmarks of a few tasks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment, RunRequest, Unit
from hmrouter.bench.run.engine import Results, run
from hmrouter.bench.run.failures import sentences
from hmrouter.bench.run.results_cache import ResultsCache
from hmrouter.bench.run.unit_keys import UnitKeys
from hmrouter.bench.run.work import UnitResult, run_unit
from hmrouter.errors import UnknownName

Plant = Callable[..., Path]
PlugIn = Callable[..., Path]


@pytest.fixture
def benchmarks(plant: Plant, tmp_path: Path) -> list[Benchmark]:
    return [Benchmark.at(plant(tmp_path / "data" / name, n)) for name, n in (("alpha", 12), ("beta", 16))]


def all_units(requests: dict[str, RunRequest]) -> list[Unit]:
    out: list[Unit] = []
    for name, request in requests.items():
        experiment: Experiment = EXPERIMENTS.load(name)()
        out += experiment.units(request)
    return out


def go(benchmarks: Sequence[Benchmark], cache: Path, *methods: str, jobs: int = 1, **more: Any) -> Results:
    splits = more.pop("splits", 2)
    requests = {name: RunRequest(benchmarks, methods, splits) for name in more.pop("experiments", ["routing"])}
    return run(all_units(requests), requests, ResultsCache(cache), jobs=jobs, **more)


def timeless(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "fit_seconds"} for row in rows]


# -- the same whoever does it ---------------------------------------------------------------------------------------


def test_one_worker_or_two_or_none(benchmarks: list[Benchmark], tmp_path: Path) -> None:
    methods, experiments = ("random", "fixed", "knn", "avengers", "hm", "oracle"), ("routing", "cost")
    one = go(benchmarks, tmp_path / "1", *methods, jobs=1, experiments=experiments)
    two = go(benchmarks, tmp_path / "2", *methods, jobs=2, experiments=experiments)
    requests = {name: RunRequest(benchmarks, methods, splits=2) for name in experiments}
    here = [row for unit in all_units(requests) for row in run_unit(unit, requests).rows]
    assert timeless(one.rows) == timeless(two.rows) == timeless(here)
    assert (one.computed, one.cached, one.left_out) == (48, 0, [])
    # in the order of the units, and to the last bit as they will be written
    places = [(r["experiment"], r["benchmark"], r["split"]) for r in one.rows if r["method"] == "random"]
    assert places == [(e, b, s) for e in experiments for b in ("alpha", "beta") for s in (0, 1)]
    assert json.loads(json.dumps(one.rows)) == one.rows


def test_a_second_run_computes_nothing(benchmarks: list[Benchmark], tmp_path: Path) -> None:
    first = go(benchmarks, tmp_path / "c", "fixed", "knn")
    again = go(benchmarks, tmp_path / "c", "fixed", "knn")
    assert (first.computed, first.cached) == (8, 0)
    assert (again.computed, again.cached) == (0, 8)
    assert again.rows == first.rows
    more = go(benchmarks, tmp_path / "c", "fixed", "knn", "random")
    assert (more.computed, more.cached) == (4, 8)


def test_a_damaged_file_is_computed_again(benchmarks: list[Benchmark], tmp_path: Path) -> None:
    first = go(benchmarks, tmp_path / "c", "fixed", "knn")
    file = sorted((tmp_path / "c").rglob("*.json"))[3]
    whole = file.read_bytes()
    file.write_bytes(whole[:100])
    again = go(benchmarks, tmp_path / "c", "fixed", "knn")
    assert (again.computed, again.cached) == (1, 7)
    assert timeless(again.rows) == timeless(first.rows)
    assert json.loads(file.read_bytes())["key"] == json.loads(whole)["key"]


def test_changed_data_reruns_that_benchmark_alone(benchmarks: list[Benchmark], plant: Plant, tmp_path: Path) -> None:
    first = go(benchmarks, tmp_path / "c", "fixed", "knn")
    plant(Path(benchmarks[0].path), 12, score=lambda i, j: float(j == 2))
    now = [Benchmark.at(benchmarks[0].path), benchmarks[1]]
    again = go(now, tmp_path / "c", "fixed", "knn")
    assert (again.computed, again.cached) == (4, 4)
    assert again.rows[4:] == first.rows[4:]
    assert timeless(again.rows[:4]) != timeless(first.rows[:4])


def test_data_that_changes_during_the_run_is_refused(benchmarks: list[Benchmark], plant: Plant, tmp_path: Path) -> None:
    plant(Path(benchmarks[0].path), 13)
    found = go(benchmarks, tmp_path / "c", "fixed")
    assert {r["benchmark"] for r in found.rows} == {"beta"}
    assert "holds other data" in found.left_out[0]


def test_what_a_unit_is_kept_under(benchmarks: list[Benchmark], monkeypatch: pytest.MonkeyPatch) -> None:
    def key(method: str = "knn", *, model: str = "small", **changed: Any) -> dict[str, Any]:
        monkeypatch.setenv("HMROUTER_EMBEDDINGS_URL", "http://localhost:9/v1")
        monkeypatch.setenv("HMROUTER_EMBEDDINGS_MODEL", model)
        request = replace(RunRequest(benchmarks, ("knn",), splits=2), **changed)
        return UnitKeys({"routing": request}).of(Unit("routing", "alpha", method, 0))

    assert key() == key(splits=3) == key(methods=("knn", "hm")) == key(vectors="sqlite:///v.db") == key(model="large")
    learned = [key(), key("fixed"), key("oracle"), key(seed=1)]
    asked = [key(embedder="openai"), key(embedder="openai", model="large")]
    assert len({json.dumps(k) for k in [*learned, *asked]}) == 6
    assert key()["data"] == benchmarks[0].hash


def test_an_unknown_engine(benchmarks: list[Benchmark], tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="engine 'locl' is not known; did you mean 'local'"):
        go(benchmarks, tmp_path / "c", "fixed", engine="locl")
    assert not (tmp_path / "c").exists()


# -- methods that misbehave -----------------------------------------------------------------------------------------


@pytest.fixture
def bad_methods(plug_in: PlugIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plug_in(
        tmp_path / "plug",
        raising={"fit": "raise RuntimeError('no licence\\n\\nfile')"},
        dying={"fit": "import os; os._exit(3)"},
        killed={"fit": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"},
        blank={"score": "score = score * np.nan"},
        leaving={"fit": "raise SystemExit(0)"},
        chatty={"fit": "print('hello from', 'a fit')"},
    )
    monkeypatch.syspath_prepend(tmp_path / "plug")


@pytest.mark.usefixtures("bad_methods")
def test_the_others_go_on(benchmarks: list[Benchmark], tmp_path: Path) -> None:
    bad = ("raising", "dying", "killed", "blank", "leaving")
    found = go(benchmarks, tmp_path / "c", "fixed", *bad, "knn", "oracle", splits=1)
    good = go(benchmarks, tmp_path / "d", "fixed", "knn", "oracle", splits=1)
    assert timeless(found.rows) == timeless(good.rows)
    assert sorted(found.left_out) == [
        "routing: blank on alpha, beta (2 units): the scorer 'blank' gave scores that are not finite numbers",
        "routing: dying on alpha, beta (2 units): the process that did it ended with exit code 3",
        "routing: killed on alpha, beta (2 units): the process that did it was ended by SIGKILL",
        "routing: leaving on alpha, beta (2 units): SystemExit: 0",
        "routing: raising on alpha, beta (2 units): RuntimeError: no licence file",
    ]
    again = go(benchmarks, tmp_path / "c", "fixed", "raising", "oracle", splits=1)
    assert (again.computed, again.cached) == (2, 4)  # what failed is tried again


@pytest.mark.usefixtures("bad_methods")
def test_what_a_method_prints_is_no_answer(
    benchmarks: list[Benchmark], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert go(benchmarks, tmp_path / "c", "chatty").left_out == []
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("hello from a fit") == 4


def test_a_plug_in_that_cannot_be_imported(
    benchmarks: list[Benchmark], plug_in: PlugIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = plug_in(tmp_path / "plug", broken={})
    (folder / "planted_broken.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(folder)
    found = go(benchmarks, tmp_path / "c", "fixed", "broken")
    assert [r["method"] for r in found.rows] == ["fixed"] * 4
    (reason,) = found.left_out
    assert reason.startswith("routing: broken on alpha, beta (4 units): method 'broken' (planted_broken:Broken) cannot")
    assert "no_such_dependency" in reason


def test_every_method_is_trained_on_the_same_tasks(
    benchmarks: list[Benchmark], plug_in: PlugIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = (
        "import os, pathlib; data = training.data; "
        f"pathlib.Path({str(tmp_path)!r}, self.name + '.seen').open('a')"
        ".write(data.tasks[0].suite + ' ' + ','.join(t.id for t in data.tasks) + chr(10))"
    )
    monkeypatch.syspath_prepend(plug_in(tmp_path / "plug", one={"fit": spy}, other={"fit": spy}))
    assert go(benchmarks, tmp_path / "c", "one", "other").left_out == []
    seen = {name: sorted((tmp_path / f"{name}.seen").read_text().splitlines()) for name in ("one", "other")}
    assert seen["one"] == seen["other"]
    assert len(set(seen["one"])) == 4
    expected = [
        f"{b.name} {','.join(t.id for t in split.train.tasks)}" for b in benchmarks for split in b.data().splits(2)
    ]
    assert seen["one"] == sorted(expected)


# -- sentences ------------------------------------------------------------------------------------------------------


def ended(benchmark: str, method: str, error: str = "", split: int = 0) -> UnitResult:
    return UnitResult(Unit("routing", benchmark, method, split), [], error)


def test_few_sentences_say_it_all() -> None:
    many = [ended(f"b{i}", "hm", "out of memory") for i in range(6)]
    whole = [ended("tiny", m, "no test outcome", s) for m in ("hm", "fixed") for s in (0, 1)]
    fine = [ended(f"b{i}", "fixed") for i in range(6)]
    assert sentences([*many, *whole, *fine]) == [
        "routing: hm on b0, b1, b2, b3 and 2 more (6 units): out of memory",
        "routing: every method on tiny (4 units): no test outcome",
    ]
    assert sentences(fine) == []


# -- watching -------------------------------------------------------------------------------------------------------


class Record:
    def __init__(self) -> None:
        self.began: list[tuple[int, int]] = []
        self.finished: list[UnitResult] = []

    def begins(self, todo: Sequence[Unit], cached: int) -> None:
        self.began.append((len(todo), cached))

    def ended(self, finished: UnitResult) -> None:
        self.finished.append(finished)


def test_who_watches_hears_of_every_unit(benchmarks: list[Benchmark], tmp_path: Path) -> None:
    one, two = Record(), Record()
    start = time.perf_counter()
    go(benchmarks, tmp_path / "c", "fixed", watch=one)
    elapsed = time.perf_counter() - start
    go(benchmarks, tmp_path / "c", "fixed", "knn", watch=two)
    assert (one.began, two.began) == ([(4, 0)], [(4, 4)])
    assert len(one.finished) == len(two.finished) == 4
    assert all(0 < f.seconds < elapsed and not f.cached for f in one.finished)
