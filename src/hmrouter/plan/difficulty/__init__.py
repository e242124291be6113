"""Why attempts at one task fail together: tasks differ in difficulty."""

from hmrouter.plan.difficulty.cells import passed
from hmrouter.plan.difficulty.model import Difficulty
from hmrouter.plan.difficulty.scenarios import Scenarios, passing

__all__ = ["Difficulty", "Scenarios", "passed", "passing"]
