"""Which column of a table is probably meant for a field that it lacks, to say the mapping that would read it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "task": (
        "task_name", "taskid", "problem", "problem_id", "question", "question_id", "example_id",
        "example", "sample_id", "item_id", "dataset_item_id", "reference_example_id", "case", "case_id", "test",
        "test_id", "test_case", "issue", "issue_id", "ticket", "query", "prompt_id", "trace_name", "instance",
        "name", "id", "prompt", "input", "inputs",
    ),
    "score": (
        "resolved", "is_resolved", "passed", "pass", "success", "solved", "correct", "is_correct", "correctness",
        "reward", "accuracy", "result", "outcome", "verdict", "grade", "rating", "value", "label", "ok", "status",
    ),
    "model": (
        "model_name", "modelname", "model_id", "model name", "llm", "engine", "provided_model_name",
        "providedmodelname", "deployment", "ls_model_name", "base_model",
    ),
    "harness": (
        "agent", "agent_name", "agentname", "scaffold", "framework", "harness_name", "runner", "tool", "system",
        "assistant", "cli", "client", "agent_type",
    ),
}  # fmt: skip
"""What else columns are called, the likely ones first."""


def suggested(missing: Iterable[str], columns: Sequence[str]) -> dict[str, str]:
    """Find the nearest column for each missing field, where one is near; no column is suggested twice.

    >>> suggested(["task", "score"], ["Ticket", "metrics.accuracy", "colour"])
    {'task': 'Ticket', 'score': 'metrics.accuracy'}
    """
    found: dict[str, str] = {}
    for field in missing:
        free = [column for column in columns if column.strip() and column not in found.values()]
        if nearest := _nearest(field, free):
            found[field] = nearest
    return found


def _nearest(field: str, columns: Sequence[str]) -> str | None:
    plain = {_plain(column): column for column in reversed(columns)}
    last = {_plain(re.split(r"[./:]", column)[-1]): column for column in reversed(columns)}
    for names in (plain, last):  # `metrics.accuracy` is called accuracy, but an `accuracy` comes first
        for other in (field, *map(_plain, OTHER_NAMES.get(field, ()))):
            if other in names:
                return names[other]
    close = difflib.get_close_matches(field, plain, n=1, cutoff=0.75)
    return plain[close[0]] if close else None


def _plain(column: str) -> str:
    return re.sub(r"[\s_-]+", "", column.strip().lower())
