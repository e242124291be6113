"""`mixed`: several suites as one workload."""

from hmrouter.bench.experiments.mixed.experiment import Mixed

__all__ = ["Mixed"]
