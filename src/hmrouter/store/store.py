"""OutcomeStore: where outcomes are kept."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import numpy.typing as npt
from sqlalchemy import Connection, Engine

from hmrouter.errors import StoreError, UnknownName
from hmrouter.store import ingest, reading, vectors
from hmrouter.store.engine import Begin, open_engine, transaction
from hmrouter.store.failures import clear_errors
from hmrouter.store.ingest import AddReport
from hmrouter.store.migrations import migrate
from hmrouter.store.reading import Summary
from hmrouter.store.url import parse, shown, sqlite_file
from hmrouter.types import Outcome

DEFAULT_URL = "sqlite:///hmrouter.db"


class OutcomeStore:
    """Outcomes in a SQLite file or a PostgreSQL database; opened, and brought up to date, at the first use.

    Several threads and processes may use one store at a time. `sqlite://` is a store in memory, for
    trying things out in one thread.

    >>> from hmrouter.types import Outcome, Route, Task
    >>> with OutcomeStore("sqlite://") as store:
    ...     outcome = Outcome(Task("t1", text="Fix the failing CI job"), Route("gpt-5", "codex"), score=1.0)
    ...     store.add([outcome]), store.add([outcome]), list(store.outcomes()) == [outcome]
    (AddReport(new=1, known=0), AddReport(new=0, known=1), True)
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

    def add(self, outcomes: Iterable[Outcome], progress: Callable[[int], None] | None = None) -> AddReport:
        """Add outcomes, all or nothing; those whose key the store has are left alone.

        Memory does not grow with their number. An exception, also one from `outcomes` itself, leaves the store as it
        was. A task that was known without text or meta gets them from the first outcome that brings them.
        `progress` is called after each batch with the number of outcomes in it.
        """
        incoming = ingest.batches(outcomes)
        first = list(itertools.islice(incoming, 1))  # before a store is made: input that fails at once leaves none
        with self._transaction(Begin.PLAIN) as conn:
            return ingest.add(conn, itertools.chain(first, incoming), progress)

    def outcomes(self, suite: str | None = None) -> Iterator[Outcome]:
        """All outcomes, or those of one suite, by suite, task, model, harness, source, run and trial.

        They come one at a time, as they were when the first was asked for; a task's outcomes share one `Task`. Times
        come back in UTC.
        """
        with self._transaction(Begin.SNAPSHOT) as conn:
            if suite is not None and suite not in (known := reading.suites(conn)):
                raise UnknownName("suite", suite, known, where=f"store {self}")
            yield from reading.stream(conn, suite)

    def count(self) -> int:
        """How many outcomes there are."""
        with self._transaction(Begin.SNAPSHOT) as conn:
            return reading.count(conn)

    def suites(self) -> dict[str, int]:
        """How many outcomes each suite has."""
        with self._transaction(Begin.SNAPSHOT) as conn:
            return reading.suites(conn)

    def summary(self) -> Summary:
        """What the store holds, in numbers."""
        with self._transaction(Begin.SNAPSHOT) as conn:
            return reading.summary(conn)

    def vectors(self, embedder: str, hashes: Sequence[str]) -> dict[str, vectors.Vector]:
        """The cached vectors of an embedder by `text_hash`; those that are not cached are left out."""
        with self._transaction(Begin.SNAPSHOT) as conn:
            return vectors.get(conn, embedder, hashes)

    def put_vectors(self, embedder: str, mapping: Mapping[str, npt.ArrayLike]) -> None:
        """Cache vectors by `text_hash`, as float32; those that are cached already stay."""
        with self._transaction(Begin.PLAIN) as conn:
            vectors.put(conn, embedder, mapping)

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

    @contextmanager
    def _transaction(self, begin: Begin) -> Iterator[Connection]:
        with clear_errors(self._url), transaction(self._open(), begin) as conn:
            yield conn

    def _open(self) -> Engine:
        with self._lock:
            if self._engine is None:
                file = sqlite_file(self._url)
                if not self._create and file is not None and not file.exists():
                    raise StoreError(f"store {self} does not exist; make it with: hmrouter import PATH --store {self}")
                engine = open_engine(self._url, self._timeout)
                try:
                    migrate(engine, create=self._create, timeout=self._timeout)
                except BaseException:
                    engine.dispose()
                    raise
                self._dispose = weakref.finalize(self, engine.dispose)  # also where `close` is forgotten
                self._engine = engine
            return self._engine
