"""Cells as people and spreadsheets write them: `$1.53`, `1,204`, `17/12/2025`, `n/a`.

A value is read where it can mean one thing only. Where it may mean two, or none, the cell is left out, never the row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

MISSING = frozenset({
    "-", "--", "---", "—", "?", "#n/a", "#na", "#value!", "#div/0!", "#ref!", "<na>", "missing", "n.a.", "n/a", "na",
    "nan", "nat", "nil", "none", "not available", "null", "tbd", "undefined", "unknown",
})  # fmt: skip
"""How tables say that they do not say."""

SUCCESS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "t", "yes", "y", "pass", "passed", "success", "successful", "succeeded"), True),
    **dict.fromkeys(("resolved", "solved", "correct", "✓", "✔", "✅"), True),
    **dict.fromkeys(("false", "f", "no", "n", "fail", "failed", "failure", "unsuccessful"), False),
    **dict.fromkeys(("unresolved", "not resolved", "unsolved", "incorrect", "wrong", "✗", "✘", "❌"), False),
}
"""Words for a score of 1 or 0."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of a cell that is not as the format says."""

    kind: str
    """Cells of one kind are told once."""
    value: Any = None
    """What it was read as; None where the cell was left out."""
    why: str = ""
    """Why it was left out; empty where it was read, or says itself that there is nothing."""

    @property
    def in_words(self) -> str:
        """Say what came of the cell, after its value."""
        if self.why:
            return f"is left out: {self.why}"
        shown = f"{self.value:%Y-%m-%d}" if isinstance(self.value, datetime) else self.value
        return "is read as unknown" if self.value is None else f"is read as {shown}"


_NUMBER = re.compile(r"[+-]?(?:\d[\d.,'\u00a0\u202f ]*|[.,]\d+)(?:[eE][+-]?\d+)?")
_DOLLARS = re.compile(r"(?:US)?\$|USD|dollars?", re.IGNORECASE)
_UNITS: Mapping[str, float] = {
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "ms": 0.001, "millis": 0.001, "milliseconds": 0.001,
    "min": 60, "mins": 60, "minute": 60, "minutes": 60, "m": 60, "h": 3600, "hr": 3600, "hours": 3600, "hour": 3600,
}  # fmt: skip
_CLOCK = re.compile(r"(?:(\d+):)?([0-5]?\d):([0-5]\d(?:\.\d+)?)")
_WHOLE_GROUPS = re.compile(r"[+-]?\d{1,3}(?:([.,' \u00a0\u202f])\d{3})(?:\1\d{3})*")


def missing(value: object) -> bool:
    """Whether a cell says that there is no value."""
    if isinstance(value, float):
        return math.isnan(value)
    return isinstance(value, str) and value.strip().lower() in MISSING


def score(text: str) -> float | None:
    """Read a verdict or a share; None where it is neither.

    >>> score("resolved"), score("85%"), score("0,5"), score("maybe")
    (1.0, 0.85, 0.5, None)
    """
    word = text.strip().lower()
    if word in SUCCESS:
        return float(SUCCESS[word])
    share = re.fullmatch(r"(\d+(?:[.,]\d+)?)\s*%", word)
    if share:
        return float(share[1].replace(",", ".")) / 100
    return float(word.replace(",", ".")) if re.fullmatch(r"[01],\d+", word) else None


def amount(value: Any) -> Reading:
    """Read a number of dollars, seconds or whatever is counted in fractions.

    >>> amount("$1.53").value, amount("1,53").value, amount("$1,204.50").value, amount("1,204").value
    (1.53, 1.53, 1204.5, None)
    """
    if missing(value):
        return Reading("missing")
    text = value.strip() if isinstance(value, str) else ""
    bare = _DOLLARS.sub("", text).strip()
    if not text or not _NUMBER.fullmatch(bare):
        return Reading("no number", why="it is no number")
    number, kind = _plain(bare)
    if number is None:
        return Reading(kind, why="it may be read in two ways")
    return Reading("dollars" if bare != text else kind, number)


def duration(value: Any) -> Reading:
    """Read a number of seconds, with its unit or as hours, minutes and seconds.

    >>> duration("350 ms").value, duration("1:02:03").value, duration("12,5 s").value
    (0.35, 3723.0, 12.5)
    """
    text = value.strip() if isinstance(value, str) else ""
    if clock := _CLOCK.fullmatch(text):
        return Reading("clock", 3600 * int(clock[1] or 0) + 60 * int(clock[2]) + float(clock[3]))
    unit = re.search(r"[a-z]+$", text.lower())
    if unit is None or unit[0] not in _UNITS:
        return amount(value)
    read = amount(text[: unit.start()].strip())
    return read if read.value is None else Reading(f"unit {unit[0]}", round(read.value * _UNITS[unit[0]], 9))


def whole(value: Any) -> Reading:
    """Read a count; separators in a whole number stand between thousands.

    >>> whole("1,204").value, whole("1.204").value, whole("12 k").value
    (1204, 1204, None)
    """
    if missing(value):
        return Reading("missing")
    text = value.strip() if isinstance(value, str) else ""
    if _WHOLE_GROUPS.fullmatch(text):
        return Reading("thousands", int(re.sub(r"[^\d+-]", "", text)))
    return Reading("no whole number", why="it is no whole number")


