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
from hmrouter.types.reports import (
    Billing,
    DecisionKind,
    DecisionRecord,
    LoggedDecision,
    Report,
    ReportSource,
    Revision,
)

__all__ = [
    "CONTENT_RUN",
    "DEFAULT_SUITE",
    "Attempt",
    "Billing",
    "Candidate",
    "Candidates",
    "Decision",
    "DecisionKind",
    "DecisionRecord",
    "EarlierRuns",
    "Evidence",
    "HistorySources",
    "LoggedDecision",
    "Outcome",
    "Plan",
    "Report",
    "ReportSource",
    "Revision",
    "Route",
    "Status",
    "Task",
    "UnknownRoute",
    "content_digest",
    "text_hash",
]
