"""OutcomeStore: where outcomes are kept."""

from __future__ import annotations

import itertools
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Self

import numpy.typing as npt
from sqlalchemy import Connection, Engine

from hmrouter.errors import StoreError, UnknownName
from hmrouter.names import Names
from hmrouter.store import imports, ingest, merges, rows, runs, spellings, suites, summary, vectors
from hmrouter.store.damage import damaged, telling_damage
from hmrouter.store.database import (
    TransactionKind,
    clear_errors,
    open_engine,
    parse,
    shown,
    sqlite_file,
    transaction,
)
from hmrouter.store.decision_log import DecisionLog
from hmrouter.store.imports import ImportInfo, UndoReport
from hmrouter.store.ingest import AddReport, Import
from hmrouter.store.merges import Merge
from hmrouter.store.migrations import migrate, version_of
from hmrouter.store.runs import ForgetReport, RunInfo
from hmrouter.store.schema import microseconds, now_us
from hmrouter.store.spellings import Spelling
from hmrouter.store.suites import UNCHANGED, Days, SuiteSettings
from hmrouter.store.summary import Summary
from hmrouter.types import Outcome

DEFAULT_URL = "sqlite:///hmrouter.db"


class OutcomeStore(DecisionLog):
    """Outcomes in a SQLite file or a PostgreSQL database; opened, and brought up to date, at the first use.

    Several threads and processes may use one store at a time. `sqlite://` is a store in memory, for
    trying things out in one thread.

    >>> from hmrouter.types import Outcome, Route, Task
    >>> with OutcomeStore("sqlite://") as store:
    ...     outcome = Outcome(Task("t1", text="Fix the failing CI job"), Route("gpt-5", "codex"), score=1.0)
    ...     store.add([outcome]).new, store.add([outcome]).new, list(store.outcomes()) == [outcome]
    (1, 0, True)
    """

    def __init__(self, url: str = DEFAULT_URL, *, create: bool = True, timeout: float = 300.0) -> None:
        """`create=False` refuses a store that is not there; `timeout`: seconds to wait for another writer.

        The default is long because a writer may be in the middle of an import of millions.
        """
        self._url = parse(url)
        self._create = create
        self._timeout = timeout
        self._lock = threading.Lock()
        self._engine: Engine | None = None

    # -- in and out ---------------------------------------------------------------------------------------------

    def add(
        self,
        outcomes: Iterable[Outcome],
        progress: Callable[[int], None] | None = None,
        *,
        dry_run: bool = False,
        keep_text: bool = True,
        replace: bool = False,
        names_given: bool = False,
        of: Import | None = None,
    ) -> AddReport:
        """Add outcomes, all or nothing; those that the store has are left alone, or take the new values (`replace`).

        Memory does not grow with their number. An exception, also one from `outcomes` itself, leaves the store as it
        was. A task that was known without text or meta gets them from the first outcome that brings them.
        `progress` is called after each batch with the number of outcomes in it. `dry_run` tells what would come of
        it and adds nothing, not even the store itself. Without `keep_text` only the hashes of the texts are kept.

        A row of a log that names no run is known by what it says, whatever its file is called: see `store/resolve.py`.
        With `names_given`, the routes' names are a person's, and are those of all outcomes with the same spelling.
        What is added as part of an import (`of`) can be undone with it.
        """
        manner = ingest.Manner(keep_text, replace, names_given, of)
        incoming = ingest.batches(outcomes)
        first = list(itertools.islice(incoming, 1))  # before a store is made: input that fails at once leaves none
        whole = itertools.chain(first, incoming)
        if dry_run and not self._exists():
            with _throw_away() as elsewhere:
                return elsewhere.add(itertools.chain.from_iterable(whole), progress, keep_text=keep_text)
        with self._transaction(TransactionKind.PLAIN) as conn:
            report = ingest.add(conn, whole, progress, manner)
            if dry_run:
                conn.rollback()
            return report

    def outcomes(self, suite: str | None = None, *, merged: bool = True) -> Generator[Outcome, None, None]:
        """Read all outcomes, or those of one suite, by suite, task, model, harness, source, run and trial.

        They come one at a time, as they were when the first was asked for; a task's outcomes share one `Task`. Times
        come back in UTC, merged names as what they are merged into, or as they are stored without `merged`.
        """
        with self._reading() as conn:
            if suite is not None:
                self._require_suite(suite, summary.suites(conn))
            read = 0
            with telling_damage(conn, self._where):
                for outcome in rows.stream(conn, suite, merged):
                    read += 1
                    yield outcome
            if suite is None and read != (stored := summary.count(conn)):
                raise damaged(conn, self._where, f"{read:,} of {stored:,} outcomes can be read")

    def forget(self, run: str, source: str | None = None) -> ForgetReport:
        """Remove a run, and the tasks, routes and vectors that nothing else uses.

        A run that several sources have needs the source.
        """
        with self._transaction(TransactionKind.ALONE) as conn:
            return runs.forget(conn, run, source, self._where)

    def last_import(self) -> ImportInfo | None:
        """Describe the last import that can be undone; None if there is none."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return imports.last(conn)

    def undo(self) -> UndoReport:
        """Take the last import back: what it added goes, what it replaced is as it was. Names that it gave stay."""
        with self._transaction(TransactionKind.ALONE) as conn:
            return imports.undo(conn, self._where)

    # -- what there is ------------------------------------------------------------------------------------------

    def count(self) -> int:
        """Count the outcomes."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return summary.count(conn)

    def suites(self) -> dict[str, int]:
        """Count the outcomes of each suite."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return summary.suites(conn)

    def run_keys(self) -> set[tuple[str, str]]:
        """List source and run of all runs, without counting their outcomes."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return runs.keys(conn)

    def runs(self) -> list[RunInfo]:
        """List the runs that outcomes came with, by source and run."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return runs.all_runs(conn)

    def names(self) -> dict[str, dict[str, int]]:
        """Count the outcomes of each "model" and each "harness", by their names before merges."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return merges.names(conn)

    def summary(self) -> Summary:
        """Count what the store holds."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return summary.summary(conn)

    # -- names that mean the same -------------------------------------------------------------------------------

    def spellings(self) -> list[Spelling]:
        """List how logs spell models and harnesses, and the names that these are read as, by kind and spelling."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return spellings.all_spellings(conn)

    def apply_names(self, names: Names) -> list[tuple[Spelling, Spelling]]:
        """Read every spelling by these names from now on; return those that change, as they were and as they are."""
        with self._transaction(TransactionKind.ALONE) as conn:
            return spellings.apply(conn, names)

    def merge(self, kind: str, name: str, into: str) -> Merge:
        """Read one "model" or "harness" as another one, until it is split off again.

        If `into` is itself merged, its target is taken; what was merged into `name` follows it.
        """
        with self._transaction(TransactionKind.ALONE) as conn:
            return merges.merge(conn, kind, name, into, self._where)

    def split(self, kind: str, name: str) -> None:
        """Undo the merge of a name."""
        with self._transaction(TransactionKind.ALONE) as conn:
            merges.split(conn, kind, name, self._where)

    def merges(self) -> list[Merge]:
        """List the names that are read as another one, by kind and name."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return merges.all_merges(conn)

    # -- what is kept for how long ------------------------------------------------------------------------------

    def suite_settings(self) -> dict[str, SuiteSettings]:
        """Read the settings of the suites that have any."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return suites.settings(conn)

    def set_suite(self, suite: str, half_life_days: Days = UNCHANGED, text_days: Days = UNCHANGED) -> None:
        """Change settings of a suite; None switches one off. `text_days` takes effect at the end of each `add`."""
        with self._transaction(TransactionKind.ALONE) as conn:
            self._require_suite(suite, [*summary.suites(conn), *suites.settings(conn)])
            suites.change(conn, suite, half_life_days, text_days)

    def drop_texts(self, older_than_days: float, suite: str | None = None, now: datetime | None = None) -> int:
        """Drop texts that were added so long ago, keep their hashes, and return how many were dropped."""
        with self._transaction(TransactionKind.ALONE) as conn:
            if suite is not None:
                self._require_suite(suite, summary.suites(conn))
            return suites.drop_texts(conn, older_than_days, suite, now_us() if now is None else microseconds(now))

    def vacuum(self) -> tuple[int, int]:
        """Give back the room of what was removed; return the bytes before and after."""
        with clear_errors(self._url):
            return summary.vacuum(self._open())

    # -- vectors ------------------------------------------------------------------------------------------------

    def vectors(self, embedder: str, hashes: Sequence[str]) -> dict[str, vectors.Vector]:
        """Look up cached vectors of an embedder by `text_hash`; those that are not cached are left out."""
        with self._reading() as conn, telling_damage(conn, self._where):
            return vectors.get(conn, embedder, hashes)

    def put_vectors(self, embedder: str, mapping: Mapping[str, npt.ArrayLike]) -> None:
        """Cache vectors by `text_hash`, as float32; those that are cached already stay."""
        with self._transaction(TransactionKind.PLAIN) as conn:
            vectors.put(conn, embedder, mapping)

    # -- connections --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connections; a later use opens them again."""
        with self._lock:
            if self._engine is not None:
                self._dispose()
            self._engine = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return shown(self._url)

    def __repr__(self) -> str:
        return f"OutcomeStore({str(self)!r})"

    @property
    def _where(self) -> str:
        return f"store {self}"

    def _require_suite(self, suite: str, known: Collection[str]) -> None:
        if suite not in known:
            raise UnknownName("suite", suite, known, self._where)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._transaction(TransactionKind.SNAPSHOT) as conn:
            yield conn

    @contextmanager
    def _transaction(self, begin: TransactionKind) -> Iterator[Connection]:
        with clear_errors(self._url), transaction(self._open(), begin) as conn:
            yield conn

    def _exists(self) -> bool:
        """Whether there is a store, without making one. One in memory always is."""
        file = sqlite_file(self._url)
        if self._engine is not None or (file is None and self._url.drivername == "sqlite"):
            return True
        if file is not None and not file.exists():
            return False
        engine = open_engine(self._url, self._timeout)
        try:
            with clear_errors(self._url), transaction(engine, TransactionKind.SNAPSHOT) as conn:
                return version_of(conn) > 0
        finally:
            engine.dispose()

    def _open(self) -> Engine:
        with self._lock:
            if self._engine is None:
                file = sqlite_file(self._url)
                if not self._create and file is not None and not file.exists():
                    raise StoreError(f"store {self} does not exist", hint="make_store", store=str(self))
                engine = open_engine(self._url, self._timeout)
                try:
                    with telling_damage(None, self._where):
                        migrate(engine, create=self._create, timeout=self._timeout)
                        spellings.refresh(engine)
                except BaseException:
                    engine.dispose()
                    raise
                self._dispose = weakref.finalize(self, engine.dispose)  # also where `close` is forgotten
                self._engine = engine
            return self._engine


@contextmanager
def _throw_away() -> Iterator[OutcomeStore]:
    """Make a store that is removed afterwards; on disk, because what is put into it may not fit into memory."""
    with tempfile.TemporaryDirectory(prefix="hmrouter-") as folder, OutcomeStore(f"sqlite:///{folder}/tmp.db") as store:
        yield store
