"""The real benchmark directories, where they are at hand."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from hmrouter.logs import Notes, benchmark_directories, read_benchmark

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
CORPUS = SHARED / "corpus"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no shared data; set HMROUTER_SHARED_DATA to its folder")


def test_every_benchmark_is_read_whole() -> None:
    notes = Notes()
    for directory in benchmark_directories(CORPUS):
        outcomes = list(read_benchmark(directory, notes=notes))
        with (directory / "outcomes.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(outcomes) == len(rows), directory.name
        assert len({outcome.key for outcome in outcomes}) == len(rows), directory.name
        assert [outcome.score for outcome in outcomes] == [float(row["score"]) for row in rows], directory.name
    assert notes == Notes()


def test_workspacebench_lite() -> None:
    outcomes = list(read_benchmark(CORPUS / "workspacebench_lite"))
    assert len(outcomes) == 2700
    assert len({outcome.route for outcome in outcomes}) == 27
    assert len({outcome.task for outcome in outcomes}) == 100
    assert all(outcome.task.text for outcome in outcomes)
