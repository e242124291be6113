"""`heldout`: routing on a benchmark of which nothing was seen."""

from hmrouter.bench.experiments.heldout.experiment import HeldOut

__all__ = ["HeldOut"]
