"""Tasks, routes and outcomes. Frozen, typed, validated where they are made."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from hmrouter.errors import InvalidOutcome, UsageError

DEFAULT_SUITE = "default"
CONTENT_RUN = "content:"
"""How the run of a log begins that names none: then comes the hash of what the log held when it was first met."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LARGEST: Mapping[str, int] = {
    "n_trials": 10**6, "attempt": 10**6, "cost": 10**9, "token_cost": 10**9, "seconds": 10**10,
    "input_tokens": 10**16, "cached_tokens": 10**16, "output_tokens": 10**16,
}  # fmt: skip
"""The most that a field of an outcome may say. Sums and squares of millions of these are exact enough to compute with;
a larger number is a mistake of the log, or an attack on the arithmetic."""


def text_hash(text: str) -> str:
    """Hash a text. The hash identifies tasks known by their text alone, cached vectors, and texts that a store drops.

    >>> text_hash("Fix the failing CI job")[:16]
    'c923006d4049edfa'
    """
    # surrogatepass: half a character, as it comes out of broken JSON, is a text too.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def content_digest(status: str, numbers: Iterable[float | None], when: datetime | None) -> str:
    """Hash what was measured, so that the same row is known in another file: floats to 12 digits, times in UTC.

    Spreadsheets keep 15 digits of a number; `1`, `1.0` and `true` are one score.

    >>> content_digest("ok", [1.0, 0.1 + 0.2], None) == content_digest("ok", [1, 0.3], None)
    True
    """
    aware = when.replace(tzinfo=UTC) if when is not None and when.tzinfo is None else when
    written = [status, "" if aware is None else str(aware - _EPOCH)]
    written += ["" if number is None else f"{number:.12g}" for number in numbers]
    return hashlib.blake2b("|".join(written).encode(), digest_size=8).hexdigest()


class Status(StrEnum):
    """How an execution ended, and so whether its score counts."""

    OK = "ok"
    """It ran to its end; the score counts."""
    INFRA_ERROR = "infra_error"
    """The machinery failed; it says nothing about the route and never counts as a failure."""
    UNKNOWN = "unknown"
    """The log does not tell; it does not count either."""


class HistorySources(StrEnum):
    """Which other suites have a say about a workload."""

    NONE = "none"
    STORE = "store"
    """Other suites of the same store."""
    PUBLIC = "public"
    """Tables of published results: the shipped one and a user's own."""
    ALL = "all"


@dataclass(frozen=True, slots=True, order=True)
class Route:
    """One (model, harness) pair.

    >>> Route.parse("claude-code:claude-opus-4-5")
    Route(model='claude-opus-4-5', harness='claude-code')
    >>> str(Route(model="qwen3:8b", harness="codex"))
    'codex:qwen3:8b'
    """

    model: str
    harness: str
    spelled: tuple[str, str] | None = field(default=None, compare=False, repr=False)
    """Model and harness as a log spells them, where these are names made of that; two spellings are one route."""

    def __post_init__(self) -> None:
        if not self.model or not self.harness:
            raise UsageError(f"a route needs a model and a harness, got {self.harness!r}:{self.model!r}")
        if ":" in self.harness:
            raise UsageError(f"harness {self.harness!r} contains a colon, which separates harness and model")

    @classmethod
    def parse(cls, text: str) -> Route:
        """Read `harness:model`, split at the first colon."""
        harness, colon, model = text.partition(":")
        if not (colon and harness.strip() and model.strip()):
            raise UsageError(f"{text!r} is not a route; write harness:model, for example claude-code:claude-opus-4-5")
        return cls(model=model.strip(), harness=harness.strip())

    def __str__(self) -> str:
        return f"{self.harness}:{self.model}"

    @property
    def spelling(self) -> tuple[str, str]:
        """Model and harness as the source spells them; the names themselves where nothing else is known.

        >>> Route("gpt-5", "codex", spelled=("openai/GPT-5", "Codex")).spelling
        ('openai/GPT-5', 'Codex')
        """
        return self.spelled or (self.model, self.harness)


