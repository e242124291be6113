"""docs/formats.md says what every field of a decision means."""

from __future__ import annotations

import re
from pathlib import Path

from hmrouter.decide.document import to_dict
from hmrouter.evidence.dataset import Dataset
from hmrouter.history.public import shipped
from hmrouter.router import Router
from hmrouter.types import Outcome, Route, Task

FORMATS = Path(__file__).parents[1] / "docs" / "formats.md"


def test_every_field_of_a_decision_is_documented_and_no_other() -> None:
    page = FORMATS.read_text(encoding="utf-8").partition("\n## Decision\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    outcomes = [Outcome(Task(f"t{i}", text=f"Fix {i}"), Route("gpt-5", h), i % 2, cost=1.0)
                for i in range(30) for h in ("codex", "aider")]  # fmt: skip
    router = Router().fit(Dataset(outcomes), history=shipped())
    decision = router.route("Fix it")
    shown = to_dict(decision, router.elsewhere(decision))
    assert documented == {*shown, *shown["ranked"][0]}
    told = {name for part in ("calibration", "history", "evidence", "elsewhere", "task") for name in shown[part]}
    assert {name for name in told if f"`{name}`" not in page} == set()
