"""What the experiments show of a planted world is drawn, summed up in a line, and documented."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hmrouter.bench.experiments import every_experiment
from hmrouter.bench.report.write import write_report
from hmrouter.bench.run.suite import plan_suite, units_of
from hmrouter.bench.run.suite_page import page_of
from hmrouter.bench.run.work import run_unit

FORMAT = Path(__file__).parents[2] / "docs" / "results-format.md"
FEW = ["random", "fixed", "knn", "safe", "oracle"]
METHODS_OF = {
    "interaction": ["fixed", "component_only", "hm", "oracle"], "overhead": ["fixed", "safe"],
    "routing": FEW, "cost": FEW, "sparse": FEW,
}  # fmt: skip
"""Fewer methods than by default: what is looked at here is not how good they are."""
LINES = ("transfer", "representations", "overhead", "routing", "sparse")
"""Experiments that always have a main finding; of the others, this world is too small to show it."""


@pytest.mark.parametrize("name", [*LINES, "interaction", "cost"])
def test_what_an_experiment_shows_is_drawn_and_documented(
    name: str, plant: Callable[..., Path], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    routes = [(m, h) for m in ("atlas", "birch", "cedar") for h in ("codex", "claude-code", "hermes")]
    plant(tmp_path / "data" / "alpha", 14, routes=routes, score=lambda i, j: float((3 * i + 5 * j) % 7 < 3))
    plant(tmp_path / "data" / "beta", 16, routes=routes[:6])
    suite = plan_suite([name], [tmp_path / "data"], splits=1, methods=METHODS_OF.get(name))
    for unit in units_of(suite):
        done = run_unit(unit, suite.requests)
        assert not done.error
        suite.results.rows += done.rows
    (section,) = page_of(suite, "command").sections
    assert section.tables
    assert section.figures
    assert section.line.endswith(".") or name not in LINES
    write_report(tmp_path / "out", page_of(suite, "command"))
    assert (tmp_path / "out" / "figures" / f"{section.figures[0].name}.png").stat().st_size > 1000
    # results-format.md: a line that begins with the name of an experiment opens its part
    common, further = FORMAT.read_text().split("## Further keys")
    names = "|".join(every_experiment())
    part = re.search(rf"^`{name}`.*?(?=^`({names})`[ ,]|\Z)", further, re.MULTILINE | re.DOTALL)
    assert part
    keys = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
    documented = {*keys.findall(common), *keys.findall(part[0])}
    assert [set(row) for row in suite.results.rows] == [documented] * len(suite.results.rows)
