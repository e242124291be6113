"""SWE-bench evaluation reports: `<model>.<run>.json`, instance ids sorted into lists by what came of them.

Neither the model nor the harness is in it; the free-form file name may tell, and the user says how to read it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome, UsageError
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem
from hmrouter.logs.content_run import content_run
from hmrouter.logs.json_file import load_document, top_keys
from hmrouter.types import Outcome, Status, Task

SUITE = "swe-bench"
"""A report does not say which of the SWE-bench data sets it is about."""

VERDICTS: Mapping[str, tuple[Status, float | None]] = {
    "infra_failure_ids": (Status.INFRA_ERROR, None),
    # The evaluation broke, by the patch or by the machinery: the report does not say by which.
    "error_ids": (Status.UNKNOWN, None),
    "empty_patch_ids": (Status.OK, 0.0),
    "unresolved_ids": (Status.OK, 0.0),
    "resolved_ids": (Status.OK, 1.0),
    # Handed in, and in none of the lists above.
    "completed_ids": (Status.UNKNOWN, None),
    "submitted_ids": (Status.UNKNOWN, None),
}
"""The verdict of each list on its instances; the first one that holds an instance counts. `incomplete_ids` were never
attempted and `ambiguous_failure_ids` stand in `unresolved_ids` too, so neither is read."""

_NOT_RESOLVED = ("infra_failure_ids", "error_ids", "empty_patch_ids", "unresolved_ids")
# terminal-bench's results.json has resolved_ids and unresolved_ids, too, but none of these.
_ONLY_HERE = {f"{kind}_{what}" for kind in ("submitted", "completed", "empty_patch") for what in ("ids", "instances")}


class SweBenchReportReader:
    """The report of one SWE-bench evaluation. An instance that is in no list is absent, not failed."""

    name = "swebench-report"

    def sniff(self, path: Path) -> bool:
        """An object with the report's own lists or counts, as far as its beginning shows them."""
        keys = top_keys(path).keys()
        return bool(keys & _ONLY_HERE) and bool(keys & {"resolved_ids", "resolved_instances", "completed_ids"})

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per instance that was handed in."""
        report = load_document(path)
        lists = {key: _ids(path, report, key, request) for key in VERDICTS}
        try:
            route = request.route(None, None, found=_run_name(path))
        except (InputError, UsageError) as error:
            raise problem(path, error) from None
        if not any(lists.values()):
            raise problem(path, f"holds no outcomes: all of {', '.join(VERDICTS)} are empty or missing")
        run = content_run(request, path)
        failed = frozenset().union(*(lists[key] for key in _NOT_RESOLVED))
        seen: set[str] = set()
        for key, (status, score) in VERDICTS.items():
            for instance in lists[key]:
                if instance in seen:
                    continue
                seen.add(instance)
                if instance in failed and instance in lists["resolved_ids"]:
                    at = f"instance {instance}"
                    request.refuse(
                        path, "is in resolved_ids and also among the failures", at, {"instance_id": instance}
                    )
                    continue
                task = Task(instance, request.suite or SUITE)
                yield Outcome(task, route, score, status=status, source=self.name, run=run)


def _ids(path: Path, report: Mapping[str, Any], key: str, request: Request) -> dict[str, None]:
    """Read the ids of one list in their order, each once."""
    values = report.get(key) or []
    if not isinstance(values, list):
        raise problem(path, f"{key} is not a list of instance ids")
    found: dict[str, None] = {}
    for place, value in enumerate(values, 1):
        try:
            instance = coerce.name(value, "instance id")
            if not instance:
                raise InvalidOutcome("instance id is empty")
        except InputError as error:
            request.refuse(path, error, f"{key} item {place}", value)
        else:
            found[instance] = None
    return found


def _run_name(path: Path) -> str:
    """The file name without its endings: `gpt-5.run1` for `gpt-5.run1.json.gz`."""
    return path.name.removesuffix(".gz").removesuffix(".json")
