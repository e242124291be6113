"""OpenHands evaluation runs: `output.jsonl`, one execution per line, with its transcript.

Written by OpenHands' own evaluation (`metadata.llm_config`) and by its later benchmarks repository (`metadata.llm`).
Whether the task was solved is in the line for some benchmarks (`test_result.score`) and in a SWE-bench report beside
the file for others; without either the outcome is `unknown`. Of the transcript only its times are kept, and of the
configuration of the model, which may hold a key, only the model's name.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hmrouter.errors import HMRouterError
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem
from hmrouter.logs.formats.openhands_lines import has_executions, part, records, stem
from hmrouter.logs.formats.openhands_verdicts import Verdict, report_beside, reported, verdict
from hmrouter.logs.json_file import load_document
from hmrouter.logs.table import Origin
from hmrouter.types import DEFAULT_SUITE, Outcome, Task

NAME = "openhands-output"
OUTPUT, METADATA = "output.jsonl", "metadata.json"


class OpenHandsOutputReader:
    """The folder of a run, or its `output.jsonl` alone."""

    name = NAME

    def sniff(self, path: Path) -> bool:
        """Lines with a task's `instance_id` and a `test_result`, or a folder whose `output.jsonl` has such lines.

        The folder is one log: the reports and the outputs of single attempts in it repeat what `output.jsonl` says.
        """
        file = _output(path)
        return file is not None and has_executions(file)

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per line."""
        file = _output(path)
        if file is None:
            raise problem(path, f"no {OUTPUT} in it")
        report = report_beside(file)
        reports = reported(report, request) if report else {}
        # The report is part of the run: with another verdict it is another one.
        origin = Origin(file, request.suite or DEFAULT_SUITE, NAME, files=(file, report) if report else (file,))
        shared = _shared_metadata(file)
        for number, record in records(file, request):
            try:
                yield _outcome(record, shared, reports, origin, request)
            except HMRouterError as error:
                # Not all of it: the configuration may hold the key of a service.
                kept = {key: record.get(key) for key in ("instance_id", "test_result", "metrics")}
                request.refuse(file, error, f"line {number}", kept)


def _output(path: Path) -> Path | None:
    if not os.path.isdir(path):
        return path
    return next((file for file in (path / OUTPUT, path / f"{OUTPUT}.gz") if os.path.isfile(file)), None)


def _shared_metadata(file: Path) -> Mapping[str, Any]:
    """Read the metadata for lines that bring none of their own, as those of crashed executions never do."""
    beside = file.with_name(METADATA)
    return load_document(beside) if stem(file) == "output" and os.path.isfile(beside) else {}


def _outcome(
    record: Mapping[str, Any],
    shared: Mapping[str, Any],
    reports: Mapping[str, Verdict],
    origin: Origin,
    request: Request,
) -> Outcome:
    metadata = {**shared, **part(record, "metadata")}
    model = coerce.name((part(metadata, "llm") or part(metadata, "llm_config")).get("model"), "model")
    harness, version = _harness(metadata)
    route = request.route(model, harness, found=origin.path.absolute().parent.name)
    task_id = coerce.name(record.get("instance_id"), "instance_id")
    # A data set may be given by its path on the machine that ran it, or with its owner: the name is what stays.
    suite = coerce.name(metadata.get("dataset"), "dataset").rstrip("/").rpartition("/")[2] or origin.suite
    text = part(record, "instance").get("problem_statement") or record.get("instruction")
    status, score = verdict(record, reports)
    return Outcome(
        Task(task_id, suite, coerce.text(text, "instruction")), route, score, status=status,
        source=origin.source, run=origin.run(request), trial=origin.trial(suite, task_id, route.spelling),
        model_version=model if model != route.model else "", harness_version=version,
        dataset_version=coerce.name(metadata.get("dataset_split") or metadata.get("data_split"), "dataset_split"),
        **_usage(part(record, "metrics")), **_times(record.get("history"), metadata),
    )  # fmt: skip


def _harness(metadata: Mapping[str, Any]) -> tuple[str, str]:
    """Name OpenHands, or the harness that it drives, and the version."""
    kind = coerce.name(metadata.get("agent_type"), "agent_type")
    if kind.startswith("acp-"):
        return kind, coerce.name(metadata.get("acp_agent_version"), "acp_agent_version")
    name = "OpenHands Sub-agents" if metadata.get("enable_delegation") is True else "OpenHands"
    return name, coerce.name(metadata.get("openhands_sdk_version") or metadata.get("git_commit"), "git_commit")


def _usage(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Read dollars and tokens; a 0 is written for what was not measured, a model without a known price among it."""
    tokens = part(metrics, "accumulated_token_usage")
    keys = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens")
    prompt, read, write, completion = (coerce.integer(tokens.get(key), key) or 0 for key in keys)
    # Some services count cached tokens into the prompt and some beside it. More cached than prompted can only be that.
    paid = prompt if read + write <= prompt else prompt + read + write
    return {
        "cost": coerce.number(metrics.get("accumulated_cost"), "accumulated_cost") or None,
        "input_tokens": paid or None,
        "cached_tokens": read if paid and tokens.get("cache_read_tokens") is not None else None,
        "output_tokens": completion or None,
    }


def _times(history: object, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Find start and length by the first and the last event; older transcripts, lists of pairs, have no such times."""
    events = [event for event in history if isinstance(event, dict)] if isinstance(history, list) else []
    first, last = (coerce.moment(events[at].get("timestamp"), "timestamp") if events else None for at in (0, -1))
    return {
        "when": first or coerce.moment(metadata.get("start_time"), "start_time"),
        "seconds": (last - first).total_seconds() if first and last and first <= last else None,
    }
