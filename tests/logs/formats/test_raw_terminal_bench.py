"""Real terminal-bench submissions, where they are at hand."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from hmrouter.logs.base import Notes, Request
from hmrouter.logs.formats.terminal_bench import TerminalBenchReader
from hmrouter.logs.walk import logs_at
from hmrouter.names import canonical_harness, canonical_model
from hmrouter.types import Outcome, Status

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RAW = SHARED / "raw" / "terminal-bench"
CORPUS = SHARED / "corpus" / "terminalbench_core" / "outcomes.csv"

pytestmark = pytest.mark.skipif(not RAW.is_dir(), reason="no shared data; set HMROUTER_SHARED_DATA to its folder")


@pytest.fixture(scope="module")
def runs() -> dict[Path, list[Outcome]]:
    found = logs_at(RAW, [TerminalBenchReader()], Notes())
    return {part.path.relative_to(RAW): list(part.read(Request())) for part in found}


def test_every_trial_is_found_once(runs: dict[Path, list[Outcome]]) -> None:
    outcomes = [outcome for found in runs.values() for outcome in found]
    assert Counter(str(outcome.route) for outcome in outcomes) == {
        "goose:claude-opus-4": 80,
        "orchestrator:claude-sonnet-4": 40,
        "chaterm:claude-sonnet-4": 80,
        "droid:claude-sonnet-4": 80,
        "droid:gpt-5": 160,
    }
    assert len(runs) == 6
    assert len({outcome.key for outcome in outcomes}) == 440
    assert all(outcome.task.text and outcome.cost is None and outcome.status is Status.OK for outcome in outcomes)


def test_accuracies_are_those_that_the_runs_report(runs: dict[Path, list[Outcome]]) -> None:
    checked = 0
    for path, outcomes in runs.items():
        file = RAW / path if (RAW / path).is_file() else RAW / path / "results.json"
        if file.is_file():
            checked += 1
            scores = [outcome.score or 0.0 for outcome in outcomes]
            assert sum(scores) / len(scores) == pytest.approx(json.loads(file.read_text())["accuracy"]), path
    assert checked == 5


def test_tasks_with_all_their_trials_equal_the_corpus(runs: dict[Path, list[Outcome]]) -> None:
    # Of the other submissions only one or two of five runs are here; of this one all five trials of eight tasks.
    scores: dict[str, list[float]] = defaultdict(list)
    for outcome in (outcome for found in runs.values() for outcome in found):
        if outcome.route.harness == "orchestrator":
            scores[outcome.task.id].append(outcome.score or 0.0)
    expected = {}
    with CORPUS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            route = canonical_harness(row["harness"]), canonical_model(row["model"])
            if route == ("orchestrator", "claude-sonnet-4") and row["query_id"] in scores:
                expected[row["query_id"]] = float(row["score"])
                assert int(row["n_trials"]) == len(scores[row["query_id"]])
    assert {task: sum(trials) / len(trials) for task, trials in scores.items()} == pytest.approx(expected)
    assert len(expected) == 8


def test_tokens_only_where_they_were_counted(runs: dict[Path, list[Outcome]]) -> None:
    outcomes = [outcome for found in runs.values() for outcome in found]
    counted = Counter(outcome.route.harness for outcome in outcomes if outcome.input_tokens is not None)
    assert counted == {"chaterm": 48, "orchestrator": 23}
    assert all(outcome.input_tokens != 0 for outcome in outcomes)
