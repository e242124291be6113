"""A plan as JSON: the document that front ends answer with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hmrouter.types import Plan


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
