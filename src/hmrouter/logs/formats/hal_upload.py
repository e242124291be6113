"""HAL upload files, `<run>_UPLOAD.json`: one run of the HAL harness, with its transcripts, often gigabytes.

    config{agent_name, benchmark_name, run_id, date, agent_args{model_name, reasoning_effort}},
    results{successful_tasks, failed_tasks, total_cost, latencies{task}}, raw_eval_results{task},
    raw_logging_results, task_prompts{task}, total_usage{model}, total_cost, wall_clock_times{task}

Everything that is wanted is a scalar near the top, so the file is passed over once and nothing else is built.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, UsageError
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem
from hmrouter.logs.content_run import content_run
from hmrouter.logs.formats.hal_run import HalRun, mean_cost, scores_of, split_agent_name
from hmrouter.logs.json_file import open_document, top_keys
from hmrouter.types import DEFAULT_SUITE, Outcome

SCORE_KEYS = ("score", "reward", "success")
"""Keys of a task's own score in the various benchmarks, for uploads that list no successful and failed tasks."""
KEPT_LIMIT = 64 * 2**20
"""Characters kept of one file: ids, task texts, times."""

_DEEPEST = 4


class HalUploadReader:
    """A file that the HAL harness writes at the end of a run, and uploads."""

    name = "hal-upload"

    def sniff(self, path: Path) -> bool:
        """An object whose `config` names agent, benchmark and run."""
        config = top_keys(path).get("config")
        return isinstance(config, dict) and config.keys() >= {"agent_name", "benchmark_name", "run_id"}

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per task that the run lists as successful or failed, else per task that has a score."""
        upload = _scan(path)
        try:
            scores = upload.scores()
            run = _run(path, upload, len(scores), request)
        except (InputError, UsageError) as error:
            raise problem(path, error) from None
        for task, score in scores.items():
            try:
                yield run.outcome(
                    coerce.name(task, "task id"),
                    coerce.score(score, "score"),
                    text=coerce.text(upload.texts.get(task), "task_prompts"),
                    seconds=coerce.number(upload.seconds.get(task), "wall_clock_times"),
                    when=coerce.moment(upload.starts.get(task), "first_call_timestamp"),
                )
            except InputError as error:
                request.refuse(path, error, f"task {reprlib.repr(task)}", {"task": task, "score": score})


@dataclass
class _Upload:
    """The part of a file that is kept in memory."""

    config: dict[tuple[str, ...], Any] = field(default_factory=dict)
    successful: list[Any] = field(default_factory=list)
    failed: list[Any] = field(default_factory=list)
    own_scores: dict[str, Any] = field(default_factory=dict)
    own_keys: set[str] = field(default_factory=set)
    """Some of the keys that tasks have in `raw_eval_results`."""
    broken: set[str] = field(default_factory=set)
    """Tasks whose result is an error message."""
    texts: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, Any] = field(default_factory=dict)
    starts: dict[str, Any] = field(default_factory=dict)
    total_cost: Any = None
    tokens: float = 0.0

    def scores(self) -> dict[str, Any]:
        """Score each task. HAL lists a task whose agent crashed as failed; what it could do is not known."""
        found: dict[str, Any] = dict(scores_of(self.successful, self.failed))
        found = found or self.own_scores | dict.fromkeys(sorted(self.broken))
        if not found:
            seen = ", ".join(sorted(self.own_keys)) or "no keys"
            raise InputError(
                "results lists no successful_tasks and failed_tasks, and no task in raw_eval_results has a"
                f" {', '.join(SCORE_KEYS)}; found {seen}"
            )
        return {task: score if score or task not in self.broken else None for task, score in found.items()}

    def take(self, keys: tuple[str, ...], value: Any) -> bool:
        """Keep a scalar if it is one of those wanted; return whether it was."""
        match keys:
            case ("config", *rest):
                self.config[tuple(rest)] = value
            case ("results", "successful_tasks", "[]"):
                self.successful.append(value)
            case ("results", "failed_tasks", "[]"):
                self.failed.append(value)
            case ("results", "total_cost") | ("total_cost",):
                self.total_cost = value if self.total_cost is None else self.total_cost
            case ("results", "latencies", task, "total_time"):
                self.seconds.setdefault(task, value)
            case ("results", "latencies", task, "first_call_timestamp"):
                self.starts[task] = value
            case ("wall_clock_times", task):  # from start to end, where latencies are between the first and last call
                self.seconds[task] = value
            case ("task_prompts", task):
                self.texts[task] = value
            case ("raw_eval_results", task) if isinstance(value, str) and value.startswith("ERROR"):
                self.broken.add(task)
            case ("raw_eval_results", task, key) if key in SCORE_KEYS:
                self.own_scores.setdefault(task, value)
            case ("raw_eval_results", _, key) if len(self.own_keys) < 12:
                self.own_keys.add(key)
            case ("total_usage", _, "prompt_tokens" | "completion_tokens" | "input_tokens" | "output_tokens"):
                self.tokens += coerce.number(value, keys[-1]) or 0.0
            case _:
                return False
        return True


def _run(path: Path, upload: _Upload, tasks: int, request: Request) -> HalRun:
    def said(*keys: str) -> str:
        return coerce.name(upload.config.get(keys), ".".join(keys))

    agent = said("agent_name")
    harness, label = split_agent_name(agent)
    model, effort = said("agent_args", "model_name") or label, said("agent_args", "reasoning_effort").lower()
    if model and effort and effort != "medium" and effort not in model.lower():  # medium is the default
        model = f"{model} {effort}"
    route = request.route(model or None, harness or None, found=agent)
    return HalRun(
        said("benchmark_name") or request.suite or DEFAULT_SUITE,
        said("run_id") or content_run(request, path),
        route,
        model or route.model,
        mean_cost(coerce.number(upload.total_cost, "total_cost"), tasks, upload.tokens, request.notes),
        coerce.moment(upload.config.get(("date",)), "date"),
        said("agent_version"),
    )


def _scan(path: Path) -> _Upload:
    upload, kept = _Upload(), 0
    for keys, value in _scalars(path):
        try:
            taken = upload.take(keys, value)
        except InputError as error:
            raise problem(path, error, keys[0]) from None
        if taken:
            kept += sum(map(len, keys)) + (len(value) if isinstance(value, str) else 8)
            if kept > KEPT_LIMIT:
                raise problem(path, f"holds more than {KEPT_LIMIT // 2**20} MiB beside its transcripts, the limit")
    return upload


def _scalars(path: Path) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Stream the scalars near the top of a document, each with the keys leading to it; `[]`: any place of an array."""
    import ijson

    with open_document(path) as stream:
        where: list[str] = []
        for event, value in ijson.basic_parse(stream, use_float=True):
            stream.end_item()  # a single token is all that has to fit into memory
            if event == "map_key":
                where[-1] = value
            elif event in ("start_map", "start_array"):
                where.append("[]")
            elif event in ("end_map", "end_array"):
                where.pop()
            elif len(where) <= _DEEPEST:
                yield tuple(where), value
