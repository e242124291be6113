"""docs/paper-map.md names every experiment, and only files that are there."""

from __future__ import annotations

import re
from pathlib import Path

from hmrouter.bench.experiments import every_experiment

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_file_of_the_map_is_there() -> None:
    named = re.findall(r"`([\w./]+(?:\.py|\.toml|\.md|/))`", MAP)
    assert len(named) > 50
    places = (ROOT, ROOT / "src" / "hmrouter")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_every_experiment_has_its_code_and_its_test() -> None:
    table = MAP.split("## Tables and figures")[1]
    rows = [cells(line) for line in table.splitlines() if line.startswith("| ")][1:]
    assert {row[1].strip("`") for row in rows} == {*every_experiment(), "none"}
    for paper, experiment, code, test in rows:
        if experiment != "none":
            assert f"bench/experiments/{experiment.strip('`')}" in code, paper
            assert "tests/bench/test_" in test, paper
