"""The pages of a Parquet file, by their own headers: how large each becomes before anything unpacks it.

pyarrow unpacks a page whole, and 34 KB can be one page of a gigabyte. The table of contents at the end of the file
says sizes too, but nothing checks them; a page whose header is wrong about its size cannot be unpacked at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeGuard

PAGE_LIMIT = 64 * 2**20
"""Bytes of a page once it is unpacked; writers aim at 1 MiB."""

_HEADERS = (2**12, 2**20)
"""Bytes read for a header: nearly all fit into the first; statistics may make one longer, never beyond the second."""
_SIZE, _PACKED = 2, 3
_DICTIONARY = 7
_KINDS = (5, _DICTIONARY, 8)
"""Fields of a page's header: its sizes; then the part for data, for a dictionary, or for data of the second version,
whose first field is the number of values."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a column."""

    size: int
    """Bytes once it is unpacked."""
    values: int
    dictionary: bool


def pages(stream: BinaryIO, chunk: Any) -> Iterator[Page]:
    """Read the headers of the pages of one column in one group of rows; a `ValueError` where there is none."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end = at + chunk.total_compressed_size
    while at < end:
        fields, length = _header(stream, at)
        size, packed = fields.get(_SIZE), fields.get(_PACKED)
        kind = next((number for number in _KINDS if isinstance(fields.get(number), dict)), None)
        values = fields[kind].get(1) if kind is not None else 0
        if not (_is_count(size) and _is_count(packed) and _is_count(values)):
            raise ValueError(f"no page at byte {at}")
        yield Page(size, values, kind == _DICTIONARY)
        at += length + packed


def _is_count(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and number >= 0


def _header(stream: BinaryIO, at: int) -> tuple[dict[int, Any], int]:
    for room in _HEADERS:
        stream.seek(at)
        found = _Compact(stream.read(room))
        try:
            return found.struct(), found.place
        except IndexError:
            continue
    raise ValueError(f"the header of a page at byte {at} is cut off, or larger than {room // 2**20} MiB")


class _Compact:
    """Thrift's compact encoding, as far as headers of pages go."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > 8:
            raise ValueError("the header of a page is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while byte := self._byte():
            number = number + (byte >> 4) if byte >> 4 else self._signed()
            fields[number] = self._value(byte & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        match kind:
            case 1 | 2:  # a truth value is its own kind
                return kind == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 7:
                return self._skip(8)
            case 8:
                return self._skip(self._unsigned())
            case 12:
                return self.struct(depth + 1)
        raise ValueError(f"a header of a page holds a field of an unknown kind, {kind}")

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("the header of a page holds a number of more than 64 bits")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, size: int) -> None:
        self.place += size
        if self.place > len(self._data):
            raise IndexError(size)
