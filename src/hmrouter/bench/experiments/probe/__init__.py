"""`probe`: which executions to buy."""

from hmrouter.bench.experiments.probe.experiment import Probe

__all__ = ["Probe"]
