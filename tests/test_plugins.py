"""Registries: built-in classes and those of installed packages, the example in `examples/plugin_scorer` among them."""

from __future__ import annotations

import importlib
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmrouter.checks import LAWS, Law
from hmrouter.errors import HMRouterError, UnknownName
from hmrouter.evidence.dataset import Dataset
from hmrouter.features.base import EMBEDDERS, Embedder
from hmrouter.features.lsa import LSA
from hmrouter.plugins import Registry
from hmrouter.scorers.base import SCORERS, Scorer, Training, logit_of_mean
from hmrouter.scorers.fixed import Fixed
from hmrouter.types import Outcome, Route, Task

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin_scorer"


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, entries: str) -> None:
    """What an installer leaves behind for importlib.metadata, and nothing else."""
    info = folder / "some_plug_in-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-plug-in\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[hmrouter.scorers]\n{entries}\n")
    monkeypatch.syspath_prepend(folder)


# -- built-in names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("registry", "base"), [(SCORERS, Scorer), (EMBEDDERS, Embedder)])
def test_a_class_is_registered_under_its_own_name(registry: Registry, base: type) -> None:
    assert registry.names()
    for name in registry.names():
        loaded = registry.load(name)
        assert issubclass(loaded, base)
        assert loaded.name == name


def test_builtin_scorers() -> None:
    names = {"component_average", "component_only", "fixed", "hm", "knn", "random"}
    assert names <= set(SCORERS.names())
    assert SCORERS.load("fixed") is Fixed
    assert EMBEDDERS.load("lsa") is LSA


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(UnknownName, match=r"scorer 'fixd' is not known; did you mean 'fixed'\?"):
        SCORERS.load("fixd")


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    registry = Registry("thing", "hmrouter.things", {"missing": "no_such_module:Thing", "old": "fractions:Fraction"})
    assert registry.names() == ["missing", "old"]
    assert registry.load("old").__name__ == "Fraction"
    with pytest.raises(ModuleNotFoundError):
        registry.load("missing")


# -- plug-ins -------------------------------------------------------------------------------------------------------


@pytest.fixture
def shrunk_mean(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(EXAMPLE / "src")
    return importlib.import_module("hmrouter_shrunk_mean").ShrunkMean


def test_an_installed_plug_in_is_found(shrunk_mean: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]["hmrouter.scorers"]
    install(tmp_path, monkeypatch, "\n".join(f"{name} = {value}" for name, value in declared.items()))
    assert list(declared) == [shrunk_mean.name]
    assert "shrunk_mean" in SCORERS.names()
    assert SCORERS.load("shrunk_mean") is shrunk_mean


def test_a_builtin_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = SCORERS.names()
    install(tmp_path, monkeypatch, "fixed = fractions:Fraction\naardvark = fractions:Fraction")
    assert set(SCORERS.names()) == {*names, "aardvark"}
    assert SCORERS.names().index("aardvark") > SCORERS.names().index("random")  # built-in names come first
    assert SCORERS.load("fixed") is Fixed


def test_a_broken_plug_in_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_plug_in.py").write_text("raise RuntimeError('no licence file')\n")
    install(tmp_path, monkeypatch, "broken = broken_plug_in:Scorer\nabsent = no_such_module:Scorer\npi = math:pi")
    assert {"broken", "absent", "pi"} <= set(SCORERS.names())  # listing does not import
    assert "broken_plug_in" not in sys.modules
    with pytest.raises(HMRouterError, match=r"scorer 'broken' \(broken_plug_in:Scorer\).*no licence file"):
        SCORERS.load("broken")
    with pytest.raises(HMRouterError, match=r"scorer 'absent' \(no_such_module:Scorer\).*no_such_module"):
        SCORERS.load("absent")
    with pytest.raises(HMRouterError, match=r"scorer 'pi' \(math:pi\) is 3\.14\d*, not a class"):
        SCORERS.load("pi")


# -- the example ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_example_obeys_every_law(shrunk_mean: Any, law: Law) -> None:
    law.check(shrunk_mean)
    law.check(partial(shrunk_mean, strength=0.5))


def test_the_example_shrinks(shrunk_mean: Any) -> None:
    often, once, never = Route("m", "often"), Route("m", "once"), Route("m", "never")
    outcomes = [Outcome(Task(f"t{i}"), often, 1.0) for i in range(5)] + [Outcome(Task("t0"), once, 0.0)]
    data = Dataset(outcomes)
    scorer = shrunk_mean(strength=1.0).fit(Training(data, np.zeros((5, 2)), {}))
    overall = 5 / 6
    want = logit_of_mean(np.array([(5 + overall) / 6, (0 + overall) / 2, overall]))
    assert np.allclose(scorer.score(np.zeros((1, 2)), [often, once, never])[0], want)
