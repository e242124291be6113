"""The HAL site's real databases against the benchmarks that were made of them, where they are at hand."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from pathlib import Path

import pytest

from hmrouter.logs.base import Request
from hmrouter.logs.formats.hal_site import HalSiteReader
from hmrouter.logs.walk import Log
from hmrouter.names import Names
from hmrouter.types import Outcome

SHARED = Path(os.environ.get("HMROUTER_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RAW, CORPUS = SHARED / "raw" / "hal", SHARED / "corpus"

pytestmark = pytest.mark.skipif(
    not (RAW.is_dir() and CORPUS.is_dir()), reason="no shared data; set HMROUTER_SHARED_DATA to its folder"
)


def read(benchmark: str) -> dict[str, list[Outcome]]:
    path = RAW / f"{benchmark}.db"
    assert HalSiteReader().sniff(path)
    names = Names()
    runs: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in Log(path, HalSiteReader()).read(Request(names=names)):
        assert outcome.task.suite == benchmark
        runs[outcome.run].append(outcome)
    assert not names.unknown_models
    assert not names.unknown_harnesses
    return runs


# The other routes of the corpus are means of several runs, or runs of 2024 and early 2025 from an older database.
@pytest.mark.parametrize(
    ("benchmark", "runs", "tasks", "compared"),
    [("taubench_airline", 40, 50, 12), ("corebench_hard", 47, 45, 17), ("scicode", 34, 65, 17)],
)
def test_every_run_that_is_a_route_of_its_own_equals_the_corpus(
    benchmark: str, runs: int, tasks: int, compared: int
) -> None:
    found = read(benchmark)
    assert len(found) == runs
    assert {len(outcomes) for outcomes in found.values()} == {tasks}
    routes: dict[tuple[str, str], list[list[Outcome]]] = defaultdict(list)
    for outcomes in found.values():
        route = outcomes[0].route
        # The corpus has one route for all efforts; where there were several runs it is their mean, left out below.
        routes[route.model.removesuffix("-high").removesuffix("-low"), route.harness].append(outcomes)
    matched = 0
    for (model, harness), rows in expected(benchmark).items():
        if {row["n_trials"] for row in rows} != {"1"} or (model, harness) not in routes:
            continue
        (outcomes,) = routes[model, harness]
        assert {outcome.task.id: outcome.score for outcome in outcomes} == {
            row["query_id"]: float(row["score"]) for row in rows
        }, (model, harness)
        costs = {row["query_id"]: float(row["cost_usd"]) if row["cost_usd"] else None for row in rows}
        assert {outcome.task.id: outcome.cost for outcome in outcomes} == pytest.approx(costs, abs=1e-6), (
            model,
            harness,
        )
        matched += 1
    assert matched == compared


def expected(benchmark: str) -> dict[tuple[str, str], list[dict[str, str]]]:
    names = Names()
    rows: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    with (CORPUS / benchmark / "outcomes.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[names.model(row["model"]), names.harness(row["harness"])].append(row)
    return rows
