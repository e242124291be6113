"""Text from outside, as a person may see it: nothing in it that a terminal obeys, or that changes how a line reads.

Names of suites, models and tasks, error messages of servers, file names: all of it was written by somebody else. A
terminal takes `ESC ] 0 ;` for an order, a right-to-left override turns `gpt-4` into something that reads otherwise.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LINES = re.compile(r"[\n\t]+")


def printable(text: str) -> str:
    """Write a text on one line: characters that are not meant to be seen become `\\x1b`, `\\u202e` and the like.

    >>> printable("two\\nlines, \\x1b[2J")
    'two\\\\nlines, \\\\x1b[2J'
    """
    if text.isprintable():
        return text
    # Spaces of other widths are harmless, and Chinese texts have them.
    return "".join(c if c.isprintable() or c in "\u00a0\u3000" else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """Write a text as it may be shown, with its line breaks and tabs.

    >>> printable_lines("two\\nlines, \\x1b[2J")
    'two\\nlines, \\\\x1b[2J'
    """
    if text.isprintable():
        return text
    ends = _LINES.findall(text)
    return "".join(f"{printable(piece)}{end}" for piece, end in zip(_LINES.split(text), [*ends, ""], strict=True))


def printable_json(document: Any, *, ascii_only: bool = False) -> str:
    """Write a value as JSON that may go to a terminal: it means the same, with such characters as `\\u009b`.

    >>> printable_json({"a": "\\x9b2J"})
    '{\\n  "a": "\\\\u009b2J"\\n}'
    """
    text = json.dumps(document, ensure_ascii=ascii_only, indent=2)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
