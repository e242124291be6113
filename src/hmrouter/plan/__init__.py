"""Ordered attempts with a verifier: try a route, check what it gives, stop at the first attempt that passes.

verifier.py   how the check may be wrong
steps.py      what an attempt on each route does in each scenario
search.py     beam search over sequences of attempts
goal.py       a cost weight, a budget or a target, and the sequence that serves it
planner.py    a scorer, costs and difficulty -> a `Plan` for a task
document.py   a plan as JSON
"""

from hmrouter.plan.goal import Goal
from hmrouter.plan.planner import ATTEMPTS, Planner
from hmrouter.plan.verifier import VerifierErrors

__all__ = ["ATTEMPTS", "Goal", "Planner", "VerifierErrors"]
