"""Plan the attempts of a run: by what is known; routes of which nothing is known come where nothing else is left."""

from __future__ import annotations

from collections.abc import Sequence

from hmrouter.errors import NoRoute
from hmrouter.plan import Goal
from hmrouter.router import Router
from hmrouter.types import Outcome, Plan, Route, Status, Task


def plan_attempts(
    router: Router, task: Task, pool: Sequence[Route], attempts: int, max_cost: float | None, goal: Goal | None
) -> Plan:
    """Plan attempts with the routes of a pool that can be run here.

    A router does not rank routes of unknown models or harnesses: a name may be a slip. Here they can be started, so
    they are tried, but only where nothing known is left: somebody's own harness has a first run, too.
    """
    try:
        return router.plan(task, attempts=attempts, pool=pool, max_cost=max_cost, goal=goal)
    except NoRoute:
        strangers = [route for route in pool if route not in router.pool_]
        if not strangers:
            raise
        for route in strangers:  # says nothing of the route but that there is one
            router.observe(Outcome(task, route, None, status=Status.UNKNOWN))
        return router.plan(task, attempts=attempts, pool=pool, max_cost=max_cost, goal=goal)
