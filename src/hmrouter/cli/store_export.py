"""`hmrouter store export FILE`: the outcomes as a table that `hmrouter import` reads back as they were."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from hmrouter.cli.output import echo, print_json, progress, say
from hmrouter.cli.store_lines import fits, json_line
from hmrouter.cli.words import counted
from hmrouter.errors import UsageError
from hmrouter.files import replacing, sole_writer
from hmrouter.logs.fields import EXPORT, EXPORT_VERSION, FIELDS
from hmrouter.logs.files import CELL_LIMIT
from hmrouter.logs.spreadsheet import GUARDED, guarded
from hmrouter.types import text_hash

if TYPE_CHECKING:
    from hmrouter.types import Outcome

COLUMNS = (*(field for field in FIELDS if field not in ("route", "family")), EXPORT)
"""The fields that an import reads, without those that others say already: `route` (model and harness) and `family`
(meta); and the mark of an export."""
STEP = 1000
"""Outcomes between two steps of the progress bar."""


def export_file(out: str, suite: str | None, store: str, as_json: bool) -> None:
    """Write the outcomes to one file that an import reads back as they were."""
    from hmrouter.store import OutcomeStore

    if out == "-" and as_json:
        raise UsageError("standard output cannot hold both the outcomes and the document of --json; give a file")
    write = _writer(out)
    shortened = _Shortened()
    with (
        OutcomeStore(store, create=False) as kept,
        closing(kept.outcomes(suite, merged=False)) as outcomes,
        progress("exporting", "outcomes") as show,
    ):
        total, merges = 0, len(kept.merges())
        first = list(itertools.islice(outcomes, 1))  # a store or suite that is not there is said before a file is made
        with _opened(out) as stream:
            for total in write(stream, map(shortened, itertools.chain(first, outcomes))):
                if total % STEP == 0:
                    show(total, None)
    if merges:
        say(f"note: {counted(merges, 'merge')} of names not written: an export has the names as they were imported")
    if shortened.tasks:
        say(
            f"warning: {counted(len(shortened.tasks), 'text')} above the limit of an import "
            f"({CELL_LIMIT // 2**20} MiB), written as a hash only"
        )
    if as_json:
        print_json("store-export", {"out": out, "outcomes": total})
    elif out != "-":
        echo(f"Wrote {counted(total, 'outcome')} to {out}.")


class _Shortened:
    """Replaces texts that no import would take by their hashes, and remembers whose they were."""

    def __init__(self) -> None:
        self.tasks: set[tuple[str, str]] = set()

    def __call__(self, outcome: Outcome) -> Outcome:
        task = outcome.task
        if fits(task.text):
            return outcome
        self.tasks.add(task.key)
        return replace(outcome, task=replace(task, text="", text_hash=text_hash(task.text)))


Write = Callable[[IO[bytes], Iterable["Outcome"]], Iterator[int]]
"""Writes outcomes to a stream; gives how many are written, after each."""


def _writer(out: str) -> Write:
    ending = "" if out == "-" else Path(out.removesuffix(".gz")).suffix
    if ending not in ("", ".jsonl", ".csv") or (not ending and out != "-"):
        raise UsageError(
            f"{out!r} ends in neither .jsonl nor .csv (nor these with .gz), which say what to write; "
            "for a folder of benchmark directories give --format benchmark"
        )
    return _write_csv if ending == ".csv" else _write_jsonl


def _write_jsonl(stream: IO[bytes], outcomes: Iterable[Outcome]) -> Iterator[int]:
    for total, outcome in enumerate(outcomes, 1):
        stream.write(json_line(_record(outcome)))
        yield total


def _write_csv(stream: IO[bytes], outcomes: Iterable[Outcome]) -> Iterator[int]:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    # All texts in quotes: a lone carriage return in one would else end its row.
    table = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table.writerow(COLUMNS)
    for total, outcome in enumerate(outcomes, 1):
        values = _record(outcome)
        values |= {"meta": json.dumps(values["meta"]) if values["meta"] else "", EXPORT: GUARDED}
        table.writerow(map(guarded, values.values()))
        yield total
    text.detach()  # writes what is left; the stream itself is not ours to close


def _record(outcome: Outcome) -> dict[str, Any]:
    """Turn an outcome into the row that an import makes the same outcome of."""
    task, route = outcome.task, outcome.route
    own: dict[str, Any] = {
        "task": task.id, "suite": task.suite, "text": task.text, "text_hash": task.text_hash,
        "meta": dict(task.meta) or None, "model": route.model, "harness": route.harness,
        "model_spelling": route.spelled[0] if route.spelled else "",
        "harness_spelling": route.spelled[1] if route.spelled else "",
        "when": outcome.when.isoformat() if outcome.when else None, "status": outcome.status.value,
        EXPORT: EXPORT_VERSION,
    }  # fmt: skip
    return {column: own[column] if column in own else getattr(outcome, column) for column in COLUMNS}


@contextmanager
def _opened(out: str) -> Iterator[IO[bytes]]:
    if out == "-":
        yield sys.stdout.buffer
        return
    with sole_writer(out), replacing(out) as raw:
        if out.endswith(".gz"):
            # Without a time in it, the same outcomes are the same bytes.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                yield cast(IO[bytes], packed)
        else:
            yield raw
