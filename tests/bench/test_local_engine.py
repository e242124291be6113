"""Worker processes of this machine: who does what, and that nothing is left of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import RunRequest, Unit
from hmrouter.bench.run.local_engine import Queue, run_local


@pytest.fixture
def requests(plant: Callable[..., Path], tmp_path: Path) -> dict[str, RunRequest]:
    return {"routing": RunRequest([Benchmark.at(plant(tmp_path / "data", 12))], ("fixed", "knn"), splits=2)}


def all_units(requests: dict[str, RunRequest]) -> list[Unit]:
    units: list[Unit] = EXPERIMENTS.load("routing")().units(requests["routing"])
    return units


def children() -> set[int]:
    tasks = Path("/proc/self/task")
    return {int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see processes")
def test_workers_end_with_the_run_that_is_left_early(requests: dict[str, RunRequest]) -> None:
    before = children()
    running = run_local(all_units(requests), requests, 2)
    assert next(iter(running)).rows
    assert len(children() - before) >= 2
    running.close()  # type: ignore[attr-defined]
    # Python's own resource tracker stays
    left = [pid for pid in children() - before if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert left == []


def test_the_environment_is_as_before(requests: dict[str, RunRequest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = dict(os.environ)
    assert len(list(run_local(all_units(requests), requests, 2))) == 4
    assert dict(os.environ) == before


units = st.builds(Unit, st.just("routing"), st.sampled_from("abc"), st.sampled_from(["m", "n", "o"]), st.integers(0, 2))


@given(st.lists(units, unique=True), st.integers(1, 4), st.randoms())
def test_the_queue_gives_every_unit_once_and_lets_workers_stay(asked: list[Unit], n: int, chance: Any) -> None:
    queue = Queue(asked)
    last: list[Unit | None] = [None] * n
    given_out: list[Unit] = []
    left = Counter((u.benchmark, u.split) for u in asked)
    begun: set[tuple[str, int]] = set()
    while (worker := chance.randrange(n)) >= 0:
        before = last[worker]
        unit = queue.take(before)
        if unit is None:
            break
        place = (unit.benchmark, unit.split)
        if before is not None and left[before.benchmark, before.split]:
            assert place == (before.benchmark, before.split)
        elif place in begun:  # it helps out only when nothing is untouched
            assert {p for p, k in left.items() if k} <= begun
        left[place] -= 1
        begun.add(place)
        last[worker] = unit
        given_out.append(unit)
    assert sorted(map(repr, given_out)) == sorted(map(repr, asked))
    assert queue.take() is None
