"""`hmrouter store export DIR --format benchmark`: a benchmark directory per suite, for `hmrouter bench`."""

from __future__ import annotations

import csv
import itertools
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hmrouter.cli.output import echo, print_json, progress, say
from hmrouter.cli.store_lines import fits, json_line
from hmrouter.cli.words import counted
from hmrouter.errors import InputError, OutputError, UsageError
from hmrouter.files import sole_writer
from hmrouter.logs.formats.benchmark import OUTCOMES, QUERIES

if TYPE_CHECKING:
    from hmrouter.types import Outcome

COLUMNS = ("query_id", "model", "harness", "score", "n_trials", "cost_usd", "cost_is_route_mean",
           "status", "seconds", "when", "model_version", "harness_version", "dataset_version")  # fmt: skip
"""Columns of the benchmark format, and others that its reader takes from any table of outcomes."""
NAME_BYTES = 200
"""The most bytes of a directory's name; file systems take 255."""
STEP = 1000
"""Outcomes between two steps of the progress bar."""


@dataclass(slots=True)
class WrittenFiles:
    """Counts of one benchmark directory that was written."""

    suite: str
    directory: str
    tasks: int = 0
    outcomes: int = 0
    without_text: int = 0


def export_benchmarks(out: str, suite: str | None, store: str, as_json: bool) -> None:
    """Write a benchmark directory per suite with the outcomes that `hmrouter train` learns from.

    Names are as they are merged, and tokens are at list prices where a source reports no cost. Everything or nothing is
    written, and never over what is there.
    """
    from hmrouter.costs import priced
    from hmrouter.store import OutcomeStore

    if out == "-":
        raise UsageError("standard output cannot hold benchmark directories; give a folder that is not there yet")
    written: list[WrittenFiles] = []
    with (
        OutcomeStore(store, create=False) as kept,
        closing(kept.outcomes(suite)) as outcomes,
        progress("exporting", "outcomes") as show,
    ):
        known = kept.suites().keys()
        first = list(itertools.islice(outcomes, 1))  # a store or suite that is not there is said before a file is made
        if not first:
            raise InputError(f"store {kept} holds no outcome to export; import some with: hmrouter import PATH")
        with new_directory(out) as folder:
            everything = _counted(priced(itertools.chain(first, outcomes)), show)
            for name, of_suite in itertools.groupby(everything, key=lambda outcome: outcome.task.suite):
                taken = {w.directory for w in written} | (known - {name})
                report = WrittenFiles(name, directory_name(name, taken))
                _write(folder / report.directory, of_suite, report)
                written.append(report)
    for report in written:
        if report.directory != report.suite:
            say(f"note: suite {report.suite!r} is in {report.directory}; --suite gives an import its name back")
    if silent := sum(report.without_text for report in written):
        say(f"note: {counted(silent, 'task')} without a text that could be written; methods treat such tasks alike")
    if as_json:
        print_json({"out": out, "outcomes": sum(w.outcomes for w in written), "suites": [asdict(w) for w in written]})
        return
    total = counted(sum(report.outcomes for report in written), "outcome")
    echo(f"Wrote {total} of {counted(len(written), 'suite')} to {out}.")
    echo(f"Next: hmrouter bench run routing --data {shlex.quote(out)}")


def directory_name(suite: str, taken: Collection[str] = ()) -> str:
    """Name the directory of a suite: as the suite, unless no directory can have that name.

    >>> directory_name("swe-bench"), directory_name("team/repo"), directory_name("team/repo", {"team_repo"})
    ('swe-bench', 'team_repo', 'team_repo-2')
    """
    name = suite.replace("/", "_").replace("\0", "_").encode()[:NAME_BYTES].decode(errors="ignore")
    if not name or name.startswith("."):  # hidden ones are not looked into
        name = f"_{name[1:]}"
    lower = {other.lower() for other in taken}  # some file systems do not tell the cases apart
    numbered = (f"{name}-{n}" for n in itertools.count(2))
    return next(free for free in itertools.chain([name], numbered) if free.lower() not in lower)


@contextmanager
def new_directory(path: str | Path) -> Iterator[Path]:
    """Make a folder to write to, which gets its name in one step at the end; a failure leaves nothing.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     with new_directory(f"{place}/new") as folder:
    ...         _ = (folder / "a.txt").write_text("whole")
    ...     Path(place, "new", "a.txt").read_text()
    'whole'
    """
    target = Path(os.path.abspath(path))
    if os.path.lexists(target):
        raise OutputError(f"{path} is there already, and an export replaces no folder; choose another, or remove it")
    with sole_writer(path):
        temporary = None
        try:
            for leftover in target.parent.iterdir():  # of a writer that was killed
                if leftover.name.startswith(f".{target.name}.") and leftover.suffix == ".tmp":
                    shutil.rmtree(leftover, ignore_errors=True)
            temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
            (temporary / "new").mkdir()  # as anyone makes a folder: mkdtemp's own is closed to others
            yield temporary / "new"
            os.rename(temporary / "new", target)
        except OSError as e:
            raise OutputError(f"cannot write {path}: {e.strerror or e}; nothing was changed") from e
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)


def _write(directory: Path, outcomes: Iterable[Outcome], report: WrittenFiles) -> None:
    """Write one suite, whose outcomes come task by task."""
    directory.mkdir()
    with (
        open(directory / OUTCOMES, "w", encoding="utf-8", newline="") as cells,
        open(directory / QUERIES, "wb") as queries,
    ):
        # All texts in quotes: a lone carriage return in one would else end its row.
        table = csv.writer(cells, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        table.writerow(COLUMNS)
        for task, of_task in itertools.groupby(outcomes, key=lambda outcome: outcome.task):
            text = task.text if fits(task.text) else ""
            queries.write(json_line({"query_id": task.id, "text": text, "meta": dict(task.meta)}))
            report.tasks += 1
            report.without_text += not text
            for outcome in of_task:
                table.writerow(_row(outcome))
                report.outcomes += 1
        for file in (cells, queries):  # what gets its name at the end is on the disk by then
            file.flush()
            os.fsync(file.fileno())


def _row(o: Outcome) -> list[str | float | None]:
    # The trial is left to the reader, which counts the rows of a cell: two runs may number theirs alike.
    when = o.when.isoformat() if o.when else None
    return [
        o.task.id, o.route.model, o.route.harness, o.score, o.n_trials, o.cost, str(o.cost_is_route_mean).lower(),
        o.status.value, o.seconds, when, o.model_version, o.harness_version, o.dataset_version,
    ]  # fmt: skip


def _counted(outcomes: Iterable[Outcome], show: Callable[[int, int | None], None]) -> Iterator[Outcome]:
    for total, outcome in enumerate(outcomes, 1):
        yield outcome
        if total % STEP == 0:
            show(total, None)
