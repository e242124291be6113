"""Parquet files, through pyarrow (extra `parquet`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from hmrouter.errors import InputError, LogError, MissingExtra
from hmrouter.logs.base import Request, problem
from hmrouter.logs.budget import Budget
from hmrouter.logs.fields import bind
from hmrouter.logs.files import head, open_bytes
from hmrouter.logs.parquet_cells import cells
from hmrouter.logs.parquet_pages import PAGE_LIMIT, pages
from hmrouter.logs.table import Origin, Row, TableReader, columns_from_request, outcomes
from hmrouter.types import Outcome

_MAGIC = b"PAR1"
_BATCH = 1024
"""Rows in memory at once, fewer where pages are large."""
_LARGE_PAGE = 2**16
"""Bytes of a page of which `_BATCH` may be in memory at once."""
_IN_LISTS = PAGE_LIMIT
"""Bytes that lists may become by naming the same value again and again."""


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
            batch_rows = _batch_rows(path, stream, file, columns)
            # Texts that are said once stay so.
            leaves = _leaves(file, columns).items()
            texts = [name for name, leaf in leaves if name in columns and leaf.physical_type == "BYTE_ARRAY"]
            file = parquet.ParquetFile(stream, read_dictionary=texts)
            first = 1
            for batch in file.iter_batches(batch_size=batch_rows, columns=list(columns)):
                bad: dict[int, str] = {}
                values_of = [cells(batch.column(name), first, bad, arrow) for name in columns]
                for place, values in enumerate(zip(*values_of, strict=True), first):
                    if place in bad:
                        request.refuse(path, bad[place], f"row {place}", None)
                    else:
                        yield place, columns, values
                first += batch.num_rows
        except (arrow.ArrowException, OSError, ValueError, LookupError) as error:
            raise problem(path, f"is not a readable Parquet file: {error}") from None


def _leaves(file: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Find the columns as they are stored, by path; a nested one consists of several."""
    stored = [file.schema.column(place) for place in range(file.metadata.num_columns)]
    return {leaf.path: leaf for leaf in stored if leaf.path in columns or leaf.path.partition(".")[0] in columns}


def _batch_rows(path: Path, stream: BinaryIO, file: Any, columns: Sequence[str]) -> int:
    """Look at the pages before they are unpacked, and find how many rows at a time take little memory.

    A page that is too large, or pages that become too much, are refused.
    """
    budget, rows = Budget.of_file(path), _BATCH
    leaves = _leaves(file, columns)
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        for chunk in (group.column(place) for place in range(group.num_columns)):
            leaf = leaves.get(chunk.path_in_schema)
            if leaf is None or not chunk.num_values:
                continue
            values = repeated = 0
            for page in pages(stream, chunk):
                budget.spend(path, size=page.size)
                if page.size > PAGE_LIMIT:
                    raise _too_large(path, leaf, f"has a page of {page.size / 2**20:,.0f} MiB")
                if page.dictionary:
                    repeated = max(repeated, page.size)
                else:
                    values += page.values
                    if page.size > _LARGE_PAGE:
                        rows = min(rows, page.values)
            if leaf.path not in columns and repeated:  # nested: pyarrow makes a copy for each value
                if not leaf.max_repetition_level:
                    rows = min(rows, PAGE_LIMIT // repeated)
                elif repeated * values > _IN_LISTS:
                    raise _too_large(path, leaf, f"may repeat {repeated:,} bytes {values:,} times in its lists")
    return max(1, rows)


def _too_large(path: Path, leaf: Any, how: str) -> LogError:
    return problem(
        path, f"column {leaf.path!r} {how}, and {PAGE_LIMIT // 2**20} MiB is the limit; write it in smaller parts"
    )


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("reading Parquet", "parquet") from None
    return pyarrow, pyarrow.parquet
