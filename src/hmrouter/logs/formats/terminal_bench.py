"""terminal-bench runs: what `tb run` leaves, and what its leaderboard's submissions keep of it.

    <run>/results.json                     all trials under `results`; `run_metadata.json` beside it says the route
    <name>_results.json                    the same file alone
    <run>/<task>/<trial>/results.json      one trial each, where the file of the run is missing

What a trial's `failure_mode` says about its route:

    unset, none, agent_timeout, ...          the verdict counts; without one the trial is unknown
    test_timeout, parse_error                the tests hung or broke on what the agent left: `is_resolved` is null, and
                                             the run's own accuracy counts it as not resolved; so do we
    unknown_agent_error,                     infra_error: an API failure looks like this, and the tests then judge
    agent_installation_failed                an environment in which nobody worked

A run that does not name its route often lies in a folder that does, by the leaderboard's convention
`20250924_droid_gpt-5`: date, harness, model. What the caller gives, a pattern included, comes before that convention.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome, LogError, UsageError
from hmrouter.logs import coerce
from hmrouter.logs.base import Request, problem, shown
from hmrouter.logs.content_run import content_run
from hmrouter.logs.files import head
from hmrouter.logs.json_file import load_document, stream_items, top_keys
from hmrouter.types import DEFAULT_SUITE, Outcome, Route, Status, Task

RESULTS, METADATA = "results.json", "run_metadata.json"
TRIAL_KEYS = {"trial_name", "task_id", "is_resolved", "failure_mode"}

WITHOUT_MODEL = ("nop", "oracle")
"""Agents that check a task rather than solve it."""
THE_MACHINERYS = ("agent_installation_failed", "unknown_agent_error")
"""Failure modes that say nothing about the route."""
NOT_RESOLVED = ("parse_error", "test_timeout")
"""Failure modes without a verdict that are one."""

SUBMISSION = re.compile(r"\d{8}_(?P<harness>[^_]+)_(?P<model>.+?)(?:\.zip|\.tar|\.tar\.gz|\.tgz)?")
"""The leaderboard's names of submissions."""
LOOKED_AT = 64
"""Folders, and folders in each of these, that sniffing looks into for a trial."""

Record = Mapping[str, Any]


class TerminalBenchReader:
    """A run, or single trials. The suite is the run's data set; the run is its `run_id`."""

    name = "terminal-bench"

    def sniff(self, path: Path) -> bool:
        """A file of results, a folder with one, or the folder of a run or a task with a file per trial."""
        if not os.path.isdir(path):
            return _is_run(path) or _is_trial(path)
        with suppress(LogError):  # one unreadable trial does not make the run another format; reading it will tell
            if os.path.isfile(path / RESULTS):
                return _is_run(path / RESULTS) or _is_trial(path / RESULTS)
            return any(_is_trial(file) for file in islice(_trials(path, LOOKED_AT), LOOKED_AT))
        return False

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per trial."""
        for file, metadata, at, trial in _records(path, request):
            try:
                if coerce.name(metadata.get("agent_name"), "agent_name") in WITHOUT_MODEL:
                    request.notes.remarks["terminal-bench trials of oracle and nop, which run no model, left out"] += 1
                    continue
                outcome = _outcome(file, metadata, coerce.meta(trial, "the trial"), request)
            except (InputError, UsageError) as error:
                request.refuse(file, error, at, trial)
                continue
            yield outcome


def _is_run(file: Path) -> bool:
    keys = top_keys(file)
    return keys.get("results") == [] and (
        {"n_resolved", "n_unresolved"} <= keys.keys() or all(f'"{key}"'.encode() in head(file) for key in TRIAL_KEYS)
    )


def _is_trial(file: Path) -> bool:
    return top_keys(file).keys() >= TRIAL_KEYS


def _trials(path: Path, limit: int | None = None) -> Iterator[Path]:
    """Find the trials' files in the folder of a task or a run: a trial's folder lies in one with the task's name."""
    for folder in islice(_folders(path), limit):
        for place in (folder, *islice(_folders(folder), limit)):
            file = place / RESULTS
            if os.path.isfile(file):
                with suppress(LogError):
                    if top_keys(file).get("task_id") != place.absolute().parent.name:
                        continue
                yield file


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(child for child in path.iterdir() if child.is_dir() and not child.name.startswith("."))
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror or error}") from None


