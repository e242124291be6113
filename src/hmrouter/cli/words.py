"""Write numbers in sentences."""

from __future__ import annotations


def counted(n: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun.

    >>> counted(1, "outcome"), counted(1200, "outcome"), counted(2, "harness", "harnesses")
    ('1 outcome', '1,200 outcomes', '2 harnesses')
    """
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"
