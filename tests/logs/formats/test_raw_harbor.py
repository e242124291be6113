"""Real Harbor jobs, where they are at hand: good ones, swallowed API errors, and a secret blanked out in the keys."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hmrouter.logs.base import Notes, Request
from hmrouter.logs.formats.harbor import HarborReader
from hmrouter.logs.walk import logs_at
from hmrouter.types import Outcome, Status

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RAW = SHARED / "raw" / "harbor"

pytestmark = pytest.mark.skipif(not RAW.is_dir(), reason="no shared data; set HMROUTER_SHARED_DATA to its folder")


@pytest.fixture(scope="module")
def trials() -> dict[str, dict[str, Any]]:
    """What the files say, by trial."""
    files = sorted(RAW.glob("jobs/*/*/result.json"))
    return {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files}


@pytest.fixture(scope="module")
def notes() -> Notes:
    return Notes()


@pytest.fixture(scope="module")
def jobs(notes: Notes) -> dict[str, list[Outcome]]:
    request = Request(notes=notes)
    return {part.path.name: list(part.read(request)) for part in logs_at(RAW, [HarborReader()], Notes())}


def test_every_trial_but_the_oracles(
    jobs: dict[str, list[Outcome]], trials: dict[str, dict[str, Any]], notes: Notes
) -> None:
    read = {outcome.trial: outcome for outcomes in jobs.values() for outcome in outcomes}
    left_out = [trials[name]["agent_info"]["name"] for name in trials.keys() - read.keys()]
    assert (len(trials), left_out, list(notes.remarks.values())) == (9, ["oracle"], [1])
    assert all(outcome.task.text for outcome in read.values())


def test_endings(jobs: dict[str, list[Outcome]]) -> None:
    # In api an agent raised. In api2 an API error stands under a key with a gap, and another was swallowed: no request
    # was answered, and there is a reward of 0 and no exception.
    assert {job: Counter(outcome.status for outcome in outcomes) for job, outcomes in jobs.items()} == {
        "api": {Status.INFRA_ERROR: 1},
        "api2": {Status.INFRA_ERROR: 2, Status.OK: 2},
        "demo": {Status.OK: 2},
        "demo2": {Status.OK: 1},
    }


def test_scores_costs_and_tokens(jobs: dict[str, list[Outcome]], trials: dict[str, dict[str, Any]]) -> None:
    for outcome in (outcome for outcomes in jobs.values() for outcome in outcomes if outcome.status is Status.OK):
        said = trials[outcome.trial]
        assert outcome.score == said["verifier_result"]["rewards"]["reward"]
        assert outcome.cost == said["agent_result"]["cost_usd"]
        assert outcome.input_tokens == said["agent_result"]["n_input_tokens"]
        assert outcome.cached_tokens == said["agent_result"]["n_cache_tokens"]


def test_an_agent_that_routes_says_which_route_it_took(jobs: dict[str, list[Outcome]]) -> None:
    assert [str(outcome.route) for outcome in jobs["demo2"]] == ["claude-code:claude-sonnet-4-5"]
