"""Why attempts at one task fail together: tasks differ in difficulty."""

from hmrouter.difficulty.cells import passed
from hmrouter.difficulty.model import Difficulty

__all__ = ["Difficulty", "passed"]
