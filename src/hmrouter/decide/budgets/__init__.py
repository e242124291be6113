"""Budgets: a cost weight that keeps an average cost per task, and a day's budget that is enforced."""

from hmrouter.decide.budgets.per_day import Admission, DayBudget
from hmrouter.decide.budgets.per_task import Spending, reference_sample, weight_for

__all__ = ["Admission", "DayBudget", "Spending", "reference_sample", "weight_for"]