@dataclass(frozen=True, slots=True)
class Task:
    """A task for an agent. `(suite, id)` identifies it; the text may be missing.

    >>> Task.of_text("Fix the failing CI job").id
    'c923006d4049edfa'
    """

    id: str
    suite: str = DEFAULT_SUITE
    text: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)
    text_hash: str = field(default="", compare=False)
    """Hash of a text that is not kept, by which its cached vector is found. Empty where the text itself is there."""

    @classmethod
    def of_text(cls, text: str, suite: str = DEFAULT_SUITE) -> Task:
        """Make a task known by its text only: its id is the text's hash."""
        return cls(id=text_hash(text)[:16], suite=suite, text=text)

    @property
    def key(self) -> tuple[str, str]:
        """Suite and id, which identify the task across suites."""
        return (self.suite, self.id)

    @property
    def family(self) -> str:
        """The name of the task's family, `meta["family"]`: tasks made from one template, say; "" if it has none."""
        named = self.meta.get("family")
        return "" if named is None else str(named)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One execution (or the mean of several) of a task on a route.

    >>> Outcome(Task("t1"), Route("gpt-5", "codex"), score=1.0, cost=0.42).score
    1.0
    """

    task: Task
    route: Route
    score: float | None
    """Success in [0, 1]; soft scores are welcome. None where there is no verdict (never with status ok)."""
    n_trials: int = 1
    """How many executions the score is the mean of; 0: the source counted an absent run as a failure."""
    status: Status = Status.OK
    cost: float | None = None
    """US dollars, as the source reports them; None if unknown."""
    cost_is_route_mean: bool = False
    """True where the source gives only the mean cost of the route, not of this task."""
    token_cost: float | None = None
    """US dollars recomputed from the tokens at list prices; kept apart from what the source reports."""
    input_tokens: int | None = None
    """Prompt tokens, cached ones included."""
    cached_tokens: int | None = None
    """Those of the prompt tokens that were read from a cache."""
    output_tokens: int | None = None
    seconds: float | None = None
    when: datetime | None = None
    source: str = ""
    """Where the record comes from: a log format, a benchmark, a service."""
    run: str = ""
    """Which run of the source."""
    trial: str = ""
    """Which of several executions of the same cell in that run."""
    model_version: str = ""
    """The source's own spelling of the model where it says more than the canonical name: a date, a revision."""
    harness_version: str = ""
    dataset_version: str = ""
    """Version and split of the data set that the task comes from."""
    source_is_file: bool = field(default=False, compare=False)
    """True where the log does not say its source and a file's name stands for it: the file may be renamed."""
    attempt: int = 1
    """1 for a fresh task; more: so many attempts less one failed the check before, and the task is known to be hard."""

    def __post_init__(self) -> None:
        if not self.task.id:
            raise InvalidOutcome("task id is empty; every outcome needs one")
        if self.score is None:
            if self.status is Status.OK:
                raise InvalidOutcome("score is missing; give a number from 0 to 1, or status infra_error or unknown")
        elif not 0.0 <= self.score <= 1.0:  # also refuses NaN
            raise InvalidOutcome(f"score {self.score} is outside 0 to 1")
        if self.attempt < 1:
            raise InvalidOutcome(f"attempt {self.attempt} is not a number of at least 1")
        for name in ("cost", "token_cost", "seconds"):
            value = getattr(self, name)
            if value is not None and not (value >= 0.0 and math.isfinite(value)):
                raise InvalidOutcome(f"{name} {value} is not a finite number of at least 0")
        for name in ("n_trials", "input_tokens", "cached_tokens", "output_tokens"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise InvalidOutcome(f"{name} {value} is negative")
        for name, most in LARGEST.items():
            value = getattr(self, name)
            if value is not None and value > most:
                raise InvalidOutcome(f"{name} {value} is larger than {most:,}, which no execution comes near")

    @property
    def key(self) -> tuple[str, str, str, str, str, str, str]:
        """The natural key: a second import of the same record has the same one, by whatever names it is read."""
        return (self.task.suite, self.source, self.run, self.task.id, *self.route.spelling, self.trial)

    @property
    def content(self) -> str:
        """The hash of what was measured. With task and route it tells the row itself, whatever file it stands in.

        Not part of it are dollars recomputed from tokens (prices change) and versions (sources spell them anew).
        """
        numbers = (
            self.score, self.n_trials, self.cost, self.cost_is_route_mean,
            self.input_tokens, self.cached_tokens, self.output_tokens, self.seconds,
        )  # fmt: skip
        return content_digest(self.status.value, numbers, self.when)
