"""The OpenHands Index: a folder per model and harness, as in the repository OpenHands/openhands-index-results.

    results/<model>/                           the OpenHands harness
    alternative_agents/<harness>/<model>/      Claude Code, Codex, Gemini CLI, ...
        metadata.json                          agent_name, agent_version, model, submission_time
        scores.json                            per benchmark: cost_per_instance, agent_version, submission_time
        instance_results/<benchmark>.json      {task: {"resolved": true, "cost": 0.42}}

One model folder is one log, so that a folder that cannot be read does not undo the others.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hmrouter.errors import HMRouterError, InputError, InvalidOutcome
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem
from hmrouter.logs.content_run import content_run
from hmrouter.logs.json_file import load_document, stream_items, top_keys
from hmrouter.types import Outcome, Route, Status, Task

NAME = "openhands-index"
METADATA, SCORES, INSTANCES = "metadata.json", "scores.json", "instance_results"
ELSEWHERE = "alternative_agents"
"""The folder of harnesses other than OpenHands."""


class OpenHandsIndexReader:
    """One model folder. The suite of a task is the benchmark's name, as the file of its results is called."""

    name = NAME

    def sniff(self, path: Path) -> bool:
        """A directory with `instance_results` and a `metadata.json` that names a model."""
        if not os.path.isdir(path / INSTANCES) or not os.path.isfile(path / METADATA):
            return False
        return {"model", "agent_version"} <= top_keys(path / METADATA).keys()

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per instance of each benchmark, benchmarks by name."""
        if not os.path.isdir(path / INSTANCES):
            raise problem(path, f"is no model folder of the Index: no {INSTANCES} in it")
        metadata = load_document(path / METADATA)
        try:
            model = coerce.name(metadata.get("model"), "model")
            harness = coerce.name(metadata.get("agent_name"), "agent_name") or _harness_by_place(path)
            route = request.route(model, harness, found=path.absolute().name)
        except InputError as error:
            raise problem(path / METADATA, error) from None
        scores = _scores(path / SCORES)
        files = sorted((path / INSTANCES).glob("*.json"))
        if not files:
            raise problem(path / INSTANCES, "holds no results, not a single .json file")
        for file in files:
            run = _BenchmarkResults.of(file, route, model, metadata, scores.get(file.stem, {}))
            yield from run.outcomes(request)


@dataclass(frozen=True, slots=True)
class _BenchmarkResults:
    """The results of one benchmark, with the route and dates that hold for all of them."""

    file: Path
    route: Route
    mean_cost: float | None
    when: datetime | None
    model_version: str
    harness_version: str

    @classmethod
    def of(
        cls, file: Path, route: Route, model: str, metadata: Mapping[str, Any], scores: Mapping[str, Any]
    ) -> _BenchmarkResults:
        """Describe a benchmark by `scores.json` or, where that is silent, by the `metadata.json` of all benchmarks."""
        said = {**metadata, **{key: value for key, value in scores.items() if value is not None}}
        try:
            versions = [coerce.name(said.get(key), key) for key in ("acp_agent_name", "acp_agent_version")]
            adapter = " ".join(filter(None, versions))  # how OpenHands drives another harness: codex-acp v0.11.1
            version = coerce.name(said.get("agent_version"), "agent_version")
            return cls(
                file, route,
                mean_cost=_measured(scores.get("cost_per_instance"), "cost_per_instance"),
                when=coerce.moment(said.get("submission_time"), "submission_time"),
                model_version=model if model != route.model else "",
                harness_version=f"{version} ({adapter})".strip() if adapter else version,
            )  # fmt: skip
        except InputError as error:
            raise problem(file.parents[1], error, at=f"benchmark {file.stem}") from None

    def outcomes(self, request: Request) -> Iterator[Outcome]:
        """Read the instances in the order of the file."""
        results = load_document(self.file)
        run = content_run(request, self.file)
        # A harness that reports no cost at all has 0.0 everywhere; then the published mean is all there is.
        by_mean = not any(isinstance(result, dict) and result.get("cost") for result in results.values())
        for task_id, result in results.items():
            try:
                yield self._outcome(task_id, result, run, by_mean)
            except HMRouterError as error:
                request.refuse(self.file, error, f"instance {task_id}", {task_id: result})

    def _outcome(self, task_id: str, result: object, run: str, by_mean: bool) -> Outcome:
        if not isinstance(result, dict):
            raise InvalidOutcome('is not an object {"resolved": true, "cost": 0.42}')
        score = coerce.score(result.get("resolved"), "resolved")
        cost = self.mean_cost if by_mean else _measured(result.get("cost"), "cost")
        return Outcome(
            Task(coerce.name(task_id, "instance"), self.file.stem), self.route, score,
            status=Status.UNKNOWN if score is None else Status.OK,
            cost=cost, cost_is_route_mean=by_mean and cost is not None,
            when=self.when, source=NAME, run=run,
            model_version=self.model_version, harness_version=self.harness_version,
        )  # fmt: skip


def _scores(path: Path) -> dict[str, Mapping[str, Any]]:
    """Read `scores.json`: benchmark -> its entry; nothing where there is no such file."""
    if not os.path.isfile(path):
        return {}
    entries = (entry for entry in stream_items(path, "item") if isinstance(entry, dict))
    return {entry["benchmark"]: entry for entry in entries if isinstance(entry.get("benchmark"), str)}


def _harness_by_place(path: Path) -> str | None:
    parent = path.absolute().parent
    if parent.parent.name == ELSEWHERE:
        return parent.name
    return "OpenHands" if parent.name == "results" else None


def _measured(value: object, field: str) -> float | None:
    """Read dollars; the Index writes 0.0 where nothing was measured."""
    return coerce.number(value, field) or None
