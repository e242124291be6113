"""Write the file of records that `hmrouter import --skip-bad` leaves out."""

from __future__ import annotations

import json
import reprlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import date, time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from hmrouter.errors import OutputError
from hmrouter.files import replacing, sole_writer


class RefusedRows:
    """Collects the records that were left out, for a person to correct; writes them in one step when all is read."""

    def __init__(self, path: Path | None) -> None:
        """Without a path, records are not kept."""
        self._path = path
        self._stack = ExitStack()
        self._spool: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            self._stack.enter_context(
                sole_writer(self._path, follow=False)
            )  # a place that cannot be written is told before the work
            self._spool = self._stack.enter_context(tempfile.TemporaryFile())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._stack:
            if error is not None:  # what was imported until then stays, and so do its refused records
                self.finish()

    def add(self, row: dict[str, Any]) -> None:
        """Keep one record."""
        if self._spool is not None:
            self._spool.write(as_json(row).encode() + b"\n")

    @contextmanager
    def of_one_log(self) -> Iterator[None]:
        """Undo what is added in this block if it fails: of a log that is refused whole, no record is left out alone."""
        before = self._spool.tell() if self._spool is not None else 0
        try:
            yield
        except BaseException:
            if self._spool is not None:
                self._spool.seek(before)
                self._spool.truncate()
            raise

    def finish(self) -> str | None:
        """Write the file, if there is anything to write, and return its path."""
        if self._path is None or self._spool is None or not self._spool.tell():
            return None
        self._spool.seek(0)
        try:
            with replacing(self._path, follow=False) as stream:
                shutil.copyfileobj(self._spool, stream)
        except OutputError as error:
            cause = error.__cause__
            reason = (cause.strerror if isinstance(cause, OSError) else "") or str(error)
            raise OutputError(
                f"the outcomes were imported, but the refused records cannot be written to {self._path}: {reason}",
                hint="refused_elsewhere",
            ) from error
        return str(self._path)


def as_json(row: dict[str, Any]) -> str:
    """Write a refused record as one line of JSON; values that JSON lacks become text.

    >>> as_json({"error": "no", "record": {"id": b"a", "day": date(2026, 1, 31)}})
    '{"error": "no", "record": {"id": "a", "day": "2026-01-31"}}'
    """
    try:
        return json.dumps(row, default=_text)
    except (TypeError, ValueError, RecursionError):  # keys that are no text, or a record that is nested without end
        return json.dumps(row | {"record": reprlib.repr(row["record"])})


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return value.isoformat() if isinstance(value, date | time) else str(value)