_DATES: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (kind, re.compile(pattern), forms)
    for kind, pattern, forms in (
        ("year first", r"\d{4}/\d{1,2}/\d{1,2}\b.*", ("%Y/%m/%d",)),
        ("day.month.year", r"\d{1,2}\.\d{1,2}\.\d{4}\b.*", ("%d.%m.%Y",)),
        ("with slashes", r"\d{1,2}/\d{1,2}/\d{4}\b.*", ("%d/%m/%Y", "%m/%d/%Y")),
        ("with slashes", r"\d{1,2}/\d{1,2}/\d{2}\b.*", ("%d/%m/%y", "%m/%d/%y")),
        ("day-month-year", r"\d{1,2}-\d{1,2}-\d{4}\b.*", ("%d-%m-%Y", "%m-%d-%Y")),
        ("with the month's name", r"\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}\b.*", ("%d %b %Y", "%d %B %Y")),
        ("with the month's name", r"[A-Za-z]{3,9} \d{1,2},? \d{4}\b.*", ("%b %d %Y", "%B %d %Y")),
        ("with a zone's name", r"\d{4}-\d\d-\d\d[ T].*(?:UTC|GMT|Z)", ("%Y-%m-%d",)),
    )
)
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")


def moment(value: Any) -> Reading:
    """Read a date, with or without a time; one that may be of two days is left out.

    >>> moment("17/12/2025").value.date().isoformat(), moment("03/04/2025").why
    ('2025-12-17', 'it may be of two days')
    """
    if missing(value):
        return Reading("missing")
    if (since := _epoch(value)) is not None:
        return Reading("since 1970", since)
    text = " ".join(value.split()) if isinstance(value, str) else ""
    for kind, pattern, forms in _DATES:
        if pattern.fullmatch(text):
            found = {when for form in forms for when in _parsed(text, form)}
            if len(found) == 1:
                return Reading(kind, found.pop())
            if found:
                return Reading(f"{kind}, of two days", why="it may be of two days")
    return Reading("no date", why="it is no date that is known")


def _epoch(value: Any) -> datetime | None:
    """Read seconds or milliseconds since 1970, if they are of this century."""
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    for unit in (1, 1e3, 1e6, 1e9):
        if 1e9 <= number / unit < 4e9:
            return datetime.fromtimestamp(number / unit, UTC)
    return None


def _parsed(text: str, form: str) -> list[datetime]:
    plain = re.sub(r"\s*(?:UTC|GMT|Z)$", "", text).replace(",", "").replace("T", " " if form == "%Y-%m-%d" else "T")
    plain = re.sub(r"(?<=\d)-(?=[A-Za-z])|(?<=[A-Za-z])-(?=\d)", " ", plain)
    found = []
    for time in _TIMES:
        try:
            found.append(datetime.strptime(plain, form + time).replace(tzinfo=UTC))
        except ValueError:
            continue
    return found


def _plain(text: str) -> tuple[float | None, str]:
    """Read a number with separators; None where a separator may be for thousands or for decimals."""
    digits = text.replace("\u00a0", " ").replace("\u202f", " ")
    if "," in digits and "." in digits:
        decimal = "," if digits.rindex(",") > digits.rindex(".") else "."
        digits = digits.replace("." if decimal == "," else ",", "").replace(decimal, ".")
        return _float(digits), "thousands"
    if "," in digits:
        if digits.count(",") > 1:
            return (_float(digits.replace(",", "")) if _WHOLE_GROUPS.fullmatch(digits) else None), "thousands"
        may_be_thousands = _WHOLE_GROUPS.fullmatch(digits) and not re.match(r"[+-]?0", digits)
        return (
            (None, "comma, of two readings")
            if may_be_thousands
            else (_float(digits.replace(",", ".")), "decimal comma")
        )
    if re.search(r"[ ']", digits):
        return (_float(re.sub(r"[ ']", "", digits)) if _WHOLE_GROUPS.fullmatch(digits) else None), "thousands"
    return _float(digits), "number"


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def status(word: str, scored: bool) -> str:
    """Read the words by which other tools say how an execution ended; "" where they are not known.

    An error says nothing about the route, and what has not ended has no verdict; a failure that has a score is one.

    >>> status("FINISHED", True), status("failed", True), status("crashed", True), status("blue", True)
    ('ok', 'ok', 'unknown', '')
    """
    word = word.strip().lower().replace("_", " ")
    ended = {"finished", "complete", "completed", "success", "succeeded", "successful", "done", "pass", "passed"}
    verdict = {"fail", "failed", "failure"}
    open_or_broken = {
        "running", "pending", "queued", "scheduled", "in progress", "error", "errored", "crashed", "crash", "killed",
        "cancelled", "canceled", "timeout", "timed out", "aborted", "interrupted", "skipped", "exception",
    }  # fmt: skip
    if word in ended or (word in verdict and scored):
        return "ok"
    return "unknown" if word in open_or_broken | verdict else ""


Forgive = Callable[[Any], Reading]
"""Reads a cell that the format's own rule refused."""
