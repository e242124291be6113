"""The SWE-bench site's `leaderboards.json`: per instance, whether it was resolved and what it cost.

    leaderboards: [{name, results: [{name, folder, date, tags, resolved, per_instance_details: {id: {...}}}]}]

Most entries have no per-instance details and are passed over. An entry that stands in two tracks is one run.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome, UsageError
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem
from hmrouter.logs.files import head
from hmrouter.logs.json_file import stream_items, top_keys
from hmrouter.names import canonical_model
from hmrouter.names.rules import slug
from hmrouter.types import Outcome, Route, Status, Task

BASH_ONLY = "bash-only"
"""The track in which every model runs in mini-SWE-agent, on the instances of Verified."""
TOLERANCE = 1.0
"""Percentage points between an entry's published rate and that of its instances: rounding, a few missing ones."""

# Medium is the default and no part of a model's name.
_EFFORT = re.compile(r"\b(minimal|low|high|xhigh)\b", re.IGNORECASE)
_VERSION = "mini-swe-agent_version"


class SweBenchSiteReader:
    """The data file of the SWE-bench leaderboards."""

    name = "swebench-site"

    def sniff(self, path: Path) -> bool:
        """An object with the array `leaderboards`, in which instances or entries were resolved."""
        start = head(path) if isinstance(top_keys(path).get("leaderboards"), list) else b""
        return b'"results"' in start and b'"resolved"' in start

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per instance of each entry that has per-instance details; one leaderboard is in memory."""
        seen: set[tuple[str, str]] = set()
        found = False
        for board in stream_items(path, "leaderboards.item"):
            title = board.get("name") if isinstance(board, dict) else None
            entries = board.get("results") if isinstance(board, dict) else None
            if not isinstance(title, str) or not isinstance(entries, list):
                raise problem(path, "a leaderboard has no name or no array of results")
            for place, entry in enumerate(entries, 1):
                if not isinstance(entry, dict) or not entry.get("per_instance_details"):
                    request.notes.remarks["leaderboard entries without per-instance results; left out"] += 1
                    continue
                found = True
                try:
                    run = _run(entry, title, request, seen)
                except (InputError, UsageError) as error:
                    record = {key: value for key, value in entry.items() if key != "per_instance_details"}
                    request.refuse(path, error, f"{title} entry {place}", record)
                    continue
                if run is not None:
                    yield from run.outcomes(path, request)
        if not found:
            raise problem(path, "holds no outcomes: no entry has per_instance_details")


@dataclass(frozen=True, slots=True)
class _BoardEntry:
    """An entry of a leaderboard whose model and harness are known."""

    folder: str
    dataset: str
    route: Route
    model: str
    version: str
    when: datetime | None
    details: Mapping[str, Any]

    def outcomes(self, path: Path, request: Request) -> Iterator[Outcome]:
        for instance, detail in self.details.items():
            try:
                yield self._outcome(instance, detail)
            except InputError as error:
                request.refuse(path, error, f"{self.folder} instance {reprlib.repr(instance)}", detail)

    def _outcome(self, instance: str, detail: Any) -> Outcome:
        if not isinstance(detail, dict):
            raise InvalidOutcome("the details are not an object {...}")
        score = coerce.score(detail.get("resolved"), "resolved")
        return Outcome(
            Task(coerce.name(instance, "instance id"), suite_of(self.dataset)),
            self.route,
            score,
            status=Status.UNKNOWN if score is None else Status.OK,
            cost=coerce.number(detail.get("cost"), "cost") or None,  # the site writes 0 where nothing was measured
            when=self.when,
            source=SweBenchSiteReader.name,
            run=self.folder,
            model_version=self.model if self.model != self.route.model else "",
            harness_version=self.version,
            dataset_version=self.dataset,
        )

    @property
    def resolved(self) -> float:
        """Percent of the instances."""
        hits = sum(isinstance(detail, dict) and detail.get("resolved") is True for detail in self.details.values())
        return 100 * hits / len(self.details)


def suite_of(dataset: str) -> str:
    """Name the suite of one of the SWE-bench data sets.

    >>> suite_of("Verified"), suite_of("Test")
    ('swe-bench-verified', 'swe-bench')
    """
    return "swe-bench" if dataset == "Test" else f"swe-bench-{slug(dataset)}"


def _run(entry: Mapping[str, Any], board: str, request: Request, seen: set[tuple[str, str]]) -> _BoardEntry | None:
    """Read an entry; None if it was seen in another track or says nothing about one route."""
    folder = coerce.name(entry.get("folder"), "folder")
    label = coerce.name(entry.get("name"), "name")
    if not folder:
        raise InvalidOutcome(f"{label!r} has no folder, which names its run")
    details = entry["per_instance_details"]
    if not isinstance(details, dict):
        raise InvalidOutcome("per_instance_details is not an object {...}")
    dataset = "Verified" if board == BASH_ONLY else coerce.name(board, "leaderboard")
    if (dataset, folder) in seen:
        return None
    seen.add((dataset, folder))
    models = _models(entry)
    if len({canonical_model(model) for model in models}) > 1:
        request.notes.remarks[f"{folder}: several models, which is no single route; left out"] += 1
        return None
    version = coerce.name(entry.get(_VERSION), _VERSION)
    harness, plus, spelling = label.partition(" + ")
    if not plus:
        harness, spelling = "", label if board == BASH_ONLY else ""
    if version or board == BASH_ONLY:
        harness = "mini-SWE-agent"
    model = models[0] if models else spelling
    effort = _EFFORT.search(spelling)
    if effort and effort[1].lower() not in model.lower():
        model = f"{model} {effort[1]}"
    route = request.route(model or None, harness or None, found=label)
    when = coerce.moment(entry.get("date"), "date")
    run = _BoardEntry(folder, dataset, route, spelling or model, version, when, details)
    published = coerce.number(entry.get("resolved"), "resolved")
    if published is not None and abs(published - run.resolved) > TOLERANCE:
        remark = f"{folder}: its instances say {run.resolved:.1f}% resolved, its entry {published:.1f}%; left out"
        request.notes.remarks[remark] += 1
        return None
    return run


def _models(entry: Mapping[str, Any]) -> list[str]:
    tags = entry.get("tags") or []
    if not isinstance(tags, list):
        raise InvalidOutcome("tags is not a list")
    texts = [coerce.name(tag, "tag") for tag in tags]
    return [model for text in texts if (model := text.removeprefix("Model:").strip()) and text.startswith("Model:")]
