"""A plan as JSON: the document that front ends answer with."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from hmrouter.types import DecisionKind, DecisionRecord, Plan
from hmrouter.types.reports import DEFAULT_NAMESPACE


def to_dict(plan: Plan) -> dict[str, Any]:
    """Return the plan as a JSON-able dictionary: the whole plan's numbers at the top, then its attempts."""
    attempts = [asdict(a) | {"route": str(a.route), "model": a.route.model, "harness": a.route.harness}
                for a in plan.attempts]  # fmt: skip
    return {
        "id": plan.id,
        "task": {"id": plan.task.id, "suite": plan.task.suite, "text": plan.task.text},
        "scorer": plan.scorer,
        "routes": [str(r) for r in plan.routes],
        "success": plan.success,
        "interval": plan.interval,
        "cost": plan.cost,
        "cost_interval": plan.cost_interval,
        "false_pass": plan.false_pass,
        "false_fail": plan.false_fail,
        "cost_weight": plan.cost_weight,
        "budget": plan.budget,
        "target": plan.target,
        "max_cost": plan.max_cost,
        "n_candidates": plan.n_candidates,
        "excluded": dict(plan.excluded),
        "unknown": [asdict(u) | {"route": str(u.route)} for u in plan.unknown],
        "attempts": attempts,
    }


def recorded(plan: Plan, *, namespace: str = DEFAULT_NAMESPACE, **more: Any) -> DecisionRecord:
    """Make the record of a plan for the log; `more`: other fields of the record, such as `tags`.

    The first attempt is certain, a later one is reached as often as those before it fail the check.
    """
    document = {
        "candidates": [
            {"route": str(a.route), "success": a.success, "cost": a.cost, "propensity": a.reached}
            for a in plan.attempts
        ],
        "excluded": dict(plan.excluded), "scorer": plan.scorer, "n_candidates": plan.n_candidates,
        "cost_weight": plan.cost_weight, "budget": plan.budget, "target": plan.target, "max_cost": plan.max_cost,
    }  # fmt: skip
    return DecisionRecord(
        DecisionKind.PLAN, plan.task, plan.routes, datetime.now(UTC), document, namespace, id=plan.id, **more
    )
