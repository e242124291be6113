"""Reads the output of a harness as a TOML table describes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

from hmrouter.errors import InputError
from hmrouter.run.drivers.base import CostBasis, Ended, Job, Reader, Usage
from hmrouter.run.drivers.json_fields import amount, count, parsed, total
from hmrouter.run.drivers.json_fields import field as at

COUNTS = ("input_tokens", "cached_tokens", "output_tokens", "turns")
TYPES: Mapping[str, type] = {"adds_up": bool, "input_without_cache": bool, "finished": dict, "failed": dict}
"""Types of the keys that are no text."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Where usage, end and errors stand in what a harness prints. A path is keys separated by dots."""

    dollars: str = ""
    cost_basis: CostBasis = "list"
    input_tokens: str = ""
    cached_tokens: str = ""
    output_tokens: str = ""
    turns: str = ""
    adds_up: bool = False
    """Whether each event tells its own usage, so that they are added; else the last one is the total."""
    input_without_cache: bool = False
    """Whether the harness counts cached tokens beside the input tokens, not among them."""
    file: str = ""
    """A JSON file that it leaves, read at the end, instead of lines of JSON; `{output}` and `{cwd}` are filled in."""
    finished: Mapping[str, Any] = field(default_factory=dict)
    """Paths and values of the event that says it is done. Without it the exit code 0 does."""
    failed: Mapping[str, Any] = field(default_factory=dict)
    """Paths and values of an event that reports an API error."""
    error: str = ""
    """Where that event says what went wrong."""
    error_text: str = ""
    """For a harness without structured errors: a regular expression for lines with the API error that it ends with."""
    retry_text: str = ""
    """The same for lines that say it will try again; they take back an API error just before them."""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Reading:
        """Check a table of this layout."""
        for key, value in table.items():
            wanted = TYPES.get(key, str)
            if not isinstance(value, wanted):
                raise InputError(f"read.{key} must be a {wanted.__name__}, got {value!r}")
        if table.get("cost_basis", "list") not in ("list", "billed"):
            raise InputError(f"read.cost_basis must be 'list' or 'billed', got {table['cost_basis']!r}")
        for key in ("error_text", "retry_text"):
            try:
                re.compile(table.get(key, ""))
            except re.error as error:
                raise InputError(f"read.{key} is not a regular expression: {error}") from error
        return cls(**table)


KEYS = tuple(f.name for f in fields(Reading))


class TemplateReader(Reader):
    """Reads lines of JSON, or plain text where a harness prints no JSON."""

    def __init__(self, reading: Reading, job: Job) -> None:
        super().__init__()
        self._reading = reading
        self._job = job

    def line(self, text: str) -> None:
        """Take in an event, or a line of text that may report an error."""
        event = parsed(text)
        if event is None:
            self.error_line(text)
        elif not self._reading.file:
            self._event(event)

    def error_line(self, text: str) -> None:
        """Look for an API error in a harness that has no better way to report one."""
        reading = self._reading
        if reading.error_text and re.search(reading.error_text, text):
            self.ended, self.error = Ended.API_ERROR, text.strip()
        elif reading.retry_text and re.search(reading.retry_text, text):
            self.error = self.error or text.strip()
            if self.ended is Ended.API_ERROR:  # so that was not the end
                self.ended = None

    def close(self, exit_code: int | None) -> None:
        """Read the file that the harness left; without a terminal event, the exit code 0 means that it finished."""
        if self._reading.file:
            places = {"{output}": self._job.output, "{cwd}": self._job.cwd}
            name = self._reading.file
            for placeholder, folder in places.items():
                name = name.replace(placeholder, str(folder))
            try:
                left = json.loads(Path(name).read_text(encoding="utf-8"))
            except (OSError, ValueError):  # it ended before it wrote one
                left = None
            if left is not None:
                self._event(left)
        if self.ended is None and not self._reading.finished and exit_code == 0:
            self.ended = Ended.FINISHED

    def _event(self, event: Any) -> None:
        reading = self._reading
        self.usage = self._usage(event)
        if reading.failed and all(at(event, path) == value for path, value in reading.failed.items()):
            said = at(event, reading.error) if reading.error else ""
            self.ended, self.error = Ended.API_ERROR, said if isinstance(said, str) else json.dumps(said)
        elif reading.finished and all(at(event, path) == value for path, value in reading.finished.items()):
            self.ended = self.ended or Ended.FINISHED

    def _usage(self, event: Any) -> Usage:
        reading = self._reading
        told = {name: count(event, path) for name in COUNTS if (path := getattr(reading, name))}
        if reading.input_without_cache:
            told["input_tokens"] = total(told.get("input_tokens"), told.get("cached_tokens"))
        dollars = amount(event, reading.dollars) if reading.dollars else None
        if reading.adds_up:
            told = {name: total(getattr(self.usage, name), number) for name, number in told.items()}
            dollars = self.usage.dollars if dollars is None else dollars + (self.usage.dollars or 0.0)
        known = {name: number for name, number in told.items() if number is not None}
        usage = replace(self.usage, **cast(dict[str, Any], known))
        return usage if dollars is None else replace(usage, dollars=dollars, cost_basis=reading.cost_basis)
