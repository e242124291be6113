"""Code versions change with what a result depends on, and with nothing else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hmrouter.bench import experiments
from hmrouter.bench.experiments import EXPERIMENTS, every_experiment
from hmrouter.bench.run import versions
from hmrouter.bench.run.versions import module_of, version_of
from hmrouter.scorers.fixed import Fixed

Write = Callable[..., str]

MAIN = """
from .helper import two
from hmrouter.scorers.fixed import Fixed

def one():
    return two() + 1
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write the package `some_plug_in` (files by name, MAIN and a helper if not told) and give its version."""
    monkeypatch.syspath_prepend(tmp_path)
    source = versions._source
    folder = tmp_path / "some_plug_in"
    folder.mkdir()
    files = {"__init__": "", "main": MAIN, "helper": "def two():\n    return 2\n", "unrelated": "x = 1\n"}

    def new_version(**changed: str) -> str:
        for name, content in (files | changed).items():
            (folder / f"{name}.py").write_text(content)
        importlib.invalidate_caches()
        source.cache_clear()
        return version_of("some_plug_in.main")

    yield new_version
    source.cache_clear()
    assert {name for name in sys.modules if name.startswith("some_plug_in")} == {"some_plug_in"}  # nothing else ran
    del sys.modules["some_plug_in"]


def test_a_version_is_stable(write: Write) -> None:
    assert write() == write()
    assert len(write()) == 16


@pytest.mark.parametrize(
    "changed",
    [
        {"main": MAIN.replace("+ 1", "+ 2")},
        {"helper": "def two():\n    return 3\n"},
        {"main": MAIN.replace("from .helper", "from some_plug_in.helper")},
        {"main": MAIN.replace("from hmrouter.scorers.fixed import Fixed\n", "")},
        {"main": MAIN + "\nfrom . import unrelated\n"},
    ],
    ids=["own code", "what it imports relatively", "an import", "hmrouter code no more", "one more module"],
)
def test_code_that_counts(write: Write, changed: dict[str, str]) -> None:
    assert write(**changed) != write()


@pytest.mark.parametrize(
    "changed",
    [
        {"main": MAIN.replace("def one():", '# why\n\n\ndef one():\n    """Documented."""')},
        {"unrelated": "x = 2\n"},
        {"main": MAIN + "\ndef tables(rows):\n    return []\n"},
        {"main": MAIN + "\ndef headline(rows):\n    return ''\n"},
        {"main": MAIN + "\nquick: int = 3\n"},
    ],
    ids=[
        "comments, docstrings and layout",
        "a module nobody imports",
        "how tables look",
        "the main finding",
        "what a quick run leaves out",
    ],
)
def test_code_that_does_not_count(write: Write, changed: dict[str, str]) -> None:
    assert write(**changed) == write()


def test_a_plug_in_depends_on_the_code_of_hmrouter_that_it_uses(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = write()
    source = versions._source

    def edited(module: str) -> versions._Source | None:
        found = source(module)
        if found is None or module != "hmrouter.scorers.by_means":  # what Fixed inherits from
            return found
        return versions._Source(b"another", found.imports)

    monkeypatch.setattr(versions, "_source", edited)
    assert version_of("some_plug_in.main") != before


def test_shipped_descriptions_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = version_of("hmrouter.bench.judge.predict")
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda p: read(p) + (b"# more" if p.name == "harnesses.toml" else b""))
    versions._source.cache_clear()
    assert version_of("hmrouter.bench.judge.predict") != before
    assert version_of("hmrouter.scorers.fixed") == version_of("hmrouter.scorers.fixed")
    monkeypatch.undo()
    versions._source.cache_clear()
    assert version_of("hmrouter.bench.judge.predict") == before


def test_what_only_presents_is_in_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    source = versions._source
    monkeypatch.setattr(versions, "_source", lambda module: seen.add(module) or source(module))  # type: ignore[func-returns-value]
    for experiment in every_experiment():
        version_of(module_of(EXPERIMENTS.load(experiment)))
    folder = Path(experiments.__path__[0])
    files = {
        ".".join(p.relative_to(folder).with_suffix("").parts) for p in folder.rglob("*.py") if p.stem != "__init__"
    }
    left_out = {name for name in files if f"hmrouter.bench.experiments.{name}" not in seen}
    reports = {name for name in files if name.endswith(".report")}
    assert len(reports) == 12
    assert left_out == {*reports, "summaries", "quick", "cost.frontiers"}  # the last serves a report alone
    assert {"hmrouter.bench.judge.predict", "hmrouter.bench.judge.choices", "hmrouter.evidence.dataset"} <= seen
    assert not [name for name in seen if name.startswith(("hmrouter.bench.report", "hmrouter.bench.run"))]
    assert not [name for name in seen if name.startswith(("hmrouter.store", "hmrouter.cli"))]
    assert "hmrouter.logs.formats.benchmark" in seen
    assert "hmrouter.logs.formats.harbor" not in seen  # a reader of logs that no benchmark directory goes through


def test_methods_do_not_depend_on_each_other() -> None:
    found = {name: version_of(f"hmrouter.scorers.{name}") for name in ("fixed", "knn", "component_average", "hm")}
    assert len(set(found.values())) == 4


def test_a_module_without_source_is_no_error() -> None:
    assert version_of("no_such_module") == version_of("neither_this") == version_of()
    assert version_of("sys") == version_of("no_such_module")  # part of the interpreter
    assert module_of(Fixed) == "hmrouter.scorers.fixed"
