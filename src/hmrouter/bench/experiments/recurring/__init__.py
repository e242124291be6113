"""`recurring`: tasks that were run before, and tasks of a family."""

from hmrouter.bench.experiments.recurring.experiment import Recurring

__all__ = ["Recurring"]
