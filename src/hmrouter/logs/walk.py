"""Finding the logs at a path: a file, a directory that is one log, a folder or an archive of any of these.

Each log found is a `Log` and is imported on its own: one that is refused does not undo the others.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hmrouter.errors import LogError, MissingExtra, UnknownName
from hmrouter.logs.archives import is_archive, unpacked
from hmrouter.logs.base import Notes, Reader, Request, problem, shown
from hmrouter.logs.budget import Budget
from hmrouter.logs.faults import as_refusals
from hmrouter.logs.files import head
from hmrouter.logs.harness_output import harness_of
from hmrouter.logs.json_file import top_keys
from hmrouter.logs.keys import noting_keys
from hmrouter.logs.table import TableReader
from hmrouter.types import Outcome

DEEPEST = 32
"""Folders below the one that was given; logs do not lie deeper."""
NOTED = 1000
"""How many files that were passed over are noted one by one."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log that was found, with the reader for it. One from an archive can be read until the next one is asked for."""

    path: Path
    reader: Reader
    budget: Budget | None = field(default=None, compare=False)
    """The budget of the archive that it lies in."""
    name: str = field(init=False, compare=False)
    """The path for messages; inside an archive it begins with the archive's."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", shown(self.path))  # now: the archive is closed before the summary is written

    def read(self, request: Request) -> Iterator[Outcome]:
        """Read its outcomes; a `LogError` at the end if a record was refused and the request does not skip those."""
        with as_refusals(self.path, f"the reader of {self.reader.name}"):
            found = self.reader.read(self.path, request)
            # The files of a folder that is one log have budgets of their own, where they are unpacked.
            budget = self.budget or (None if os.path.isdir(self.path) else Budget.of_file(self.path))
            yield from noting_keys(found if budget is None else budget.watch(self.path, found), request.notes)
        request.refusals.raise_any()


def logs_at(
    path: Path,
    readers: Sequence[Reader],
    notes: Notes,
    format: str = "auto",
    mapping: Mapping[str, str] | None = None,
) -> Generator[Log, None, None]:
    """Find the logs at a path, in the order of their names; at least one, or a `LogError`.

    Whoever does not ask for all of them closes it: an archive lies unpacked while its logs are read.

    With a format given, the path itself is read as that, or, if it is a folder without being one, what is in it
    and looks like it. In a folder or an archive, a table is a log if it has columns for the task and the score, by
    their usual names or by the mapping (field -> column); one that is given itself is always read, and then says
    what it lacks.
    """
    chosen = _named(readers, format)
    if format != "auto" and not os.path.isdir(path) and not is_archive(path):
        yield Log(path, chosen[0])
        return
    walk = _Walk(chosen, notes, mapping or {})
    found = False
    for log in walk.logs(path):
        found = True
        yield log
    if not found:
        raise problem(path, walk.nothing(path))


def recognise(path: Path, readers: Sequence[Reader]) -> Reader | None:
    """Find the first reader that takes the path for its own; the particular stand before the general."""
    with as_refusals(path, "looking at its beginning"):
        return next((reader for reader in readers if reader.sniff(path)), None)


def _named(readers: Sequence[Reader], format: str) -> Sequence[Reader]:
    if format == "auto":
        return readers
    if chosen := [reader for reader in readers if reader.name == format]:
        return chosen
    raise UnknownName("format", format, ["auto", *(reader.name for reader in readers)])


class _Walk:
    """One walk through a folder or archive, with the notes it makes."""

    def __init__(self, readers: Sequence[Reader], notes: Notes, mapping: Mapping[str, str]) -> None:
        self._readers, self._notes, self._mapping = readers, notes, mapping
        self._met: set[str] = set()
        """Real paths of folders and logs: links must neither lead in circles nor count a log twice."""
        self._outputs: set[str] = set()
        """Harnesses whose own output was met."""

    def logs(self, path: Path, depth: int = 0, budget: Budget | None = None) -> Iterator[Log]:
        """Find the logs at a path that lies so deep in the given one, perhaps in an archive with that budget."""
        folder = os.path.isdir(path)
        if not folder and not head(path):
            raise problem(path, "is empty")
        reader = recognise(path, self._readers)
        if reason := self._reason_against(path, reader, depth):
            self._skip(path, reason)
        elif reader:
            yield Log(path, reader, budget)
        elif folder:
            yield from self._in_folder(path, depth, budget)
        elif is_archive(path):
            budget = budget or Budget.of_file(path)
            with unpacked(path, budget, self._notes) as unpacked_folder:
                yield from self.logs(unpacked_folder, depth + 1, budget)
        elif depth:
            self._skip(path)

    def nothing(self, path: Path) -> str:
        """Explain that no log was found, by what was."""
        known = ", ".join(reader.name for reader in self._readers)
        if self._outputs:
            return (
                f"no log in it, but the output of {', '.join(sorted(self._outputs))}, which does not say whether the"
                f" task was solved; import the results of what verified it ({known})"
            )
        if not os.path.isdir(path) and head(path).startswith(b"PK") and b"[Content_Types].xml" in head(path):
            return "is a workbook of a spreadsheet program; save its sheet as CSV (UTF-8) and import that"
        inside = f"{shown(path)}{os.sep}"
        met = [note.removeprefix(inside) for note in self._notes.skipped if note.startswith(inside)]
        if met or os.path.isdir(path):
            seen = f"; it holds {', '.join(met[:3]) or 'nothing'}{' and more' if len(met) > 3 else ''}"
        elif b"\0" in head(path):
            seen = "; it is binary data or UTF-16 text, and UTF-8 is expected"
        else:
            keys = ", ".join(list(top_keys(path))[:12])
            seen = f"; it is a JSON document with {keys}" if keys else ""
        return f"no known log format recognised; known are {known}{seen}"

    def _in_folder(self, path: Path, depth: int, budget: Budget | None) -> Iterator[Log]:
        try:
            # Links last, so that a log is met under its own name.
            children = sorted(path.iterdir(), key=lambda child: (child.is_symlink(), child))
        except OSError as error:
            raise problem(path, f"cannot be read: {error.strerror or error}") from None
        for child in children:
            if not child.name.startswith("."):
                try:
                    yield from self.logs(child, depth + 1, budget)
                except LogError as error:  # a file beside the logs that cannot even be looked at
                    self._note(str(error))

    def _reason_against(self, path: Path, reader: Reader | None, depth: int) -> str:
        """Say why a path is passed over, "" if it is not."""
        if reader is None and not os.path.isdir(path):
            return self._output(path)
        real = os.path.realpath(path)
        if real in self._met:
            return "met before, by another name"
        self._met.add(real)
        if depth > DEEPEST:
            return "too deep"
        if isinstance(reader, TableReader) and not self._holds_outcomes(path, reader):
            return self._output(path) or ("a table without columns for task and score" if depth else "")
        return ""

    def _holds_outcomes(self, path: Path, reader: TableReader) -> bool:
        try:
            return reader.holds_outcomes(path, self._mapping)
        except MissingExtra:  # nobody can look into it here; reading it says what is missing
            return True

    def _output(self, path: Path) -> str:
        harness = harness_of(path)
        if not harness:
            return ""
        self._outputs.add(harness)
        return f"the output of {harness}, not of what verified it"

    def _skip(self, path: Path, reason: str = "") -> None:
        self._note(f"{shown(path)} ({reason})" if reason else shown(path))

    def _note(self, text: str) -> None:
        if len(self._notes.skipped) < NOTED:
            self._notes.skipped.append(text)
        else:
            self._notes.remarks["files passed over beyond those listed"] += 1
