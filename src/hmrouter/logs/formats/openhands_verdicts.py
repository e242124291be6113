"""Verdicts of OpenHands executions: from the execution's own line, or from a SWE-bench report beside the output."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError
from hmrouter.logs import coerce
from hmrouter.logs.base import Request
from hmrouter.logs.formats.openhands_lines import has_executions, part, records, stem
from hmrouter.logs.formats.swebench_report import SweBenchReportReader
from hmrouter.types import Status

Verdict = tuple[Status, float | None]
UNKNOWN: Verdict = (Status.UNKNOWN, None)
BROKEN: Verdict = (Status.INFRA_ERROR, None)

# An agent that ran out of steps, got stuck or overflowed its context has failed. One whose container or model service
# went away has not.
_MACHINERY = re.compile(
    r"AgentRuntime\w*Error|Connection\w*Error|RateLimitError|InternalServerError|ServiceUnavailable|BadGateway"
    r"|AuthenticationError|APIError|APITimeoutError|Maximum (?:error )?retries|failed after \d+ retries",
    re.IGNORECASE,
)


def report_beside(file: Path) -> Path | None:
    """Find the report with verdicts beside an output; a plain `report.json` belongs to a plain `output.jsonl` only."""
    bare = stem(file)
    names = [f"{bare}.report.json", f"{bare}.swebench_eval.jsonl", *(["report.json"] if bare == "output" else [])]
    for beside in (file.with_name(name) for name in names):
        is_report = has_executions if beside.suffix == ".jsonl" else SweBenchReportReader().sniff
        if os.path.isfile(beside) and is_report(beside):
            return beside
    return None


def reported(report: Path, request: Request) -> dict[str, Verdict]:
    """Read a report: task -> verdict, where it gives one."""
    found: dict[str, Verdict] = {}
    if report.suffix == ".jsonl":
        for number, line in records(report, request):
            try:
                found[coerce.name(line.get("instance_id"), "instance_id")] = _own_verdict(line)
            except InputError as error:
                request.refuse(report, error, f"line {number}", None)
    else:
        # Read as the log that it is, so that a report means the same everywhere; the route comes from the output.
        anyone = Request(model="any", harness="any", refusals=request.refusals)
        for outcome in SweBenchReportReader().read(report, anyone):
            found[outcome.task.id] = (outcome.status, outcome.score)
    return {task: verdict for task, verdict in found.items() if verdict != UNKNOWN}


def verdict(record: Mapping[str, Any], reports: Mapping[str, Verdict]) -> Verdict:
    """Judge a line by the reports, else by itself; a failure of the machinery is none of the route."""
    status, score = reports.get(coerce.name(record.get("instance_id"), "instance_id")) or _own_verdict(record)
    if not score and _MACHINERY.search(coerce.text(record.get("error"), "error")):
        return BROKEN
    return status, score


def _own_verdict(record: Mapping[str, Any]) -> Verdict:
    """Judge a line by what it says itself."""
    result = part(record, "test_result")
    for told in (part(record, "report"), part(result, "report"), result):
        score = coerce.score(told.get("resolved"), "resolved")
        if told.get("error_eval") is True and not score:
            return UNKNOWN
        if score is not None:
            return Status.OK, score
    score = coerce.score(result.get("score"), "score")
    return UNKNOWN if score is None else (Status.OK, score)
