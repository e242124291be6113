"""CSV with a header line, plain or gzipped; in UTF-8 or UTF-16."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hmrouter.logs.base import Request, problem, shown
from hmrouter.logs.csv_dialect import dialect_of, looks_like_a_table
from hmrouter.logs.encodings import open_utf8, text_head
from hmrouter.logs.files import CELL_LIMIT, CELL_TOO_LONG, RECORD_LIMIT, Lines
from hmrouter.logs.spreadsheet import unguarded
from hmrouter.logs.table import Origin, Row, TableReader, outcomes, wrong_width
from hmrouter.types import Outcome


class CsvReader(TableReader):
    """Values separated by commas, semicolons or tabs; the columns are those of `fields.FIELDS`."""

    name = "csv"

    def sniff(self, path: Path) -> bool:
        """Text whose first line holds a separator. Any such table: the reader then says which columns it lacks."""
        start = text_head(path).lstrip(b"\r\n ")
        if b"\0" in start or start[:1] in (b"{", b"[", b"<"):
            return False
        return looks_like_a_table(start) or dialect_of(path).header > 1

    def columns(self, path: Path) -> Sequence[str]:
        """The cells of the header; none if there is no header of a table."""
        dialect = dialect_of(path)
        with open_utf8(path) as stream, suppress(csv.Error):
            table = csv.reader(Lines(path, stream), strict=True, delimiter=dialect.separator)
            return next((cells for cells in table if cells and table.line_num >= dialect.header), [])
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
    dialect = dialect_of(path, request.mapping if request else None)
    with open_utf8(path) as stream:
        lines = Lines(path, stream)
        table = csv.reader(lines, strict=True, delimiter=dialect.separator)
        begin = 1
        try:
            for cells in table:
                long = lines.end_record()
                if table.line_num < dialect.header or not any(cells):
                    pass  # a title above the header, a blank line, a row of empty cells
                elif long and max(map(len, cells)) > CELL_LIMIT:
                    if request is None or not header:
                        raise problem(path, CELL_TOO_LONG, at=f"line {begin}")
                    request.refuse(path, CELL_TOO_LONG, f"line {begin}", None)
                elif not header:
                    header = tuple(cells)
                    if request is not None and dialect.has_titles:
                        request.notes.remarks[f"{shown(path)}: the header is on line {begin}"] += 1
                elif request is None and len(cells) != len(header):
                    raise problem(path, wrong_width(cells, header), at=f"line {begin}")
                else:
                    yield begin, header, unguarded(header, cells)
                begin = table.line_num + 1
        except csv.Error as error:
            raise problem(path, f"not valid CSV: {error}", at=f"line {begin}") from None
    if not header:
        raise problem(path, "is empty")
