"""Names that may be two spellings of one thing: a slip of the pen, not a version or a variant.

A person decides; these are only the pairs worth a look. What tells models apart is never a slip: other digits
(`gpt-5`, `gpt-5-1`) and a word more (`gpt-5`, `gpt-5-mini`) are other models.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

SUSPICIOUS = 0.2
"""Up to this distance two names are worth a look."""
SLIPS = 2
"""More letters than this are not changed by accident; `mini` and `nano` differ in three."""

_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d")


def distance(a: str, b: str) -> float:
    """Measure how far two names are apart: 0 for the same letters and digits, 1 for names that are surely two.

    >>> distance("claude-sonnet-45", "claude-sonnet-4-5"), distance("kimi-2-5", "kimi-k2-5")
    (0.0, 0.2)
    >>> distance("gpt-5", "gpt-5-1"), distance("gpt-5-mini", "gpt-5-nano")
    (1.0, 1.0)
    """
    if _digits(a) != _digits(b):
        return 1.0
    words, others = _LETTERS.findall(a.lower()), _LETTERS.findall(b.lower())
    letters, other_letters = "".join(words), "".join(others)
    if sorted(letters) == sorted(other_letters):  # other separators, another order, two letters swapped
        return 0.0
    if abs(len(letters) - len(other_letters)) > SLIPS:
        return 1.0
    if _has_a_word_more(words, others) or _has_a_word_more(others, words):
        return 1.0
    edits = _edits(letters, other_letters)
    return edits / max(len(letters), len(other_letters)) if edits <= SLIPS else 1.0


def look_alikes(names: Iterable[str], known: Iterable[str] = ()) -> dict[str, list[str]]:
    """Find, for each name, those among `names` and `known` that resemble it, the nearest first.

    >>> look_alikes(["codex", "open-hand"], known=["openhands", "gpt-5"])
    {'open-hand': ['openhands']}
    """
    asked = sorted(set(names))
    same_digits: dict[str, list[str]] = defaultdict(list)
    for name in sorted({*asked, *known}):
        same_digits[_digits(name)].append(name)
    found = {}
    for name in asked:
        near = [(d, other) for other in same_digits[_digits(name)] if (d := distance(name, other)) <= SUSPICIOUS]
        if others := [other for _, other in sorted(near) if other != name]:
            found[name] = others
    return found


def _digits(name: str) -> str:
    return "".join(_DIGITS.findall(name))


def _has_a_word_more(words: list[str], others: list[str]) -> bool:
    """Whether the first name is the second with more words; a single letter (the k of `kimi-k2`) is none."""
    more, less = Counter(words) - Counter(others), Counter(others) - Counter(words)
    return not less and any(len(word) > 1 for word in more)


def _edits(a: str, b: str) -> int:
    """Compute Levenshtein's distance: letters put in, left out or changed."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]