def _records(path: Path, request: Request) -> Iterator[tuple[Path, Record, str, Any]]:
    """Read each trial with its file, the run's metadata and its place in the file."""
    single = path if not os.path.isdir(path) else path / RESULTS
    files = [single] if single == path or os.path.isfile(single) else list(_trials(path))
    if not files:
        raise problem(path, f"holds no trial; a terminal-bench run has a {RESULTS}, or one for each trial")
    for file in files:
        if _is_run(file):
            metadata = _metadata(file.parent)
            for place, trial in enumerate(stream_items(file, "results.item"), 1):
                yield file, metadata, f"result {place}", trial
            continue
        try:
            trial = load_document(file)
        except LogError as error:
            request.refuse(file, error.what, "", {})
            continue
        yield file, _metadata(file.absolute().parents[:3][-1]), "", trial


def _metadata(folder: Path) -> Record:
    return load_document(folder / METADATA) if os.path.isfile(folder / METADATA) else {}


def _outcome(file: Path, metadata: Record, trial: Record, request: Request) -> Outcome:
    def said(key: str) -> str:
        return coerce.name(metadata.get(key), key)

    def own(key: str) -> str:
        return coerce.name(trial.get(key), key)

    if missing := TRIAL_KEYS - trial.keys():
        raise InvalidOutcome(f"{', '.join(sorted(missing))} is missing")
    route = _route(file, said("model_name"), said("agent_name"), request)
    status, score = _verdict(own("failure_mode"), coerce.score(trial["is_resolved"], "is_resolved"))
    prompt, output = (coerce.integer(trial.get(f"total_{kind}_tokens"), kind) for kind in ("input", "output"))
    counted = bool(prompt or output)  # agents that do not count write 0
    start, end = (coerce.moment(trial.get(f"agent_{what}_at"), f"agent_{what}_at") for what in ("started", "ended"))
    return Outcome(
        Task(
            own("task_id"),
            said("dataset_name") or request.suite or DEFAULT_SUITE,
            coerce.text(trial.get("instruction"), "instruction"),
        ),
        route,
        score,
        status=status,
        input_tokens=prompt if counted else None,
        output_tokens=output if counted else None,
        seconds=(end - start).total_seconds() if start and end else None,
        when=coerce.moment(trial.get("trial_started_at"), "trial_started_at"),
        source="terminal-bench",
        # The recording's path begins with the run's id, and stands in every file of a run.
        run=said("run_id") or _first_folder(own("recording_path")) or content_run(request, file),
        trial=own("id") or own("uuid") or own("trial_name"),
        model_version=said("model_name") if said("model_name") != route.model else "",
        dataset_version=said("dataset_version"),
    )


def _verdict(mode: str, resolved: float | None) -> tuple[Status, float | None]:
    if mode in THE_MACHINERYS:
        return Status.INFRA_ERROR, None
    if resolved is None and mode in NOT_RESOLVED:
        return Status.OK, 0.0
    return (Status.UNKNOWN if resolved is None else Status.OK), resolved


def _route(file: Path, model: str, harness: str, request: Request) -> Route:
    places = Path(os.path.abspath(shown(file))).parents[:4]
    named = next((place.name for place in places if SUBMISSION.fullmatch(place.name)), places[0].name)
    convention = SUBMISSION.fullmatch(named)
    if convention and request.pattern is None:
        model = model or ("" if request.model else convention["model"])
        harness = harness or ("" if request.harness else convention["harness"])
    return request.route(model or None, harness or None, found=named)


def _first_folder(path: str) -> str:
    first, slash, _ = path.partition("/")
    return first if slash else ""
