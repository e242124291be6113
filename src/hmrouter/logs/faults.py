"""A fault in reading one log refuses that log: the others beside it are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hmrouter.errors import HMRouterError
from hmrouter.logs.base import problem


@contextmanager
def as_refusals(path: Path, doing: str) -> Iterator[None]:
    """Turn whatever goes wrong while reading a file into the refusal of that file.

    `doing` is the subject of the sentence for an error that nobody foresaw: too little memory, or a fault of a parser.

    >>> with as_refusals(Path("a.csv"), "the reader of csv"):
    ...     int("1" * 5000)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hmrouter.errors.LogError: a.csv: cannot be read: the reader of csv failed on it (ValueError: Exceeds the limit ...
    """
    try:
        yield
    except HMRouterError:
        raise
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise problem(path, "cannot be read: there is too little memory for it") from None
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise problem(path, f"cannot be read: {doing} failed on it ({said}); please report this") from error
