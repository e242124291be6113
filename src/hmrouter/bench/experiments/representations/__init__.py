"""`representations`: harness vectors and design families."""

from hmrouter.bench.experiments.representations.experiment import Representations

__all__ = ["Representations"]
