"""`cost`: accuracy within a budget."""

from hmrouter.bench.experiments.cost.experiment import CostTradeoff

__all__ = ["CostTradeoff"]
