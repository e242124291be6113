"""The real OpenHands Index folders against the benchmark directories made of them, where they are at hand.

Each of these corpus routes consists of one folder of the Index, so every count, score and cost must be equal.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import pytest

from hmrouter.logs import read_benchmark
from hmrouter.logs.base import Notes, Request
from hmrouter.logs.formats.openhands_index import OpenHandsIndexReader
from hmrouter.logs.walk import logs_at
from hmrouter.types import Outcome, Route

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
INDEX, CORPUS = SHARED / "raw" / "openhands-index", SHARED / "corpus"
BENCHMARKS = {"swe-bench": "openhands_swebench", "gaia": "openhands_gaia", "commit0": "openhands_commit0"}

pytestmark = pytest.mark.skipif(
    not (INDEX.is_dir() and CORPUS.is_dir()), reason="no shared data; set HMROUTER_SHARED_DATA to its folder"
)

ByRoute = dict[Route, dict[str, Outcome]]


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    found = list(logs_at(INDEX, [OpenHandsIndexReader()], Notes()))
    assert len(found) == 6
    return [outcome for part in found for outcome in part.read(Request())]


def by_route(outcomes: list[Outcome]) -> ByRoute:
    found: ByRoute = defaultdict(dict)
    for outcome in outcomes:
        found[outcome.route][outcome.task.id] = outcome
    return found


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_route_equals_the_corpus(outcomes: list[Outcome], benchmark: str) -> None:
    ours = by_route([o for o in outcomes if o.task.suite == benchmark])
    corpus = by_route(list(read_benchmark(CORPUS / BENCHMARKS[benchmark])))
    assert len(ours) == 6
    assert ours.keys() <= corpus.keys()
    for route, mine in ours.items():
        theirs = corpus[route]
        assert mine.keys() == theirs.keys(), route
        assert {task: o.score for task, o in mine.items()} == {task: o.score for task, o in theirs.items()}, route
        for task, outcome in mine.items():
            # The corpus has its costs rounded to millionths of a dollar.
            expected = pytest.approx(theirs[task].cost, abs=1e-6) if theirs[task].cost is not None else None
            assert outcome.cost == expected, (route, task)
            assert outcome.cost_is_route_mean == theirs[task].cost_is_route_mean, (route, task)


def test_versions_and_dates_are_kept(outcomes: list[Outcome]) -> None:
    assert {o.task.suite for o in outcomes} == set(BENCHMARKS)
    assert all(o.when is not None and o.when.tzinfo is not None and o.harness_version for o in outcomes)
    assert len({o.key for o in outcomes}) == len(outcomes)
    assert {str(o.route) for o in outcomes if o.cost_is_route_mean} == {"codex:gpt-5-4"}
