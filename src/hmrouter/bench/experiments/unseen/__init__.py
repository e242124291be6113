"""`unseen`: routing when some routes were never run."""

from hmrouter.bench.experiments.unseen.experiment import Unseen

__all__ = ["Unseen"]
