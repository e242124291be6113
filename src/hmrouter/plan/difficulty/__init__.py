"""Why attempts at one task fail together: tasks differ in difficulty."""

from hmrouter.plan.difficulty.cells import passed
from hmrouter.plan.difficulty.model import Difficulty

__all__ = ["Difficulty", "passed"]
