"""The bytes of a JSON document on their way to the parser: bounded per item, not nested without end, without NaN.

The parser is fast and trusts its input: a few hundred kilobytes of `[` cost it many gigabytes, a number of 66,000
digits ends the process, it reads a string from its beginning again for every block that the string goes on in, and one
NaN, which Python's own `json` writes without a word, ends its reading.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO

from hmrouter.logs.base import problem

NESTING_LIMIT = 256
"""Objects and arrays inside each other."""
NUMBER_LIMIT = 1000
"""Characters of a number; the parser's own limit is a crash."""

_CONSTANT = re.compile(rb"NaN|-?Infinity")
_STRING_OR_CONSTANT = re.compile(rb'("(?:[^"\\]|\\.)*"?)|(NaN|-?Infinity)', re.DOTALL)
_REST_OF_STRING = re.compile(rb'(?:[^"\\]|\\.)*"?', re.DOTALL)
_LETTERS = b"-IafiNnty"  # of the constants
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NUMBERS = bytes(ord("0") if byte in b"0123456789+-.eE" else ord(" ") for byte in range(256))
_TOO_LONG = b"0" * (NUMBER_LIMIT + 1)


class JsonStream:
    """The checked bytes of a document, as a file for the parser.

    `NaN`, `Infinity` and `-Infinity` become strings, which no number is taken from without a complaint.

    >>> from io import BytesIO
    >>> JsonStream(Path("a.json"), BytesIO(b'{"NaN": NaN}'), limit=100).read(100)
    b'{"NaN": "NaN"}'
    """

    def __init__(self, path: Path, stream: BinaryIO, limit: int) -> None:
        """`limit`: bytes of one item."""
        self._path, self._stream, self._limit = path, stream, limit
        self._held = b""
        self._in_string = False
        self._depth = 0
        self._pending = 0
        self._first = True
        self._number = b""

    def read(self, size: int) -> bytes:
        """Read the next bytes, a few more or less than asked for; none at the end.

        The middle of a long string comes as one block, however long it is: the parser's time would else grow with the
        square of its length.
        """
        blocks = []
        while block := self._next(size):
            began_in_string = self._in_string
            checked, quotes = self._checked(block)
            blocks.append(checked)
            if quotes or not began_in_string:
                break
        return b"".join(blocks)

    def _next(self, size: int) -> bytes:
        """Read the next bytes that end with no half of a constant or escape."""
        while block := self._stream.read(size):
            self._pending += len(block)
            if self._pending > self._limit:
                raise problem(self._path, f"an item is larger than {self._limit // 2**20} MiB, the limit")
            if self._first:
                block = block.removeprefix(b"\xef\xbb\xbf")
                self._first = False
            data = self._held + block
            cut = _whole(data)
            self._held = data[cut:]
            if cut:
                return data[:cut]
        data, self._held = self._held, b""
        return data

    def end_item(self) -> None:
        """Start counting the bytes of the next item."""
        self._pending = 0

    def _checked(self, data: bytes) -> tuple[bytes, int]:
        """Return the block as the parser gets it, and how many strings begin or end in it."""
        # Every second piece between quotes is no string. All of it runs in C, whatever the document looks like.
        pieces = data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b" ".join(pieces[self._in_string :: 2])
        self._count(outside.translate(_BRACKETS, _NO_BRACKETS))
        began_in_string = self._in_string
        self._in_string ^= len(pieces) % 2 == 0
        self._measure(outside.translate(_NUMBERS))
        return (_quoted(data, began_in_string) if _CONSTANT.search(outside) else data), len(pieces) - 1

    def _measure(self, numbers: bytes) -> None:
        """Refuse a long number, also one that goes on from the block before."""
        numbers = self._number + numbers
        if _TOO_LONG in numbers:
            raise problem(self._path, f"a number has more than {NUMBER_LIMIT:,} characters, the limit")
        tail = numbers[-NUMBER_LIMIT:]
        self._number = b"" if self._in_string else tail[len(tail.rstrip(b"0")) :]

    def _count(self, brackets: bytes) -> None:
        """Follow the nesting: pairs are removed from the inside, so each round is one level of nesting."""
        rounds = 0
        while self._depth + rounds <= NESTING_LIMIT and b"[]" in brackets:
            brackets = brackets.replace(b"[]", b"")
            rounds += 1
        opened = brackets.count(b"[")
        if self._depth + rounds + opened > NESTING_LIMIT:
            raise problem(self._path, f"is nested more than {NESTING_LIMIT} levels deep, the limit")
        self._depth = max(0, self._depth + 2 * opened - len(brackets))


def _whole(data: bytes) -> int:
    """Find where to cut a block so that no constant and no escape goes on in the next one."""
    longest = len(b"-Infinity")
    cut = len(data[:-longest] + data[-longest:].rstrip(_LETTERS))
    backslashes = cut - len(data[:cut].rstrip(b"\\"))
    return cut - backslashes % 2


def _quoted(data: bytes, in_string: bool) -> bytes:
    """Put the constants of a block in quotes; those inside strings stay as they are."""
    # The string that the block begins in ends at the first quote that is not escaped.
    rest = _REST_OF_STRING.match(data) if in_string else None
    start = rest.end() if rest else 0
    return data[:start] + _STRING_OR_CONSTANT.sub(
        lambda found: found[1] if found[1] is not None else b'"' + found[2] + b'"', data[start:]
    )
