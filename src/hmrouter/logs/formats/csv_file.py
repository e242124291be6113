"""CSV with a header line, plain or gzipped."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hmrouter.logs.base import Request, problem
from hmrouter.logs.files import CELL_LIMIT, CELL_TOO_LONG, RECORD_LIMIT, Lines, head, open_bytes
from hmrouter.logs.spreadsheet import unguarded
from hmrouter.logs.table import Origin, Row, TableReader, outcomes, wrong_width
from hmrouter.types import Outcome


class CsvReader(TableReader):
    """Comma-separated values; the columns are those of `fields.FIELDS`."""

    name = "csv"

    def sniff(self, path: Path) -> bool:
        """Text whose first line holds a comma. Any such table: the reader then says which columns it lacks."""
        start = head(path).lstrip()
        return b"\0" not in start and b"," in start.partition(b"\n")[0] and start[:1] not in (b"{", b"[", b"<")

    def columns(self, path: Path) -> Sequence[str]:
        """The cells of the first line; none if it is no header of a table."""
        with open_bytes(path) as stream, suppress(csv.Error):
            return next((cells for cells in csv.reader(Lines(path, stream), strict=True) if cells), [])
        return []

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per row."""
        return outcomes(csv_rows(path, request), Origin.of_file(path, request, header="header"), request)


def csv_rows(path: Path, request: Request | None = None) -> Iterator[Row]:
    """Read the rows below the header; the place of a row is the line it begins on.

    With a request, a row with a cell above the limit is refused, and one that is not as wide as the header is for
    `table.outcomes` to refuse. Without, both end the reading.
    """
    # The module's own limit is global and by default too low for long task texts; it is only ever raised, and
    # the limit that counts is `Lines`'.
    csv.field_size_limit(max(csv.field_size_limit(), RECORD_LIMIT))
    header: tuple[str, ...] = ()
    with open_bytes(path) as stream:
        lines = Lines(path, stream)
        table = csv.reader(lines, strict=True)
        begin = 1
        try:
            for cells in table:
                long = lines.end_record()
                if not cells:
                    pass  # a blank line
                elif long and max(map(len, cells)) > CELL_LIMIT:
                    if request is None or not header:
                        raise problem(path, CELL_TOO_LONG, at=f"line {begin}")
                    request.refuse(path, CELL_TOO_LONG, f"line {begin}", None)
                elif not header:
                    header = tuple(cells)
                elif request is None and len(cells) != len(header):
                    raise problem(path, wrong_width(cells, header), at=f"line {begin}")
                else:
                    yield begin, header, unguarded(header, cells)
                begin = table.line_num + 1
        except csv.Error as error:
            raise problem(path, f"not valid CSV: {error}", at=f"line {begin}") from None
    if not header:
        raise problem(path, "is empty")
