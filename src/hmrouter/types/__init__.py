"""The values that everything else speaks in. Frozen, typed, validated where they are made."""

from hmrouter.types.decisions import Attempt, Candidate, Candidates, Decision, EarlierRuns, Evidence, Plan, UnknownRoute
from hmrouter.types.outcomes import (
    CONTENT_RUN,
    DEFAULT_SUITE,
    HistorySources,
    Outcome,
    Route,
    Status,
    Task,
    content_digest,
    text_hash,
)

__all__ = [
    "CONTENT_RUN",
    "DEFAULT_SUITE",
    "Attempt",
    "Candidate",
    "Candidates",
    "Decision",
    "EarlierRuns",
    "Evidence",
    "HistorySources",
    "Outcome",
    "Plan",
    "Route",
    "Status",
    "Task",
    "UnknownRoute",
    "content_digest",
    "text_hash",
]
