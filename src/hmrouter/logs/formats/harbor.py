"""Harbor jobs: a folder with one folder per trial, each with its `result.json`. One trial's folder is read too.

What a trial's ending says about its route:

    a reward, no exception                       it counts
    a reward, and the agent's own ending         it counts: out of time, of context, of output, or a refusal
    any other exception                          infra_error, whatever the reward: an API failure leaves a reward of 0,
                                                 and dropping only the failures would flatter the route
    the list of answered requests is empty       infra_error: some agents swallow the API's failure
    no reward                                    unknown: the verifier was off, or did not get that far

Harbor blanks out secrets by replacing their text wherever it stands, in keys too: with the key "x" for an API,
`exception_info` reads `e[REDACTED]ception_info`. A name with such a gap is not taken for a name.

A trial does not hold its instruction. It is read from the task's folder, where that lies in the job's folder or in
one of the two above it (`tasks/t1` beside `jobs/demo`); a path that leads out of these is not followed.
"""

from __future__ import annotations

import os.path
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hmrouter.errors import InputError, InvalidOutcome, LogError, UsageError
from hmrouter.logs import coerce
from hmrouter.logs.base import UNPACKED, Request, problem
from hmrouter.logs.files import CELL_LIMIT, open_bytes
from hmrouter.logs.json_file import load_document, top_keys
from hmrouter.types import DEFAULT_SUITE, Outcome, Status, Task

RESULT, CONFIG, INSTRUCTION = "result.json", "config.json", "instruction.md"
REDACTED = "[REDACTED]"

Record = Mapping[str, Any]

WITHOUT_MODEL = ("nop", "oracle")
"""Agents that check a task rather than solve it."""

THE_AGENTS_OWN = (
    "AgentSafetyRefusalError", "AgentTimeoutError", "ContextLengthExceededError", "ContextWindowExceededError",
    "OutputLengthExceededError", "OutputTokenExceededError",
)  # fmt: skip
"""Exceptions by which a route fails on its own; every other one is the machinery's."""


class HarborReader:
    """A job, or one trial of it. The suite is the trial's data set; the run is the job's id, else the job's name."""

    name = "harbor"

    def sniff(self, path: Path) -> bool:
        """The result of a trial, a folder with one, or a folder of such folders."""
        if not os.path.isdir(path):
            return _is_trial(path)
        return _is_trial(path / RESULT) or any(_is_trial(folder / RESULT) for folder in _folders(path))

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per trial, by the trials' names."""
        found = 0
        for file in _results(path, request):
            found += 1
            at = f"trial {file.absolute().parent.name}"
            trial: Record = {}
            try:
                trial = load_document(file)
                outcome = _outcome(file.absolute().parent, trial, request)
            except (InputError, UsageError) as error:
                request.refuse(path, error.what if getattr(error, "place", "") else error, at, trial)
                continue
            if outcome is not None:
                yield outcome
        if not found:
            raise problem(path, f"holds no trial; a Harbor job has a folder with {RESULT} for each")


def _is_trial(file: Path) -> bool:
    if not os.path.isfile(file):
        return False
    with suppress(LogError):  # one unreadable trial does not make the job another format; reading it will tell
        keys = top_keys(file)
        return _get(keys, "trial_name") is not None and isinstance(_get(keys, "agent_info"), dict)
    return False


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(child for child in path.iterdir() if child.is_dir())
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror or error}") from None


def _results(path: Path, request: Request) -> Iterator[Path]:
    if not os.path.isdir(path):
        yield path
    elif _is_trial(path / RESULT):
        yield path / RESULT
    else:
        for folder in _folders(path):
            if (folder / RESULT).is_file():
                yield folder / RESULT
            elif (folder / CONFIG).is_file():
                request.notes.remarks[f"Harbor trials without {RESULT}, still running or killed, left out"] += 1


def _outcome(folder: Path, trial: Record, request: Request) -> Outcome | None:
    info, config, identity = _part(trial, "agent_info"), _part(trial, "config"), _part(trial, "task_id")
    agent = _part(config, "agent")
    harness = _name(info, "name") or _name(agent, "name") or _name(agent, "import_path").rpartition(":")[2]
    if harness in WITHOUT_MODEL:
        request.notes.remarks["Harbor trials of oracle and nop, which run no model, left out"] += 1
        return None
    steps = _parts(trial, "step_results")
    results = [_part(place, "agent_result") for place in ([trial] if _get(trial, "agent_result") else steps)]
    # An agent that chooses its route per task, as this project's does, says in its metadata what it chose.
    chosen: Record = next((said for result in results if (said := _part(_part(result, "metadata"), "hm_router"))), {})
    model = _name(chosen, "model") or _name(_part(info, "model_info"), "name") or _only_model(results)
    job = _name(config, "job_id") or Path(_name(config, "trials_dir")).name or _name(trial, "id")
    version = _name(chosen, "harness_version") or _name(info, "version")
    trial_name = _required(trial, "trial_name")
    route = request.route(model or None, _name(chosen, "harness") or harness or None, found=trial_name)
    status, score = _verdict(trial, steps, results, request.mapping.get("score"))
    source = _name(trial, "source")
    prompt, output = (_total(results, key, coerce.integer) for key in ("n_input_tokens", "n_output_tokens"))
    counted = bool(prompt or output)  # several agents write 0 for what they did not count
    return Outcome(
        Task(_required(trial, "task_name"), source or request.suite or DEFAULT_SUITE, _text(folder, identity, request)),
        route,
        score,
        status=status,
        cost=_total(results, "cost_usd", coerce.number) or None,
        input_tokens=prompt if counted else None,
        cached_tokens=_total(results, "n_cache_tokens", coerce.integer) if counted else None,
        output_tokens=output if counted else None,
        seconds=_seconds([trial] if _get(trial, "agent_execution") else steps),
        when=coerce.moment(_get(trial, "started_at"), "started_at"),
        source="harbor",
        run=job,
        trial=trial_name,
        model_version=model if model != route.model else "",
        harness_version=version if version != "unknown" else "",
        dataset_version=_version(folder, source, identity),
    )


