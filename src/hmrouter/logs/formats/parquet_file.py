"""Parquet files, through pyarrow (extra `parquet`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hmrouter.errors import InputError, MissingExtra
from hmrouter.logs.base import Request, problem
from hmrouter.logs.fields import bind
from hmrouter.logs.files import CELL_LIMIT, CELL_TOO_LONG, head, open_bytes
from hmrouter.logs.table import Origin, Row, TableReader, columns_from_request, outcomes
from hmrouter.types import Outcome

_MAGIC = b"PAR1"
_BATCH = 1024
"""Rows in memory at once: few, because a file can repeat a long text for free."""


class ParquetReader(TableReader):
    """Columnar tables; the columns are those of `fields.FIELDS`, the others are not even decoded."""

    name = "parquet"

    def sniff(self, path: Path) -> bool:
        """The format's magic bytes."""
        return head(path).startswith(_MAGIC)

    def columns(self, path: Path) -> Sequence[str]:
        """The columns of the schema."""
        arrow, parquet = _pyarrow()
        with open_bytes(path, unpack=False) as stream:
            try:
                return list(parquet.ParquetFile(stream).schema_arrow.names)
            except arrow.ArrowException as error:
                raise problem(path, f"is not a readable Parquet file: {error}") from None

    def read(self, path: Path, request: Request) -> Iterator[Outcome]:
        """One outcome per row."""
        origin = Origin.of_file(path, request, unit="row", header="schema")
        return outcomes(_rows(path, request), origin, request)


def _rows(path: Path, request: Request) -> Iterator[Row]:
    arrow, parquet = _pyarrow()
    with open_bytes(path, unpack=False) as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise problem(path, "is not a Parquet file; if it is one in gzip, unpack it first")
        try:
            file = parquet.ParquetFile(stream)
            try:
                names = file.schema_arrow.names
                binding = bind((*names, *columns_from_request(names, request)), request.mapping)
            except InputError as error:
                raise problem(path, error, at="schema") from None
            request.notes.ignore(path, binding.ignored)
            columns = tuple(name for name in names if name not in binding.ignored)
            first = 1
            for batch in file.iter_batches(batch_size=_BATCH, columns=list(columns)):
                bad: dict[int, str] = {}
                cells = [_cells(batch.column(name), first, bad, arrow) for name in columns]
                for place, values in enumerate(zip(*cells, strict=True), first):
                    if place in bad:
                        request.refuse(path, bad[place], f"row {place}", None)
                    else:
                        yield place, columns, values
                first += batch.num_rows
        except (arrow.ArrowException, UnicodeDecodeError) as error:
            raise problem(path, f"is not a readable Parquet file: {error}") from None


def _cells(array: Any, first: int, bad: dict[int, str], arrow: ModuleType) -> list[Any]:
    """Read the values of a column; a row with one that cannot be kept is added to `bad` with the reason."""
    if arrow.types.is_timestamp(array.type) and array.type.unit == "ns":
        # Python's datetime has no nanoseconds, and no log needs them.
        array = array.cast(arrow.timestamp("us", array.type.tz), safe=False)
    cells: list[Any] = array.to_pylist()
    nested = arrow.types.is_nested(array.type)
    for place, cell in enumerate(cells, first):
        try:
            text = json.dumps(cell) if nested else cell
        except TypeError as error:
            bad[place] = f"a nested value cannot be kept as JSON: {error}"
        else:
            if type(text) is str and len(text) > CELL_LIMIT:
                bad[place] = CELL_TOO_LONG
    return cells


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("reading Parquet", "parquet") from None
    return pyarrow, pyarrow.parquet
