"""Inspect's logs: `.json` read plainly, `.eval` (a ZIP with Zstandard members) through inspect_ai, extra `inspect`.

harness   the solver: `eval.solver`, else the plan's steps joined; the name of a package in front is dropped
score     C is 1, P is 0.5, I and N are 0; numbers, and true and false in any spelling, as they are
scorer    of several, the one that the mapping score=NAME names (NAME.KEY for a score of several values), else the one
          that the evaluation declares its headline, else the first
status    an error: infra_error. A limit on tokens, time or messages ended the attempt: the score counts. Stopped by
          a person, invalidated, NaN or without a score: unknown
run       the id of the task, which a retry of the evaluation keeps: samples that it takes over are not counted twice
tokens    those of the evaluated model only: a grader's are no cost of the route
"""

from __future__ import annotations

import math
import os.path
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome, MissingExtra, UsageError
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem
from hmrouter.logs.content_run import content_run
from hmrouter.logs.json_file import ITEM_LIMIT, stream_items, top_keys
from hmrouter.logs.zip_file import is_zip, open_zip
from hmrouter.types import DEFAULT_SUITE, Outcome, Route, Status, Task

GRADES = {"c": 1.0, "correct": 1.0, "p": 0.5, "partial": 0.5, "i": 0.0, "incorrect": 0.0, "n": 0.0, "noanswer": 0.0}
GRADES |= {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
READ = {"id", "epoch", "input", "scores", "model_usage", "total_time", "started_at", "uuid", "error", "limit"}
"""Fields that are read of a sample, beside whether it was invalidated."""

Record = Mapping[str, Any]


class InspectReader:
    """The log of one evaluation. Its suite is the evaluated task's name, and each epoch of a sample is a trial."""

    name = "inspect"

    def sniff(self, path: Path) -> bool:
        """A JSON document with `eval` and in it a task and a model, or a ZIP laid out as Inspect does."""
        if os.path.isdir(path):
            return False
        if is_zip(path):
            with open_zip(path) as archive:
                return not {"header.json", "_journal/start.json"}.isdisjoint(archive.namelist())
        spec = top_keys(path).get("eval")
        return isinstance(spec, dict) and {"task", "model", "created"} <= spec.keys()

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per sample and epoch."""
        header, samples = _eval_file(path) if is_zip(path) else _json_file(path)
        try:
            log = _Log.of(header, path, request)
        except (InputError, UsageError) as error:
            raise problem(path, error, at="header") from None
        for place, sample in enumerate(samples, 1):
            try:
                outcome = log.outcome(coerce.meta(sample, "the sample"), request)
            except (InputError, UsageError) as error:
                request.refuse(path, error, _place(sample, place), sample)
                continue
            yield outcome


@dataclass(frozen=True, slots=True)
class _Log:
    """The header of a log, which holds for all of its samples."""

    route: Route
    suite: str
    run: str
    model: str
    created: Any
    scorer: str
    harness_version: str
    dataset_version: str

    @classmethod
    def of(cls, header: Record, path: Path, request: Request) -> _Log:
        spec, plan = coerce.meta(header.get("eval"), "eval"), coerce.meta(header.get("plan"), "plan")
        task, model = (coerce.name(spec.get(key), key) for key in ("task", "model"))
        package, _, harness = _solver(spec, plan).rpartition("/")
        packages = coerce.meta(spec.get("packages"), "packages")
        version = coerce.name(packages.get(package or "inspect_ai"), "packages")
        headline = coerce.meta(spec.get("headline_metric"), "headline_metric")
        data_set = coerce.meta(spec.get("dataset"), "dataset")
        versions = (
            coerce.name(data_set.get("name"), "dataset name"),
            coerce.name(spec.get("task_version"), "task_version"),
        )
        return cls(
            # "none/none" is how Inspect writes that there is no model.
            route=request.route(None if model.startswith("none/") else model or None, harness or None, found=task),
            suite=task or request.suite or DEFAULT_SUITE,
            run=coerce.name(spec.get("task_id") or spec.get("run_id"), "task_id") or content_run(request, path),
            model=model,
            created=spec.get("created"),
            scorer=request.mapping.get("score") or coerce.name(headline.get("scorer"), "headline_metric"),
            harness_version=f"{package or 'inspect_ai'} {version}" if version else "",
            dataset_version=" ".join(said for said in versions if said not in ("", "0")),
        )

    def outcome(self, sample: Record, request: Request) -> Outcome:
        task, epoch = (coerce.name(sample.get(key), key) for key in ("id", "epoch"))
        status, score = self._verdict(sample, request)
        usage = coerce.meta(coerce.meta(sample.get("model_usage"), "model_usage").get(self.model), "model_usage")
        fresh, written, cached, output = (
            coerce.integer(usage.get(key), key)
            for key in ("input_tokens", "input_tokens_cache_write", "input_tokens_cache_read", "output_tokens")
        )
        return Outcome(
            Task(task, self.suite, _text(sample.get("input"))),
            self.route,
            score,
            status=status,
            cost=coerce.number(usage.get("total_cost"), "total_cost") or None,
            # Inspect counts what was read from a cache, or written to one, apart.
            input_tokens=None if fresh is None else fresh + (written or 0) + (cached or 0),
            cached_tokens=cached,
            output_tokens=output,
            seconds=coerce.number(sample.get("total_time"), "total_time"),
            when=coerce.moment(sample.get("started_at") or self.created, "started_at"),
            source="inspect",
            run=self.run,
            trial=coerce.name(sample.get("uuid"), "uuid") or epoch,
            model_version=self.model if self.model != self.route.model else "",
            harness_version=self.harness_version,
            dataset_version=self.dataset_version,
        )

    def _verdict(self, sample: Record, request: Request) -> tuple[Status, float | None]:
        if sample.get("error"):
            return Status.INFRA_ERROR, None
        scores = coerce.meta(sample.get("scores"), "scores")
        by_person = coerce.meta(sample.get("limit"), "limit").get("type") == "operator"
        if by_person or sample.get("invalidation") or not scores:
            return Status.UNKNOWN, None
        scorer, key = self.scorer or next(iter(scores)), ""
        if scorer not in scores:
            scorer, _, key = scorer.rpartition(".")
        if scorer not in scores:
            raise InvalidOutcome(f"no scorer {self.scorer!r}; found {', '.join(scores)}", hint="score_name")
        if len(scores) > 1 and not self.scorer:
            remark = (
                f"Inspect logs with the scorers {', '.join(scores)}: {scorer} counts; map score=NAME to choose another"
            )
            request.notes.remarks[remark] += 1
        value = coerce.meta(scores[scorer], scorer).get("value")
        score = _score(coerce.meta(value, scorer).get(key) if key else value, scorer)
        return (Status.UNKNOWN if score is None else Status.OK), score


def _score(value: Any, scorer: str) -> float | None:
    if isinstance(value, dict):
        raise InvalidOutcome(
            f"the score {scorer!r} has several values: {', '.join(value)}", hint="score_key", scorer=scorer
        )
    score = GRADES.get(value.strip().lower()) if isinstance(value, str) else None
    if score is None:
        score = coerce.score(value, scorer)
    return None if score is not None and math.isnan(score) else score


def _solver(spec: Record, plan: Record) -> str:
    if solver := coerce.name(spec.get("solver"), "solver"):
        return solver
    steps = plan.get("steps") or []
    if not isinstance(steps, list):
        raise InvalidOutcome(f"steps {reprlib.repr(steps)} is not a JSON array")
    names = [coerce.name(coerce.meta(step, "steps").get("solver"), "solver") for step in steps]
    return names[0] if len(names) == 1 else " ".join(name.rpartition("/")[2] for name in names)


def _text(given: Any) -> str:
    """Write the task as one text: what a conversation's system and user say before the model does."""
    if not isinstance(given, list):
        return coerce.text(given, "input")
    texts = []
    for message in given:
        content = coerce.meta(message, "input").get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts += [coerce.text(part.get("text"), "input") for part in parts if isinstance(part, dict)]
    return coerce.text("\n\n".join(text for text in texts if text), "input")


def _place(sample: Any, place: int) -> str:
    if isinstance(sample, dict) and {"id", "epoch"} <= sample.keys():
        return f"sample {reprlib.repr(sample['id'])} epoch {reprlib.repr(sample['epoch'])}"
    return f"sample number {place}"


def _json_file(path: Path) -> tuple[Record, Iterator[Any]]:
    header = {key: next(stream_items(path, key), None) for key in ("eval", "plan")}
    return header, stream_items(path, "samples.item")


def _eval_file(path: Path) -> tuple[Record, Iterator[Any]]:
    with open_zip(path) as archive:
        for member in archive.infolist():
            if member.file_size > ITEM_LIMIT:
                raise problem(path, f"{member.filename} is larger than {ITEM_LIMIT // 2**20} MiB unpacked, the limit")
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError:
        raise MissingExtra("reading Inspect's .eval logs", "inspect") from None
    where = str(path.absolute())

    def samples() -> Iterator[Any]:
        found = read_eval_log_samples(where, all_samples_required=False, format="eval")
        while True:
            try:
                sample = next(found, None)
            except Exception as error:  # whatever a foreign parser makes of a damaged file
                raise problem(path, f"inspect_ai cannot read it: {error}") from None
            if sample is None:
                return
            yield sample.model_dump(mode="json", include=READ | {"invalidation"})

    try:
        header = read_eval_log(where, header_only=True, format="eval")
    except Exception as error:  # as above
        raise problem(path, f"inspect_ai cannot read it: {error}") from None
    return header.model_dump(mode="json", include={"eval", "plan"}), samples()
