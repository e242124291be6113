"""Write a decision as JSON and read it back: front ends answer with it, and explanations start from it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from hmrouter.costs.cost import BASES
from hmrouter.errors import InputError, UsageError
from hmrouter.history.public import Background, SuiteCounts
from hmrouter.types import (
    Candidate,
    Decision,
    DecisionKind,
    DecisionRecord,
    EarlierRuns,
    Evidence,
    Route,
    Task,
    UnknownRoute,
)
from hmrouter.types.reports import DEFAULT_NAMESPACE

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The results of other suites that a decision used."""

    background: Background
    seen: Mapping[Route, SuiteCounts]
    """How many other suites ran each ranked route."""


def to_dict(decision: Decision, elsewhere: Elsewhere | None = None) -> dict[str, Any]:
    """Turn a decision into JSON values; the chosen candidate's fields also stand at the top."""
    ranked = [asdict(c) | {"route": str(c.route), "model": c.route.model, "harness": c.route.harness}
              for c in decision.ranked]  # fmt: skip
    history = None
    if elsewhere is not None:
        history = {"note": elsewhere.background.note, **asdict(elsewhere.background)}
        for shown, candidate in zip(ranked, decision.ranked, strict=True):
            shown["elsewhere"] = elsewhere.seen[candidate.route]._asdict()
    return {
        "id": decision.id,
        "snapshot": decision.snapshot,
        "fitted_at": None if decision.fitted_at is None else decision.fitted_at.isoformat(),
        "task": {"id": decision.task.id, "suite": decision.task.suite, "text": decision.task.text},
        "scorer": decision.scorer,
        **ranked[0],
        "cost_weight": decision.cost_weight,
        "max_cost": decision.max_cost,
        "budget_per_task": decision.budget_per_task,
        "spend_per_task": decision.spend_per_task,
        "expected_regret": decision.expected_regret,
        "n_candidates": decision.n_candidates,
        "incumbent": None if decision.incumbent is None else str(decision.incumbent),
        "calibration": dict(decision.calibration),
        "excluded": dict(decision.excluded),
        "unknown": [asdict(u) | {"route": str(u.route)} for u in decision.unknown],
        "earlier": [asdict(e) | {"route": str(e.route)} for e in decision.earlier],
        "history": history,
        "ranked": ranked,
    }


def recorded(decision: Decision, *, namespace: str = DEFAULT_NAMESPACE, **more: Any) -> DecisionRecord:
    """Make the record of a decision for the log; `more`: other fields of the record, such as `tags`.

    The choice is not drawn at random, so its propensity is 1 and that of the others 0.
    """
    document = {
        "candidates": [
            {"route": str(c.route), "success": c.success, "cost": c.cost, "propensity": float(i == 0)}
            for i, c in enumerate(decision.ranked)
        ],
        "excluded": dict(decision.excluded), "scorer": decision.scorer, "n_candidates": decision.n_candidates,
        "cost_weight": decision.cost_weight, "max_cost": decision.max_cost, "expected_regret": decision.expected_regret,
    }  # fmt: skip
    return DecisionRecord(
        DecisionKind.ROUTE, decision.task, (decision.route,), datetime.now(UTC), document, namespace,
        decision.incumbent, decision.snapshot, id=decision.id, **more,
    )  # fmt: skip


def from_json(text: str) -> Decision:
    """Read a decision from the JSON text of what `to_dict` gave."""
    return _read(text, _decision)


def elsewhere_from_json(text: str) -> Elsewhere | None:
    """Read from the same text which results of other suites the decision used; None if it used none."""
    return _read(text, _elsewhere)


def _read(text: str, part: Callable[[dict[str, Any]], T]) -> T:
    try:
        return part(json.loads(text))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, UsageError, ValueError) as e:
        reason = f"{e.args[0]!r} is missing" if isinstance(e, KeyError) else " ".join(str(e).split())
        raise InputError(f"this is not a decision ({reason})", hint="decision_document") from e


def _decision(d: dict[str, Any]) -> Decision:
    ranked = tuple(_candidate(c) for c in d["ranked"])
    if not ranked:
        raise ValueError("it ranks no route")
    return Decision(
        task=Task(str(d["task"]["id"]), str(d["task"]["suite"]), str(d["task"]["text"])), ranked=ranked,
        cost_weight=_number(d["cost_weight"]), max_cost=_optional(d["max_cost"]),
        excluded={str(reason): int(n) for reason, n in d["excluded"].items()}, scorer=str(d["scorer"]),
        expected_regret=_optional(d["expected_regret"]), n_candidates=int(d["n_candidates"]),
        calibration=_calibration(d["calibration"]),
        incumbent=None if d["incumbent"] is None else Route.parse(d["incumbent"]), id=str(d["id"]),
        budget_per_task=_optional(d["budget_per_task"]), spend_per_task=_optional(d["spend_per_task"]),
        snapshot=str(d["snapshot"]),
        fitted_at=None if d["fitted_at"] is None else datetime.fromisoformat(d["fitted_at"]),
        earlier=tuple(
            EarlierRuns(Route.parse(e["route"]), _number(e["runs"]), _number(e["score"]), bool(e["like"]))
            for e in d.get("earlier", ())  # documents of versions without memory
        ),
        unknown=tuple(
            UnknownRoute(Route.parse(u["route"]), str(u["what"]), str(u["near"])) for u in d.get("unknown", ())
        ),
    )  # fmt: skip


def _elsewhere(d: dict[str, Any]) -> Elsewhere | None:
    if d["history"] is None:
        return None
    seen = {
        Route.parse(c["route"]): SuiteCounts(*(int(c["elsewhere"][key]) for key in SuiteCounts._fields))
        for c in d["ranked"]
    }
    return Elsewhere(Background.from_dict(d["history"]), seen)


def _candidate(c: dict[str, Any]) -> Candidate:
    if c["cost_basis"] not in BASES:
        raise ValueError(f"cost_basis {c['cost_basis']!r} is not known")
    return Candidate(
        route=Route.parse(c["route"]), success=_number(c["success"]), score=_number(c["score"]),
        merit=_number(c["merit"]), value=_number(c["value"]), cost=_optional(c["cost"]), cost_basis=c["cost_basis"],
        observed=bool(c["observed"]),
        evidence=Evidence(**{key: int(c["evidence"][key]) for key in ("pair", "model", "harness")}),
        interval=_pair(c["interval"]), p_best=_optional(c["p_best"]), cost_interval=_pair(c["cost_interval"]),
        seconds=_optional(c["seconds"]), seconds_interval=_pair(c["seconds_interval"]),
    )  # fmt: skip


def _calibration(c: dict[str, Any]) -> dict[str, Any]:
    return {**c, "cells": int(c["cells"]), "ece": _number(c["ece"]), "kind": str(c["kind"])} if c else {}


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    return number


def _optional(value: Any) -> float | None:
    return None if value is None else _number(value)


def _pair(value: Any) -> tuple[float, float] | None:
    return None if value is None else (_number(value[0]), _number(value[1]))
