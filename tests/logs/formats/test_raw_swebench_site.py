"""The SWE-bench site's real data file against the benchmark that was made of it, where they are at hand."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from pathlib import Path

import pytest

from hmrouter.logs.base import Notes, Request
from hmrouter.logs.formats.swebench_site import SweBenchSiteReader
from hmrouter.logs.walk import Log
from hmrouter.names import Names
from hmrouter.types import Outcome

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RAW = SHARED / "raw" / "swebench-leaderboard" / "leaderboards.json"
CORPUS = SHARED / "corpus" / "swebench_verified" / "outcomes.csv"

pytestmark = pytest.mark.skipif(
    not (RAW.is_file() and CORPUS.is_file()), reason="no shared data; set HMROUTER_SHARED_DATA to its folder"
)

# The benchmark's own spelling, which joins it with another source's.
RENAMED = {"gemini-3-pro-preview": "gemini-3-pro"}


def test_every_run_equals_its_route_in_the_corpus() -> None:
    assert SweBenchSiteReader().sniff(RAW)
    notes, names = Notes(), Names()
    found: dict[str, dict[str, Outcome]] = defaultdict(dict)
    for outcome in Log(RAW, SweBenchSiteReader()).read(Request(names=names, notes=notes)):
        tasks = found[RENAMED.get(outcome.route.model, outcome.route.model)]
        assert outcome.task.id not in tasks, "a run was counted twice"
        assert (outcome.route.harness, outcome.task.suite) == ("mini-swe-agent", "swe-bench-verified")
        tasks[outcome.task.id] = outcome
    expected: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    with CORPUS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["harness"] == "mini-SWE-agent":
                expected[row["model"]][row["query_id"]] = float(row["score"]), float(row["cost_usd"])
    assert len(expected) == 24
    assert found.keys() == expected.keys()
    for model, rows in expected.items():
        scores = {task: outcome.score for task, outcome in found[model].items()}
        assert scores == {task: score for task, (score, _) in rows.items()}, model
        costs = {task: outcome.cost for task, outcome in found[model].items()}
        assert costs == pytest.approx({task: cost for task, (_, cost) in rows.items()}, abs=1e-6), model
    assert not names.unknown_models
    assert sum(remark.endswith("10.2% resolved, its entry 52.8%; left out") for remark in notes.remarks) == 1
