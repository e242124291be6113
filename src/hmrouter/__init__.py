"""HM-Router: choose the (model, harness) pair for each agent task, learned from execution outcomes.

The public names are loaded when they are first used, so `import hmrouter` itself costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hmrouter.decide.policy import Policy
    from hmrouter.decide.pool import read_pool
    from hmrouter.errors import HMRouterError
    from hmrouter.evidence.dataset import Dataset
    from hmrouter.logs import read_logs
    from hmrouter.router import Router
    from hmrouter.store import OutcomeStore
    from hmrouter.types import Candidate, Decision, Evidence, Outcome, Route, Status, Task

__version__ = "0.1.0"

_HOME = {
    "Candidate": "types",
    "Dataset": "evidence.dataset",
    "Decision": "types",
    "Evidence": "types",
    "HMRouterError": "errors",
    "Outcome": "types",
    "OutcomeStore": "store",
    "Policy": "decide.policy",
    "Route": "types",
    "Router": "router",
    "Status": "types",
    "Task": "types",
    "read_logs": "logs",
    "read_pool": "decide.pool",
}

__all__ = [
    "Candidate",
    "Dataset",
    "Decision",
    "Evidence",
    "HMRouterError",
    "Outcome",
    "OutcomeStore",
    "Policy",
    "Route",
    "Router",
    "Status",
    "Task",
    "read_logs",
    "read_pool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hmrouter' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"hmrouter.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