def _verdict(
    trial: Record, steps: Sequence[Record], results: Sequence[Record], wanted: str | None
) -> tuple[Status, float | None]:
    for raised in (part for place in (trial, *steps) if (part := _part(place, "exception_info"))):
        kind = coerce.text(_get(raised, "exception_type"), "exception_type")
        if not any(_fits(kind, own) for own in THE_AGENTS_OWN):
            return Status.INFRA_ERROR, None
    if any(_get(_part(result, "metadata"), "api_request_times_msec") == [] for result in results):
        return Status.INFRA_ERROR, None
    rewards = _part(_part(trial, "verifier_result"), "rewards")
    if not rewards:
        return Status.UNKNOWN, None
    key = wanted or ("reward" if "reward" in rewards or len(rewards) > 1 else next(iter(rewards)))
    if key not in rewards:
        raise InvalidOutcome(f"no reward {key!r}; found {', '.join(rewards)}", hint="score_name")
    return Status.OK, coerce.score(rewards[key], key)


def _only_model(results: Sequence[Record]) -> str:
    # Claude Code books what no model said under <synthetic>.
    used = {name for result in results for name in _part(result, "model_usage") if not name.startswith("<")}
    return coerce.name(used.pop(), "model_usage") if len(used) == 1 else ""


def _total(results: Sequence[Record], key: str, convert: coerce.Convert) -> Any:
    known = [value for result in results if (value := convert(_get(result, key), key)) is not None]
    return sum(known) if known else None


def _seconds(places: Sequence[Record]) -> float | None:
    """Measure how long the agent worked: setting up and verifying are not the route's time."""
    spans = []
    for place in places:
        phase = _part(place, "agent_execution")
        start, end = (coerce.moment(_get(phase, key), key) for key in ("started_at", "finished_at"))
        if start and end:
            spans.append((end - start).total_seconds())
    return sum(spans) if spans else None


def _version(folder: Path, source: str, identity: Record) -> str:
    """Find the data set's version, which only the job's configuration tells, else the task's own."""
    with suppress(InputError):
        for data_set in _parts(load_document(folder.parent / CONFIG), "datasets"):
            if source and _get(data_set, "name") == source and (version := _name(data_set, "version")):
                return version
    return _name(identity, "ref") or _name(identity, "git_commit_id")


def _text(folder: Path, identity: Record, request: Request) -> str:
    where = "" if _get(identity, "git_url") else _name(identity, "path")
    for base in folder.parents[:3] if where else ():
        file = os.path.realpath(base / where / INSTRUCTION)
        if os.path.isfile(file) and Path(file).is_relative_to(os.path.realpath(base)):
            with suppress(LogError, UnicodeDecodeError, InvalidOutcome), open_bytes(Path(file)) as stream:
                if len(data := stream.read(CELL_LIMIT + 1)) <= CELL_LIMIT:
                    return coerce.text(data.decode("utf-8-sig"), INSTRUCTION)
        if base in UNPACKED:
            break
    request.notes.remarks[f"Harbor trials without a readable {INSTRUCTION} near the job; their text is empty"] += 1
    return ""


def _get(record: Record, key: str) -> Any:
    """Get the value of a key, also where a part of it was blanked out."""
    if key in record:
        return record[key]
    return next((value for written, value in record.items() if REDACTED in written and _fits(written, key)), None)


def _fits(written: str, name: str) -> bool:
    """Whether a name is what was written, with some text in each gap."""
    first, *rest = written.split(REDACTED)
    if not rest:
        return written == name
    if not name.startswith(first):
        return False
    *middle, last = rest
    at = len(first)
    for part in middle:  # each as early as it can be, which leaves the most room for the others
        at = name.find(part, at + 1) + len(part)
        if at < len(part):
            return False
    return name.endswith(last) and len(name) - len(last) > at


def _part(record: Record, key: str) -> Record:
    return coerce.meta(_get(record, key), key)


def _parts(record: Record, key: str) -> list[Record]:
    value = _get(record, key) or []
    if not isinstance(value, list):
        raise InvalidOutcome(f"{key} {reprlib.repr(value)} is not a JSON array")
    return [coerce.meta(item, key) for item in value]


def _name(record: Record, key: str) -> str:
    written = coerce.name(_get(record, key), key)
    return "" if REDACTED in written else written


def _required(record: Record, key: str) -> str:
    written = coerce.name(_get(record, key), key)
    if not written:
        raise InvalidOutcome(f"{key} is missing")
    return written
