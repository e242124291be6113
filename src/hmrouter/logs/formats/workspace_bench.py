"""WorkspaceBench's table of rubrics passed: `id, run_name, passed, total`, one row per task and run.

`run_name` is `Harness--Model`; the score is the share of rubrics passed. No costs and no texts are in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hmrouter.errors import HMRouterError, InvalidOutcome
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem
from hmrouter.logs.files import head
from hmrouter.logs.formats.csv_file import csv_rows
from hmrouter.logs.table import Origin, wrong_width
from hmrouter.types import Outcome, Status, Task

COLUMNS = ("id", "run_name", "passed", "total")
NAME = "workspace-bench"


class WorkspaceBenchReader:
    """Soft scores of WorkspaceBench runs. The suite is `workspace-bench`: its task ids are bare numbers."""

    name = NAME

    def sniff(self, path: Path) -> bool:
        """A table with the four columns."""
        columns = head(path).partition(b"\n")[0].rstrip(b"\r").split(b",")
        return {column.encode() for column in COLUMNS} <= {column.strip(b'"') for column in columns}

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per row."""
        origin = Origin(path, suite=request.suite or NAME, source=NAME)
        for line, columns, values in csv_rows(path, request):
            if missing := [column for column in COLUMNS if column not in columns]:
                raise problem(path, f"no column {', '.join(missing)}; expected {', '.join(COLUMNS)}", at="header")
            row = dict(zip(columns, values, strict=False))
            try:
                if len(values) != len(columns):
                    raise InvalidOutcome(wrong_width(values, columns))
                yield _outcome(row, origin, request)
            except HMRouterError as error:
                request.refuse(path, error, f"line {line}", row)


def _outcome(row: dict[str, str], origin: Origin, request: Request) -> Outcome:
    passed, total = (coerce.integer(row.get(column), column) for column in ("passed", "total"))
    run_name = coerce.name(row.get("run_name"), "run_name")
    harness, _, model = run_name.partition("--")
    route = request.route(model, harness if model else None, found=run_name)
    task = Task(coerce.name(row.get("id"), "id"), origin.suite)
    return Outcome(
        task, route, _share(passed, total),
        status=Status.UNKNOWN if passed is None else Status.OK,
        source=origin.source, run=origin.run(request), trial=origin.trial(task.id, route.spelling),
        model_version=model if model != route.model else "",
    )  # fmt: skip


def _share(passed: int | None, total: int | None) -> float | None:
    if passed is None:
        return None
    if total is None or not 0 <= passed <= total or not total:
        raise InvalidOutcome(
            f"passed {passed} of total {total} is not a share; passed is from 0 to total, total above 0"
        )
    return passed / total
