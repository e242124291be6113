"""The table of public results that ships with the package, a user's own beside it, and the prior they give a suite."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Self

from hmrouter.errors import InputError, OutputError, UsageError
from hmrouter.files import atomic_write
from hmrouter.history.belief import SuiteBelief, learn
from hmrouter.history.families import families_of_suites, own_families
from hmrouter.history.records import Record, once_per_family
from hmrouter.history.tables import TableFolder, parse_table, read_table
from hmrouter.history.terms import TERMS
from hmrouter.types import Route

PUBLIC = "public"
"""The name of the shipped table."""
RESULTS, VARIANCES, HIDDEN = "public_results.csv", "public_variances.json", "public.hidden"


# -- which tables there are -----------------------------------------------------------------------------------------


@cache
def shipped() -> tuple[Record, ...]:
    """Read the records of the shipped table.

    >>> len({record.suite for record in shipped()})
    13
    """
    records, problems = parse_table(_shipped_text(), RESULTS)
    if problems:
        raise InputError(f"{problems[0]}; install the package again")
    return tuple(records)


def fingerprint() -> str:
    """Hash the shipped table, to tell it from another version."""
    return hashlib.sha256(_shipped_text().encode()).hexdigest()


class HistoryTables:
    """The shipped table, unless it is hidden, and those in a user's folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = TableFolder(folder)
        self._hidden = self.folder.path / HIDDEN

    def names(self) -> list[str]:
        """List the tables in use, the shipped one first."""
        return [*([] if self._hidden.exists() else [PUBLIC]), *self.folder.names()]

    def read(self, name: str) -> list[Record]:
        """Read the records of one table."""
        return list(shipped()) if name == PUBLIC else self.folder.read(name)

    def records(self) -> list[Record]:
        """Read the records of all tables in use, a user's first: of equal ones theirs count.

        A suite that is named like a shipped one is of the same family, unless its table says of which.
        """
        own = [record for name in self.folder.names() for record in self.folder.read(name)]
        family = families_of_suites({record.suite: () for record in own}, shipped())
        own = [replace(r, family=family[r.suite]) if r.family == r.suite else r for r in own]
        return [*own, *(shipped() if PUBLIC in self.names() else ())]

    def add(self, file: Path, name: str | None = None) -> tuple[str, bool, list[str]]:
        """Keep a table unless it has problems; return its name, whether it replaced another, and the problems.

        >>> HistoryTables().add(Path("public.csv"))
        Traceback (most recent call last):
        hmrouter.errors.UsageError: 'public' is the name of the shipped table; choose another name
        """
        name = file.stem if name is None else name
        if name == PUBLIC:
            raise UsageError(f"{PUBLIC!r} is the name of the shipped table", argument="name", hint="choose_another")
        problems = read_table(file).problems
        return name, not problems and self.folder.write(name, file), problems

    def remove(self, name: str) -> None:
        """Remove a table; the shipped one is hidden."""
        if name != PUBLIC:
            self.folder.remove(name)
            return
        try:
            self.folder.path.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise OutputError(f"cannot make the folder {self.folder.path}: {e.strerror or e}") from e
        atomic_write(self._hidden, b"The shipped table is not used while this file is here.\n")

    def show_public(self) -> None:
        """Bring the shipped table back."""
        try:
            self._hidden.unlink(missing_ok=True)
        except OSError as e:
            raise OutputError(f"cannot remove {self._hidden}: {e.strerror or e}") from e


# -- the prior they give -------------------------------------------------------------------------------------------


def believe(records: Sequence[Record], suites: Collection[str] = ()) -> SuiteBelief | None:
    """Predict routes on these suites from records of other families; None if there are no such records.

    What is learned from the shipped table is shipped with it. From any other history it is learned here, in seconds.
    """
    own = own_families(suites, records)
    kept = once_per_family(r for r in records if r.family not in own)
    if kept == once_per_family(shipped()) and (learned := _learned_from_shipped()):
        apart, variances = learned
        return SuiteBelief([r for r in kept if r.family not in apart], variances)
    return learn(kept)


class SuiteCounts(NamedTuple):
    """In how many other suites a route was run; those of one family count once."""

    public: int
    """According to published tables."""
    own: int
    """Of the store."""


@dataclass(frozen=True, slots=True)
class Background:
    """The evidence from other suites behind a router, in numbers."""

    own_outcomes: int
    """Executions of the workload itself that it knows."""
    records: int
    routes: int
    public_suites: tuple[str, ...]
    own_suites: tuple[str, ...]
    """Other suites of the store."""
    oldest: str = ""
    newest: str = ""
    """Dates of published figures, where they have one."""

    @classmethod
    def of(cls, records: Sequence[Record], own_outcomes: int) -> Self:
        """Count suites, routes and dates of the records."""
        dates = sorted(r.date for r in records if r.date)
        public = sorted({r.suite for r in records if r.source})
        own = sorted({r.suite for r in records if not r.source})
        return cls(
            own_outcomes, len(records), len({r.route for r in records}), tuple(public), tuple(own),
            *((dates[0], dates[-1]) if dates else ("", "")),
        )  # fmt: skip

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Self:
        """Restore what `dataclasses.asdict` gave, also by way of JSON."""
        own_outcomes, records, routes = (int(kept[key]) for key in ("own_outcomes", "records", "routes"))
        public, own = (tuple(map(str, kept[key])) for key in ("public_suites", "own_suites"))
        return cls(own_outcomes, records, routes, public, own, str(kept["oldest"]), str(kept["newest"]))

    @property
    def note(self) -> str:
        """The evidence behind an answer, in a few words.

        >>> Background.of(shipped(), 0).note
        'public evidence only'
        """
        elsewhere = [*["public evidence"] * bool(self.public_suites), *["your other suites"] * bool(self.own_suites)]
        if not self.own_outcomes:
            return f"{' and '.join(elsewhere)} only"
        return f"{self.own_outcomes:,} own run{'' if self.own_outcomes == 1 else 's'}, {' and '.join(elsewhere)}"

    def __str__(self) -> str:
        suites = len(self.public_suites) + len(self.own_suites)
        dated = f", newest date {self.newest}" if self.newest else ""
        return f"{self.note} ({self.routes:,} routes on {suites:,} suite{'' if suites == 1 else 's'}{dated})"


def count_suites(records: Iterable[Record]) -> dict[Route, SuiteCounts]:
    """Count, for each route, the suites in which it was run."""
    out: dict[Route, SuiteCounts] = {}
    for record in once_per_family(records):
        public, own = out.get(record.route, SuiteCounts(0, 0))
        out[record.route] = SuiteCounts(public + bool(record.source), own + (not record.source))
    return out


def _shipped_text() -> str:
    return (files("hmrouter.data") / RESULTS).read_text(encoding="utf-8")


def _learned_from_shipped() -> tuple[list[str], dict[str, float]] | None:
    """Read shipped variances and disagreeing families; None if they are of another table or another model."""
    kept = json.loads((files("hmrouter.data") / VARIANCES).read_text(encoding="utf-8"))
    current = kept["of"] == fingerprint() and set(kept["variances"]) == set(TERMS)
    return (kept["apart"], kept["variances"]) if current else None
