"""The real WorkspaceBench table against the benchmark directory made of it, where both are at hand."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import pytest

from hmrouter.logs import read_benchmark
from hmrouter.logs.base import Notes, Request
from hmrouter.logs.formats.workspace_bench import WorkspaceBenchReader
from hmrouter.logs.walk import logs_at
from hmrouter.names import Names
from hmrouter.types import Outcome, Route

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RAW, CORPUS = SHARED / "raw" / "workspace-bench", SHARED / "corpus" / "workspacebench_lite"

# The source writes Kimi-2.5, which stays a model of its own unless a user says otherwise; the corpus says otherwise.
MERGED = {"models": {"kimi-k2-5": ["Kimi-2.5"]}}

pytestmark = pytest.mark.skipif(
    not (RAW.is_dir() and CORPUS.is_dir()), reason="no shared data; set HMROUTER_SHARED_DATA to its folder"
)


def scores(outcomes: list[Outcome]) -> dict[Route, dict[str, float | None]]:
    found: dict[Route, dict[str, float | None]] = defaultdict(dict)
    for outcome in outcomes:
        found[outcome.route][outcome.task.id] = outcome.score
    return found


def test_every_route_equals_the_corpus() -> None:
    (part,) = logs_at(RAW, [WorkspaceBenchReader()], Notes())
    outcomes = list(part.read(Request(names=Names(MERGED))))
    mine, theirs = scores(outcomes), scores(list(read_benchmark(CORPUS)))
    assert len(outcomes) == len({o.key for o in outcomes}) == 2700
    assert len(mine) == 27
    assert mine.keys() == theirs.keys()
    for route, expected in theirs.items():
        # The corpus has its shares rounded to millionths.
        assert mine[route] == pytest.approx(expected, abs=1e-6), route
