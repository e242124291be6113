"""Worlds and rows that several tests of the suite look at."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hmrouter.bench.benchmarks.benchmark import Benchmark
from hmrouter.bench.experiments import EXPERIMENTS
from hmrouter.bench.experiments.base import Experiment, RunRequest

Plant = Callable[..., Path]


class Document(HTMLParser):
    """What a browser would see: the elements, their attributes, and the text."""

    VOID = frozenset({"meta", "wbr", "br", "img", "link", "input", "hr"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def tags(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def holes(i: int, j: int) -> float | None:
    """Soft scores, and a third of the cells never run (but task 0 is run everywhere)."""
    return None if i and (i + j) % 3 == 0 else ((7 * i + 3 * j) % 5) / 4


@pytest.fixture
def sparse_world(plant: Plant, tmp_path: Path) -> Benchmark:
    """Thirty tasks, four routes, soft scores, a third of the cells never run."""
    return Benchmark.at(plant(tmp_path / "holes", 30, score=holes))


@pytest.fixture
def world(plant: Plant, tmp_path: Path) -> Benchmark:
    """Thirty tasks, four routes, everything run."""
    return Benchmark.at(plant(tmp_path / "world", 30))


@pytest.fixture(scope="session")
def rows_of() -> Callable[..., list[dict[str, Any]]]:
    """`rows_of(experiment, benchmark, *methods, splits=2)`: its rows, in this process."""

    def run(name: str, benchmark: Benchmark, *methods: str, splits: int = 2) -> list[dict[str, Any]]:
        experiment: Experiment = EXPERIMENTS.load(name)()
        request = RunRequest([benchmark], methods, splits)
        assert not experiment.refusal(benchmark)
        return [row for unit in experiment.units(request) for row in experiment.run(unit, benchmark, request)]

    return run


@pytest.fixture(scope="session")
def parse() -> Callable[[str], Document]:
    """`parse(html)`: its elements, what is left open, and its text."""
    return Document
