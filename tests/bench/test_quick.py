"""`--quick`: what is left is whole, what is less is said, and a full run is as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from hmrouter.bench.experiments import EXPERIMENTS, every_experiment
from hmrouter.bench.experiments.base import Unit
from hmrouter.bench.experiments.quick import Quick
from hmrouter.bench.run.suite import plan_suite, units_of
from hmrouter.bench.run.suite_page import page_of

Plant = Callable[..., Path]
ROUTES = [(m, h) for m in ("atlas", "birch", "cedar") for h in ("codex", "claude-code", "hermes")]
SLOW = {"irtnet", "mirt", "component_only"}


@pytest.fixture
def data(plant: Plant, tmp_path: Path) -> Path:
    for name, what in (("alpha", "repair part"), ("beta", "plan journey"), ("gamma", "write letter")):
        plant(tmp_path / name, 30, routes=ROUTES, text=lambda i, what=what: f"{what} {i}", trials=2)
    return tmp_path


def held_out(kinds: dict[str, int], methods: tuple[str, ...] = ("fixed", "hm")) -> list[Unit]:
    return [
        Unit("fewshot", b, m, split, f"{kind} {kind}-{i}")
        for b in ("alpha", "beta")
        for split in (0, 1)
        for kind, n in kinds.items()
        for i in range(n)
        for m in methods
    ]


def test_every_experiment_is_whole_on_every_benchmark(data: Path) -> None:
    full = plan_suite(every_experiment(), [data])
    quick = plan_suite(every_experiment(), [data], quick=True)
    for name in every_experiment():
        own, all_of = ([u for u in units_of(s) if u.experiment == name] for s in (quick, full))
        assert own
        assert set(own) <= set(all_of)
        assert {u.benchmark for u in own} == {u.benchmark for u in all_of}
        # every method on every place, so that no mean is over another set than its neighbour's
        places = Counter((u.benchmark, u.split, u.setting) for u in own if u.setting != "pairs")
        assert len(set(places.values())) == 1
        assert {u.method for u in all_of} - {u.method for u in own} <= SLOW
        if name != "fewshot":  # which draws among what is held out
            assert {u.setting for u in own} == {u.setting for u in all_of}


def test_the_full_run_does_not_change(data: Path) -> None:
    full = plan_suite(every_experiment(), [data])
    assert full.left_out == []
    for name, request in full.requests.items():
        assert request.splits == 5
        assert list(request.methods) == list(EXPERIMENTS.load(name).methods)
    assert "quick" not in page_of(full, "").settings


def test_what_is_less_is_said(data: Path) -> None:
    quick = plan_suite(every_experiment(), [data], quick=True)
    assert "routing: quick: 2 of 5 splits" in quick.left_out
    assert "sparse: quick: 2 of 5 splits; without irtnet, mirt" in quick.left_out
    assert "heldout: quick: 1 of 5 splits; without mirt, component_only" in quick.left_out
    assert [s for s in quick.left_out if s.startswith("fewshot: ") and "at most 2 held-out units of each kind" in s]
    said = {s.partition(":")[0] for s in quick.left_out}
    for name, request in quick.requests.items():
        less = request.splits < 5 or list(request.methods) != list(EXPERIMENTS.load(name).methods)
        assert (name in said) == less
    page = page_of(quick, "")
    assert page.settings["splits"].startswith("1 to 5 task splits")
    assert "quick" in page.settings


def test_a_method_that_is_asked_for_runs(data: Path) -> None:
    quick = plan_suite(["sparse"], [data], methods=["fixed", "irtnet"], splits=1, quick=True)
    assert quick.requests["sparse"].methods == ("fixed", "irtnet")
    assert quick.left_out == []


def test_held_out_units_are_drawn_whole() -> None:
    units = held_out({"route": 5, "model": 2, "harness": 1})
    kept = Quick(held_out=2).units(units, seed=0)
    assert kept == Quick(held_out=2).units(units, seed=0)
    assert kept == [u for u in units if u in set(kept)]  # in the same order
    for b in ("alpha", "beta"):
        for split in (0, 1):
            own = [u for u in kept if (u.benchmark, u.split) == (b, split)]
            settings = Counter(u.setting for u in own)
            assert set(settings.values()) == {2}  # both methods
            assert Counter(s.split()[0] for s in settings) == {"route": 2, "model": 2, "harness": 1}
    drawn = {u.setting for u in kept if u.setting.startswith("route")}
    assert len(drawn) > 2  # not the same ones everywhere
    assert kept != Quick(held_out=2).units(units, seed=1)
    assert Quick().units(units, seed=0) == units
