"""A law: whatever a file holds, in whatever order and under whatever name it comes again, each row counts once."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmrouter.logs import read_logs
from hmrouter.store import OutcomeStore

letters = st.sampled_from("ab")
rows = st.tuples(
    letters,
    st.sampled_from(["GPT-5", "gpt-5", "o3"]),
    letters,
    st.sampled_from("01"),
    st.sampled_from(["", "0.5", "$0.50"]),
)
files = st.lists(rows, min_size=1, max_size=12)


def write(path: Path, lines: list[tuple[str, ...]]) -> Path:
    path.write_text("\n".join(["task,model,harness,score,cost", *map(",".join, lines)]) + "\n")
    return path


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=files, more=st.lists(rows, max_size=6), seed=st.integers(0, 9))
def test_a_file_that_grew_and_was_shuffled_holds_its_rows_once(
    tmp_path: Path, first: list[tuple[str, ...]], more: list[tuple[str, ...]], seed: int
) -> None:
    grown = [*first, *more]
    random.Random(seed).shuffle(grown)
    with OutcomeStore("sqlite://") as store:
        assert store.add(read_logs(write(tmp_path / "a.csv", first))).new == len(first)
        assert store.add(read_logs(write(tmp_path / "b.csv", first))).new == 0
        assert store.add(read_logs(write(tmp_path / "c.csv", grown))).new == len(more)
        assert store.add(read_logs(write(tmp_path / "d.csv", grown))).new == 0
        held = Counter((o.task.id, o.route.spelled, o.score, o.cost) for o in store.outcomes())
    assert held == Counter(
        (task, (model, harness), float(score), float(cost.strip("$")) if cost else None)
        for task, model, harness, score, cost in grown
    )
