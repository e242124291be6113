"""`overhead`: what is timed, and for which embedders. How long it takes is nobody's promise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import RunRequest
from hmrouter.bench.experiments.overhead.experiment import present_embedders

Plant = Callable[..., Path]
RowsOf = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MODEL", "URL", "DIMS", "INSTRUCTION", "REVISION", "MAX_CHARS"):
        monkeypatch.delenv(f"HMROUTER_EMBEDDINGS_{name}", raising=False)


def test_every_configured_embedder_takes_part(monkeypatch: pytest.MonkeyPatch, world: Benchmark) -> None:
    assert present_embedders() == ["lsa"]
    monkeypatch.setenv("HMROUTER_EMBEDDINGS_MODEL", "some/model")
    assert "lsa" in present_embedders()
    assert "sentence-transformers some/model" in present_embedders()
    units = EXPERIMENTS.load("overhead")().units(RunRequest([world], ("random", "fixed", "hm", "oracle"), 5))
    timed = [(u.method, u.split) for u in units if u.setting == "lsa"]
    assert timed == [("fixed", 0), ("hm", 0)]  # references are not fitted, and one split is enough


def test_rows_and_tables(sparse_world: Benchmark, rows_of: RowsOf) -> None:
    rows = rows_of("overhead", sparse_world, "fixed", "knn", "safe")
    train = sparse_world.data().splits(1)[0].train
    assert [r["method"] for r in rows] == ["fixed", "knn", "safe"]
    for row in rows:
        assert (row["n_routes"], row["n_outcomes"], row["n_train"]) == (4, len(train.cells), 21)
        assert min(row["encode_ms"], row["score_ms"], row["fit_seconds"], row["embedder_fit_seconds"]) > 0
        assert row["agent_seconds"] is None
    # The same choices as in `routing`: what is timed is what is judged.
    routing = {r["method"]: r["accuracy"] for r in rows_of("routing", sparse_world, "fixed", "knn", "safe", splits=1)}
    assert {r["method"]: r["accuracy"] for r in rows} == routing
    per_task, per_benchmark = EXPERIMENTS.load("overhead")().tables(rows)
    line = dict(zip(per_task.columns, per_task.rows[1], strict=True))
    assert line["method"] == "knn"
    assert line["total, ms/task"] == rows[1]["encode_ms"] + rows[1]["score_ms"]
    assert list(per_benchmark.rows[0]) == ["holes", 21, 4, len(train.cells), *(r["fit_seconds"] for r in rows)]
    assert "not recorded in this data" in per_task.note
    assert EXPERIMENTS.load("overhead")().headline(rows).startswith("With lsa, safe takes ")


def test_seconds_of_the_agents_are_told_where_known(world: Benchmark, rows_of: RowsOf) -> None:
    rows = [r | {"agent_seconds": 120.0} for r in rows_of("overhead", world, "fixed")]
    assert "The agents themselves ran 120 s per task" in EXPERIMENTS.load("overhead")().tables(rows)[0].note


def test_the_figure_is_training_time_over_outcomes(plant: Plant, tmp_path: Path, rows_of: RowsOf) -> None:
    rows = []
    for name, n in (("large", 24), ("small", 12)):
        rows += rows_of("overhead", Benchmark.at(plant(tmp_path / name, n)), "fixed", "knn")
    (figure,) = EXPERIMENTS.load("overhead")().figures(rows)
    assert [s.name for s in figure.series] == ["fixed", "knn"]
    assert list(figure.series[0].x) == [4 * 8, 4 * 17]  # 70% of the tasks, from small to large
    assert list(figure.series[0].y) == [rows[2]["fit_seconds"], rows[0]["fit_seconds"]]
